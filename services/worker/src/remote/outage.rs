//! The wait for a server that is away, before a remote run has begun.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::{Backoff, Chain};
use tokio::time::sleep;

use super::remote_attempt::RemoteAttempt;
use crate::outcome::attempt_error::AttemptError;
use crate::pending_approval::{GivenUp, PendingApproval, Rejected};
use crate::remote_driver::error::{RemoteError, text};

/// Between two tries to reach the server.
const TRIES: Backoff = Backoff::new(Duration::from_secs(2), Duration::from_secs(30));

/// A server that does not answer.
struct Reachable<'r> {
    attempt: &'r RemoteAttempt<'r>,
    problem: String,
}

impl std::fmt::Debug for Reachable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reachable")
            .field("problem", &self.problem)
            .finish_non_exhaustive()
    }
}

impl RemoteAttempt<'_> {
    /// Waits until the server answers. A newer input does not wait for this run.
    pub(super) async fn wait_for_server(&self, error: &RemoteError) -> Result<(), AttemptError> {
        tracing::warn!(task_name = self.run.lease.task_name, error = %Chain(error), "the server cannot be used for now");
        let reachable = Reachable {
            attempt: self,
            problem: text(error),
        };
        self.start_permit.release();
        Ok(self.run.wait(&self.order, &reachable).await?)
    }
}

#[async_trait]
impl PendingApproval for Reachable<'_> {
    fn name(&self) -> String {
        format!("the server of its workspace: {}", self.problem)
    }

    async fn came(&self) -> Result<(), Rejected> {
        let mut pauses = TRIES.pauses(fastrand::f64);
        loop {
            sleep(pauses.next_pause()).await;
            let reached =
                async { Ok::<_, RemoteError>(self.attempt.server().await?.ping().await?) };
            match reached.await {
                Err(error) if error.is_outage() => {}
                // Any other answer is the begin's to judge.
                _ => return Ok(()),
            }
        }
    }

    async fn give_up(&self, _why: GivenUp) {}
}
