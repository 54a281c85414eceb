//! A Consul that stands still: its connections stay and nothing is answered, so no query fails for minutes.

use std::convert::Infallible;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::views::Views;

/// Pause between the starts of two requests, and the time for an answer.
const EVERY: Duration = Duration::from_secs(20);

/// Whether Consul stands still.
#[derive(Debug, Default)]
pub(crate) struct Silence(Mutex<Option<Instant>>);

/// A line that is due.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Begins(Duration),
    Ends(Duration),
}

impl Silence {
    /// How long Consul has stood still; `None` while it answers.
    pub(crate) fn lasts(&self) -> Option<Duration> {
        self.0.lock().map(|since| since.elapsed())
    }

    /// Notes whether a request that began at this moment was left without an answer.
    fn note(&self, begun: Instant, is_silent: bool) -> Option<Line> {
        let mut since = self.0.lock();
        match (*since, is_silent) {
            (None, true) => {
                *since = Some(begun);
                Some(Line::Begins(begun.elapsed()))
            }
            (Some(begun), false) => {
                *since = None;
                Some(Line::Ends(begun.elapsed()))
            }
            (Some(_), true) | (None, false) => None,
        }
    }
}

impl Views {
    /// Sends a cheap request from time to time, for ever, while views are followed. The first queries of the views answer
    /// for the time before the first request. An outage has a line and a problem of
    /// its own.
    pub(crate) async fn look_for_silence(&self) -> Infallible {
        let shared = &self.0;
        let mut ticks = interval_at(Instant::now() + EVERY, EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let begun = Instant::now();
            let is_needed = self.count() > 0;
            let is_silent = is_needed && timeout(EVERY, shared.client.leader()).await.is_err();
            let is_silent = is_silent && !shared.outage.is_on();
            let address = shared.client.address();
            match shared.silence.note(begun, is_silent) {
                Some(Line::Begins(silent_for)) => tracing::warn!(
                    ?silent_for,
                    "Consul at {address} stands still: it keeps its connections and answers nothing, so changes are not \
                     seen; is its process stopped, or short of CPU, memory or disk?"
                ),
                Some(Line::Ends(silent_for)) => {
                    tracing::info!(?silent_for, "Consul at {address} no longer stands still");
                }
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_silence_counts_from_the_first_request_without_an_answer() {
        let silence = Silence::default();
        let begun = Instant::now();
        tokio::time::advance(EVERY).await;
        assert_eq!(silence.note(begun, false), None);
        assert_eq!(silence.note(begun, true), Some(Line::Begins(EVERY)));
        let later = Instant::now();
        tokio::time::advance(EVERY).await;
        assert_eq!(silence.note(later, true), None);
        assert_eq!(silence.lasts(), Some(2 * EVERY));
        assert_eq!(silence.note(later, false), Some(Line::Ends(2 * EVERY)));
        assert_eq!(silence.lasts(), None);
    }
}
