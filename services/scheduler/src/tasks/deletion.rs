//! Deletions of tasks, and the destruction of their infrastructure (docs/rest.md#deleting-a-task).

use cts_core::runs::RunKind;
use cts_core::{RequestKey, TaskName, TaskPhase};
use cts_proto::run::v1::Planned;
use cts_store::{Deletion, TaskError};

use super::run_end::RunEnd;
use super::{TaskCommands, TaskRefusal};

/// The fate of a deleted task's infrastructure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeletionMode {
    /// The infrastructure stays, but a destruction that has begun goes on: for callers without support for
    /// destructions.
    RetainUnlessDestroying,
    /// As the task declares.
    AsDeclared,
    /// The infrastructure stays, and a destruction is given up.
    Retain,
}

impl DeletionMode {
    /// The word for records.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::RetainUnlessDestroying => "retain unless destroying",
            Self::AsDeclared => "as declared",
            Self::Retain => "retain",
        }
    }
}

impl TaskCommands {
    /// Deletes a task as soon as no run of it is running, and destroys its infrastructure if that is wanted.
    pub(crate) async fn delete(
        &self,
        name: &TaskName,
        mode: DeletionMode,
    ) -> Result<(), TaskRefusal> {
        let deletion = match mode {
            DeletionMode::Retain => Deletion::Retain,
            DeletionMode::RetainUnlessDestroying => match self.store.task(name).await? {
                // A call without support for destructions does not resume a suspended destruction.
                Some(stored) if stored.destruction_suspended => return Ok(()),
                Some(stored) if stored.phase == TaskPhase::Deleting => self.as_task_says(),
                _ => Deletion::Retain,
            },
            // Changes nothing for a task that is being deleted, unless its destruction is suspended.
            DeletionMode::AsDeclared => self.as_task_says(),
        };
        let queued = self.queued(name).await?;
        let gone = self.store.delete_task(name, deletion).await;
        let gone = gone.map_err(|error| TaskRefusal::of(error, name))?;
        self.tell_cancelled(&queued).await;
        let retain = deletion == Deletion::Retain;
        tracing::info!(target: "ctrl", task_name = %name, gone, retain, requested_by = self.requested_by.as_deref(), "task is deleted");
        self.notifier.tasks_changed();
        self.notifier.queue_changed();
        Ok(())
    }

    fn as_task_says(&self) -> Deletion {
        let run = self.identities.run_id();
        Deletion::AsTaskSays { run }
    }

    /// Plans the destruction that a deletion would start; `None` if nothing was ever applied. If the task has a request with
    /// this key already, the answer is that of its run.
    pub(crate) async fn plan_destruction(
        &self,
        name: &TaskName,
        key: Option<RequestKey>,
    ) -> Result<Option<Planned>, TaskRefusal> {
        let run = loop {
            if let Some(known) = self.requested(name, key, RunKind::DestroyPlan).await? {
                break known;
            }
            let run = self.run_id(name, key);
            match self.store.plan_destruction(name, run, key).await {
                Ok(true) => {
                    tracing::info!(target: "ctrl", task_name = %name, run.id = %run, requested_by = self.requested_by.as_deref(), "the destruction of a task is planned");
                    self.notifier.queue_changed();
                    break run;
                }
                Ok(false) => return Ok(None),
                Err(TaskError::Requested) => {}
                Err(error) => return Err(TaskRefusal::of(error, name)),
            }
        };
        match self.end_of(run).await? {
            RunEnd::Succeeded(Some(plan)) => Ok(Some(plan)),
            RunEnd::Succeeded(None) => Err(TaskRefusal::RunFailed(NOT_PLANNED.to_owned())),
            RunEnd::Held(reason) => Err(TaskRefusal::RunFailed(reason)),
            // A plan applies nothing, so it needs no consent.
            RunEnd::Waits(run) => Err(TaskRefusal::RunFailed(format!(
                "run {run} waits for the consent of a person"
            ))),
            RunEnd::Failed(refusal) => Err(refusal),
        }
    }
}

/// The run ended as if it were a check.
const NOT_PLANNED: &str = "the destruction was not planned, try again";
