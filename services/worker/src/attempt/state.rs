//! The state of the task of a run: found right before anything is applied, moved if its backend has changed,
//! reported afterwards (docs/terraform.md#moving-a-state).

mod destroyed;
pub(crate) mod read;
mod record;
mod verify;

use std::sync::Arc;

use cts_core::runs::RunKind;
use cts_core::state::{StateRecord, TerraformState};
use cts_core::{Backend, Chain};
use cts_terraform::{CommandError, FoundState, ReadState};

use super::local_run::LocalRun;
use crate::outcome::attempt_error::AttemptError;
use crate::redaction::Redactor;

/// The state of the task of one attempt.
pub(crate) struct TaskState<'r> {
    here: LocalRun<'r>,
    backend: &'r Backend,
    redactor: &'r Arc<Redactor>,
    kind: RunKind,
    known: StateRecord,
}

impl<'r> TaskState<'r> {
    #[expect(
        clippy::result_large_err,
        reason = "one is made for an attempt, which takes a process"
    )]
    pub(crate) fn new(
        here: LocalRun<'r>,
        backend: &'r Backend,
        redactor: &'r Arc<Redactor>,
        kind: RunKind,
    ) -> Result<Self, AttemptError> {
        Ok(Self {
            here,
            backend,
            redactor,
            kind,
            known: here.run.lease.state.clone()?.unwrap_or_default(),
        })
    }

    /// The state at the task's place right before something is changed, if a state is known and its place can be
    /// read without a process. A place that cannot be read shows nothing.
    pub(crate) async fn look(&self) -> Option<ReadState> {
        if !self.kind.changes_resources() || self.known.known.is_none() {
            return None;
        }
        tokio::select! {
            read = read::without_process(self.here, self.backend) => read,
            () = self.here.attempt.stop.cancelled() => None,
        }
    }

    /// Reads the state that is now in the task's backend.
    async fn read(&self) -> Result<Option<FoundState>, CommandError> {
        read::read(self.here, self.backend, false).await
    }

    /// Like [`Self::read`], after Terraform has worked on the state.
    async fn read_applied(&self) -> Result<Option<FoundState>, CommandError> {
        read::read(self.here, self.backend, true).await
    }

    /// The state to report after Terraform may have changed the state; `None` if the state cannot be read.
    pub(crate) async fn report(&self) -> Option<TerraformState> {
        match self.read_applied().await {
            Ok(found) => found.map(|found| found.state),
            Err(error) if error.is_interrupted() => None,
            Err(error) => {
                tracing::warn!(
                    task_name = %self.here.attempt.task,
                    run.id = %self.here.run.lease.run,
                    error = %Chain(&error),
                    "the serial of the state cannot be read and is not reported"
                );
                None
            }
        }
    }
}
