//! Requests of runs from within the process.

use std::sync::Arc;

use cts_core::runs::RunKind;
use cts_core::{RunId, TaskName};
use cts_store::{Store, TaskChange, TaskError};

use crate::identities::Identities;
use crate::notifier::Notifier;

/// Requests runs of stored tasks, as the API does. A pass is made of these (docs/runs.md#passes).
#[derive(Debug, Clone)]
pub struct RunRequests {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) identities: Arc<dyn Identities>,
}

impl RunRequests {
    /// Requests a run of a task, whatever is applied, and gives its id. The run is queued as soon as the input of
    /// the task is complete; a caller that follows runs since before this call sees all that becomes of it.
    ///
    /// Fails if the task is not there any more, or the store cannot be asked; then there is no request, or one whose
    /// outcome is of no interest. Safe to cancel.
    pub async fn request(&self, task: &TaskName, kind: RunKind) -> Result<RunId, TaskError> {
        let run = self.identities.run_id();
        let change = TaskChange {
            request: Some((run, kind)),
            ..TaskChange::default()
        };
        self.store.change_task(task, &change).await?;
        self.notifier.tasks_changed();
        Ok(run)
    }
}
