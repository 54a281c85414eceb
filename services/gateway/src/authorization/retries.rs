//! Pauses between the calls that follow data of the schedulers.

use std::time::Duration;

use cts_core::{Backoff, Pauses};
use cts_rpc::CallFailure;
use tokio::time::sleep;
use tonic::{Code, Status};

const PAUSES: Backoff =
    Backoff::new(Duration::from_millis(200), Duration::from_secs(10)).with_jitter(0.5);

/// Makes the pauses between the calls for `what`, and logs the first of several failures.
pub(super) struct Retries {
    what: &'static str,
    pauses: Pauses,
    is_logged: bool,
}

impl Retries {
    pub(super) fn new(what: &'static str) -> Self {
        Self {
            what,
            pauses: PAUSES.pauses(fastrand::f64),
            is_logged: false,
        }
    }

    /// Notes that a scheduler has sent data.
    pub(super) fn received(&mut self) {
        self.pauses.reset();
        self.is_logged = false;
    }

    /// Waits after the end of a call. `known` tells whether data have come before.
    pub(super) async fn pause(&mut self, end: Result<(), Status>, known: bool) {
        if let Err(status) = end {
            let what = self.what;
            let error = match status.code() {
                Code::Unimplemented => format!("{what} need schedulers of this version"),
                _ => CallFailure(&status).to_string(),
            };
            if self.is_logged {
                tracing::debug!(target: "api", error, "the {what} cannot be followed");
            } else {
                tracing::warn!(
                    target: "api", error, known,
                    "the {what} cannot be followed: the last known ones stay valid"
                );
            }
            self.is_logged = true;
        }
        sleep(self.pauses.next_pause()).await;
    }
}
