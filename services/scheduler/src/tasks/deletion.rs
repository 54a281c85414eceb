//! Deletions of tasks, and what they destroy (docs/rest.md#deleting-a-task).

use cts_core::runs::Plan;
use cts_core::{TaskName, TaskPhase};
use cts_store::Deletion;

use super::ending::RunEnd;
use super::{Refusal, TaskCommands};

/// What becomes of the infrastructure of a task that is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeletionMode {
    /// It stays, but what is being destroyed already goes on: of a caller that knows nothing of destructions.
    RetainUnlessDestroying,
    /// What the task says.
    AsDeclared,
    /// It stays, and a destruction is given up.
    Retain,
}

impl TaskCommands {
    /// Deletes a task as soon as it is not running, and its infrastructure is destroyed if that is wanted.
    pub(crate) async fn delete(&self, name: &TaskName, mode: DeletionMode) -> Result<(), Refusal> {
        let deletion = match mode {
            DeletionMode::Retain => Deletion::Retain,
            DeletionMode::RetainUnlessDestroying => match self.store.task(name).await? {
                // Who knows of no destructions does not go on with one that is suspended.
                Some(stored) if stored.destruction_suspended => return Ok(()),
                Some(stored) if stored.phase == TaskPhase::Deleting => self.as_task_says(),
                _ => Deletion::Retain,
            },
            // Of a task that is being deleted it changes nothing, unless its destruction is suspended.
            DeletionMode::AsDeclared => self.as_task_says(),
        };
        let queued = self.queued(name).await?;
        let gone = self.store.delete_task(name, deletion).await;
        let gone = gone.map_err(|error| Refusal::of(error, name))?;
        self.tell_cancelled(&queued).await;
        let retain = deletion == Deletion::Retain;
        tracing::info!(target: "ctrl", task_name = %name, gone, retain, "task is deleted");
        self.notifier.tasks_changed();
        self.notifier.queue_changed();
        Ok(())
    }

    fn as_task_says(&self) -> Deletion {
        let run = self.identities.run_id();
        Deletion::AsTaskSays { run }
    }

    /// Plans what a deletion would destroy; `None` if nothing was ever applied.
    pub(crate) async fn plan_destruction(&self, name: &TaskName) -> Result<Option<Plan>, Refusal> {
        let run = self.identities.run_id();
        let planned = self.store.plan_destruction(name, run).await;
        if !planned.map_err(|error| Refusal::of(error, name))? {
            return Ok(None);
        }
        tracing::info!(target: "ctrl", task_name = %name, run.id = %run, "the destruction of a task is planned");
        self.notifier.queue_changed();
        match self.end_of(run).await? {
            RunEnd::Succeeded(Some(plan)) => Ok(Some(plan)),
            RunEnd::Succeeded(None) => Err(Refusal::RunFailed(NOT_PLANNED.to_owned())),
            RunEnd::Failed(refusal) => Err(refusal),
        }
    }
}

/// The run was a check to the worker that leased it, or to the scheduler that took its end.
const NOT_PLANNED: &str = "the destruction was not planned: a scheduler of an earlier version took part; try again when all \
     schedulers are up to date";
