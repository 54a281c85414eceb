//! The wait for a person who confirms a remote run, or decides about a policy.

use async_trait::async_trait;
use cts_core::{Chain, RemoteRun};
use cts_hcp_terraform::{Approval, RunPhase};
use parking_lot::Mutex;
use tokio::time::sleep;

use super::earlier::end;
use super::remote_attempt::RemoteAttempt;
use crate::pending_approval::{GivenUp, PendingApproval, Rejected};
use crate::remote_driver::progress::pause;

/// Looks after which the longest pause counts.
const MANY_LOOKS: usize = usize::MAX;

/// The confirmation of a remote run.
pub(super) struct Confirmation<'r> {
    attempt: &'r RemoteAttempt<'r>,
    remote: RemoteRun,
    id: String,
    approval: Approval,
    course: Mutex<Course>,
}

/// State of a remote run that waits for confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// The remote run waits, or a user has decided.
    Open,
    /// cts discards the remote run; `ended` if it has ended on the server already.
    GivenUp { ended: bool },
    /// The remote run could not be given up, because a user had confirmed it: the worker follows it.
    GoesOn,
}

impl<'r> Confirmation<'r> {
    pub(super) fn new(
        attempt: &'r RemoteAttempt<'r>,
        remote: &RemoteRun,
        approval: Approval,
    ) -> Self {
        Self {
            attempt,
            remote: remote.clone(),
            id: remote.id.clone().unwrap_or_default(),
            approval,
            course: Mutex::new(Course::Open),
        }
    }

    /// The course of the remote run, once the wait has ended.
    pub(super) fn course(&self) -> Course {
        *self.course.lock()
    }
}

impl std::fmt::Debug for Confirmation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Confirmation")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl PendingApproval for Confirmation<'_> {
    fn name(&self) -> String {
        let decision = match self.approval {
            Approval::Confirmation => "a confirmation of the remote run",
            Approval::PolicyOverride => "a decision about a failed policy of the remote run",
            Approval::TaskDecision => "a decision about a failed task of the remote run",
            Approval::SavedPlan => "the apply of the saved plan of the remote run",
        };
        let url = self.remote.url.as_deref().unwrap_or_default();
        format!("{decision}: {url}")
    }

    /// Also comes when the remote run has ended: its end is judged by the caller.
    async fn came(&self) -> Result<(), Rejected> {
        loop {
            sleep(pause(self.attempt.driver, MANY_LOOKS)).await;
            let look = async {
                Ok::<_, super::RemoteError>(self.attempt.server().await?.run(&self.id).await?)
            };
            match look.await {
                Ok(run) if !matches!(run.phase(), RunPhase::NeedsPerson(_)) => return Ok(()),
                Ok(_waits) => {}
                Err(error) => {
                    if error.is_unauthorized() {
                        self.attempt.driver.forget_server().await;
                    }
                    if error.is_missing() {
                        return Ok(());
                    }
                    tracing::debug!(remote_run = self.id, error = %Chain(&error), "the remote run cannot be looked at for now");
                }
            }
        }
    }

    async fn give_up(&self, why: GivenUp) {
        if why == GivenUp::HandedOver {
            return;
        }
        let discarded = async {
            let server = self.attempt.server().await?;
            let run = server.run(&self.id).await?;
            self.attempt.note_given_up(&mut self.remote.clone()).await?;
            *self.course.lock() = Course::GivenUp { ended: false };
            end(&server, &run).await?;
            Ok::<_, super::RemoteError>(server.run(&self.id).await?.phase())
        };
        match discarded.await {
            Ok(RunPhase::MovingOn | RunPhase::Applying) => {
                *self.course.lock() = Course::GoesOn;
                tracing::info!(
                    remote_run = self.id,
                    "the remote run was confirmed before it could be discarded"
                );
            }
            Ok(phase) => {
                let ended = matches!(phase, RunPhase::Ended(_));
                *self.course.lock() = Course::GivenUp { ended };
                tracing::info!(remote_run = self.id, "the remote run was discarded");
            }
            // The next lease of the run, or the next run of the task, ends it.
            Err(error) => {
                tracing::warn!(remote_run = self.id, error = %Chain(&error), "the remote run cannot be discarded for now");
            }
        }
    }
}
