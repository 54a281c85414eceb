//! Finds out whether Consul stands still.

use std::convert::Infallible;

use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::silence::{EVERY, Line};
use crate::views::Views;

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
