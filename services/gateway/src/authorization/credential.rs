//! The credential of an answer that goes on.

use std::future::pending;
use std::time::Duration;

use cts_access::Authenticator;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// Between two checks: an answer ends within 10 s of its credential, also if the check takes a moment.
const CHECKED_EVERY: Duration = Duration::from_secs(5);

/// The token of a client that follows a log or events; `None` without a token.
pub(crate) struct Credential(Option<Checked>);

struct Checked {
    authenticator: Authenticator,
    token: String,
    ticks: Interval,
}

impl Credential {
    /// Stays good for ever.
    pub(super) const fn lasting() -> Self {
        Self(None)
    }

    /// A credential that is valid as long as this token.
    pub(super) fn of(authenticator: Authenticator, token: &str) -> Self {
        let mut ticks = interval_at(Instant::now() + CHECKED_EVERY, CHECKED_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self(Some(Checked {
            authenticator,
            token: token.to_owned(),
            ticks,
        }))
    }

    /// Returns when the token has ended, or is revoked. Safe to cancel.
    pub(crate) async fn lapses(&mut self) {
        let Some(checked) = &mut self.0 else {
            return pending().await;
        };
        loop {
            checked.ticks.tick().await;
            if checked.authenticator.bearer(&checked.token).await.is_err() {
                return;
            }
        }
    }
}
