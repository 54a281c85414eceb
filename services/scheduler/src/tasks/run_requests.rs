//! Requests of runs from within the process.

use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::RunKind;
use cts_core::{Chain, RunId, TaskName};
use cts_store::{Store, TaskChange, TaskError};
use tokio::time::sleep;

use crate::identities::Identities;
use crate::notifier::Notifier;

/// Wait before a request is made again that the store did not answer.
const RETRY: Duration = Duration::from_secs(1);

/// Requests runs of stored tasks, as the API does. A pass is made of these (docs/runs.md#passes).
#[derive(Debug, Clone)]
pub struct RunRequests {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) identities: Arc<dyn Identities>,
}

impl RunRequests {
    /// Requests a run of a task, whatever is applied, and returns its id; `None` if the task no longer exists.
    /// The run is queued as soon as the input of the task is complete; a caller that follows runs since before
    /// this call sees all changes of it.
    ///
    /// If the store does not answer, the request is repeated until it does. A cancelled call may have made its
    /// request.
    pub async fn request(&self, task: &TaskName, kind: RunKind) -> Option<RunId> {
        let run = self.identities.run_id();
        let change = TaskChange {
            request: Some((run, kind)),
            ..TaskChange::default()
        };
        loop {
            match self.store.change_task(task, &change).await {
                Ok(_task) => break,
                Err(TaskError::Store(error)) => {
                    cts_store::log_store_failure!(warn, &error, target: "ctrl", task_name = %task, error = %Chain(&error), "cannot request a run, trying again");
                    sleep(RETRY).await;
                }
                Err(gone) => {
                    tracing::warn!(target: "ctrl", task_name = %task, error = %Chain(&gone), "no run is requested");
                    return None;
                }
            }
        }
        self.notifier.tasks_changed();
        Some(run)
    }
}
