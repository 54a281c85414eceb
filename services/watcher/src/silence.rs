//! A Consul that stands still: its connections stay and nothing is answered, so no query fails for minutes.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Pause between the starts of two requests, and the time for an answer.
pub(crate) const EVERY: Duration = Duration::from_secs(20);

/// Whether Consul stands still.
#[derive(Debug, Default)]
pub(crate) struct Silence(Mutex<Option<Instant>>);

/// A line that is due.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Begins(Duration),
    Ends(Duration),
}

impl Silence {
    /// How long Consul has stood still; `None` while it answers.
    pub(crate) fn lasts(&self) -> Option<Duration> {
        self.0.lock().map(|since| since.elapsed())
    }

    /// Notes whether a request that began at this moment was left without an answer.
    pub(crate) fn note(&self, begun: Instant, is_silent: bool) -> Option<Line> {
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
