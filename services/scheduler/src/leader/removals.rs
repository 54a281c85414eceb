//! Tasks that a file or a reset removes while their run is running: the run is not taken from its worker.
//!
//! Such tasks are being deleted until their run has ended. A task of the same name that is declared in that
//! time is stored after that.
//!
//! That holds for a deletion over the API, too. Until the run has ended the leader serves all other tasks, and logs
//! the reason for the wait. A file ends no destruction that the API has begun.

use std::collections::BTreeSet;
use std::time::Duration;

use cts_core::runs::{Occasion, RunKind};
use cts_core::{Chain, LeaderEpoch, TaskName, TaskPhase, TaskSpec};
use cts_store::{LeaderError, PendingDeletions, StoreError, TaskChange, TaskError};
use tokio::time::{Instant, sleep};

use crate::leader::Leader;
use crate::mode::Mode;

/// Time between two reads of the tasks.
const POLL: Duration = Duration::from_secs(1);

/// Time between two log lines about the tasks that are waited for.
const REMINDER: Duration = Duration::from_mins(1);

impl Leader {
    /// Waits until no run of the removed tasks is left, and stores the declared tasks that waited for that. Returns an
    /// error only if the epoch is over.
    pub(crate) async fn finish_removals(
        &self,
        epoch: LeaderEpoch,
        declared: &[TaskSpec],
        mut unfinished: PendingDeletions,
    ) -> Result<(), LeaderError> {
        let mut reminder = Instant::now();
        while unfinished != PendingDeletions::default() {
            if reminder <= Instant::now() {
                reminder = Instant::now() + REMINDER;
                tracing::info!(
                    target: "ctrl",
                    removed = names(&unfinished.deleting),
                    postponed = names(&unfinished.postponed),
                    "waiting for the active runs and the destructions of removed tasks to end; declared tasks of the same names are refused until then"
                );
            }
            sleep(POLL).await;
            match self.poll_removals(epoch, declared, &unfinished).await {
                Ok(now) => unfinished = now,
                Err(LeaderError::Store(error)) => {
                    cts_store::log_store_failure!(warn, &error, error = %Chain(&error), "cannot see whether removed tasks are gone, trying again");
                }
                Err(deposed) => return Err(deposed),
            }
        }
        Ok(())
    }

    async fn poll_removals(
        &self,
        epoch: LeaderEpoch,
        declared: &[TaskSpec],
        before: &PendingDeletions,
    ) -> Result<PendingDeletions, LeaderError> {
        let stored = self.context.store.tasks().await?;
        let deleting = stored
            .iter()
            .filter(|task| task.phase == TaskPhase::Deleting);
        let deleting: BTreeSet<&TaskName> = deleting.map(|task| task.spec.name()).collect();
        let mut now = before.clone();
        now.deleting.retain(|name| deleting.contains(name));
        now.postponed.retain(|name| deleting.contains(name));
        if now == *before {
            return Ok(now);
        }
        for name in before.deleting.iter().chain(&before.postponed) {
            if !deleting.contains(name) {
                tracing::info!(target: "ctrl", task_name = %name, "the last run of a removed task has ended");
            }
        }
        if now.postponed.len() < before.postponed.len() {
            let stored = self
                .context
                .store
                .replace_config_tasks(epoch, declared)
                .await?;
            // After a reset, only the tasks that the reset still postpones are waited for.
            now.postponed = stored.postponed;
            for spec in declared {
                let name = spec.name();
                if before.postponed.contains(name) && !now.postponed.contains(name) {
                    tracing::info!(target: "ctrl", task_name = %name, "task is stored as it is declared");
                    self.begin_to_run(spec).await?;
                }
            }
        }
        self.context.notifier.tasks_changed();
        Ok(now)
    }

    /// Requests the first run of a task that is added later than the others.
    async fn begin_to_run(&self, spec: &TaskSpec) -> Result<(), StoreError> {
        if !spec.enabled || self.context.mode == Mode::OnRequest {
            return Ok(());
        }
        let change = TaskChange {
            request: Some((self.context.identities.run_id(), RunKind::Apply)),
            accompanies: Some(Occasion::Declaration),
            ..TaskChange::default()
        };
        match self.context.store.change_task(spec.name(), &change).await {
            Ok(_) => Ok(()),
            Err(TaskError::Store(error)) => Err(error),
            // The task was changed or deleted since, with its own request.
            Err(refused) => {
                tracing::debug!(task_name = %spec.name(), error = %Chain(&refused), "no first run is asked for");
                Ok(())
            }
        }
    }
}

fn names(names: &[TaskName]) -> String {
    let names: Vec<&str> = names.iter().map(TaskName::as_str).collect();
    names.join(", ")
}
