//! Announces queued runs that a change of their task has cancelled.

use cts_core::TaskName;
use cts_core::runs::RunStatus;
use cts_store::{RunFilter, RunRecord, StoreError};

use super::TaskCommands;

/// Most queued runs of one task that are announced; at most one of these runs applies, and other runs are rare.
const MOST: u32 = 100;

impl TaskCommands {
    /// The queued runs of a task, before it is changed.
    pub(super) async fn queued(&self, task: &TaskName) -> Result<Vec<RunRecord>, StoreError> {
        let filter = RunFilter {
            task: Some(task.clone()),
            status: Some(RunStatus::Queued),
            limit: MOST,
            ..RunFilter::default()
        };
        self.store.runs(&filter).await
    }

    /// Announces the runs that the change has cancelled, or that were removed with their task.
    pub(super) async fn tell_cancelled(&self, before: &[RunRecord]) {
        for run in before {
            let status = match self.store.run(run.id).await {
                Ok(now) => now.map_or(RunStatus::Cancelled, |now| now.status),
                // Its waiters poll.
                Err(_) => continue,
            };
            if status == RunStatus::Cancelled {
                self.notifier
                    .run_changed(run.id, &run.task, run.kind, status);
            }
        }
    }
}
