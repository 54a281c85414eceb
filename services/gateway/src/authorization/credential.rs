//! The credential of an answer that goes on.

use std::future::pending;
use std::time::Duration;

use cts_access::{Authenticator, FoundSession};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::sessions::WatchedSession;

/// Between two checks: an answer ends within 10 s of its credential, also if the check takes a moment.
const CHECKED_EVERY: Duration = Duration::from_secs(5);

/// The credential of a client that follows a log or events; `None` without a credential.
pub(crate) struct Credential(Option<Checked>);

struct Checked {
    kind: Kind,
    ticks: Interval,
}

enum Kind {
    Token {
        authenticator: Authenticator,
        token: String,
    },
    Session(WatchedSession),
}

impl Credential {
    /// Stays good for ever.
    pub(super) const fn lasting() -> Self {
        Self(None)
    }

    /// A credential that is valid as long as this token.
    pub(super) fn of(authenticator: Authenticator, token: &str) -> Self {
        Self::checked(Kind::Token {
            authenticator,
            token: token.to_owned(),
        })
    }

    /// A credential that is valid as long as this session, whose end is noticed at once.
    pub(super) fn of_session(session: WatchedSession) -> Self {
        Self::checked(Kind::Session(session))
    }

    fn checked(kind: Kind) -> Self {
        let mut ticks = interval_at(Instant::now() + CHECKED_EVERY, CHECKED_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self(Some(Checked { kind, ticks }))
    }

    /// Returns when the token or the session has ended, or is revoked. Safe to cancel.
    pub(crate) async fn lapses(&mut self) {
        let Some(Checked { kind, ticks }) = &mut self.0 else {
            return pending().await;
        };
        loop {
            match kind {
                Kind::Token {
                    authenticator,
                    token,
                } => {
                    ticks.tick().await;
                    if authenticator.bearer(token).await.is_err() {
                        return;
                    }
                }
                Kind::Session(session) => {
                    if !matches!(session.find(), FoundSession::Valid(_)) {
                        return;
                    }
                    tokio::select! {
                        () = session.changed() => {}
                        _now = ticks.tick() => {}
                    }
                }
            }
        }
    }
}
