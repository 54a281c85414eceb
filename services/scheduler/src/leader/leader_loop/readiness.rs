//! Makes disabled tasks ready: below every other run, by at most a quarter of the slots.

use std::collections::HashMap;
use std::time::Duration;

use cts_core::runs::RunKind;
use cts_core::{Chain, FrozenInput, RunId, TaskCheck, TaskName};
use cts_store::{StoreError, TaskChange, TaskError};
use tokio::time::Instant;

use super::LeaderLoop;
use crate::leader::disabled_tasks::Step;
use crate::liveness::{LOST, is_lost};

/// Time between two looks while tasks are not ready; a hint makes it shorter.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// If enabled tasks still wait for their first run after this time, disabled tasks wait for them no longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// One slot of so many may be used.
const SHARE: usize = 4;

impl LeaderLoop {
    /// Begins and follows checks.
    pub(super) async fn make_ready(&mut self) {
        self.look_at_disabled = None;
        if let Err(error) = self.follow_checks().await {
            cts_store::log_store_failure!(warn, &error, error = %Chain(&error), "cannot look at disabled tasks, trying again");
        }
        let left = self.disabled.left();
        self.context.check_pass.note_unready(left);
        if left > 0 {
            self.look_at_disabled = Some(Instant::now() + LOOK_EVERY);
        }
    }

    async fn follow_checks(&mut self) -> Result<(), StoreError> {
        self.read_checks().await?;
        // Without free slots nothing more than remembering is done.
        let checks = if self.disabled.left() > 0 && self.may_check() {
            self.free_for_checks().await?
        } else {
            0
        };
        let settings = &self.settings;
        let steps = self.disabled.next(checks, |definition, engine| {
            let settings = settings.of(definition)?;
            let input = FrozenInput::for_check_without_data(definition, settings.identity).ok()?;
            Some(TaskCheck::key(input.hash, engine))
        });
        for step in steps {
            match step {
                Step::Check(task) => self.request_check(&task).await?,
                Step::Remembered(task, outcome) => {
                    self.context.check_pass.log_remembered(&task, &outcome);
                }
            }
        }
        Ok(())
    }

    fn may_check(&self) -> bool {
        let is_time = self.context.first_pass.is_over() || self.started.elapsed() >= PATIENCE;
        self.context.check_pass.may_begin(is_time)
    }

    /// Reads how checks have ended, and what is remembered of tasks. A request of a task comes first.
    async fn read_checks(&mut self) -> Result<(), StoreError> {
        let unread = self.disabled.unread();
        let unread: Vec<TaskName> = unread
            .filter(|task| !self.planner.has(task))
            .cloned()
            .collect();
        if unread.is_empty() {
            return Ok(());
        }
        self.note_checks(&unread).await?;
        for (task, run) in self.disabled.checked() {
            if self.has_ended(run).await? {
                self.note_checks(std::slice::from_ref(&task)).await?;
                self.disabled.gone(&task, run);
            }
        }
        Ok(())
    }

    async fn note_checks(&mut self, tasks: &[TaskName]) -> Result<(), StoreError> {
        let known = self.context.store.checks(tasks).await?;
        let mut known: HashMap<TaskName, TaskCheck> = known.into_iter().collect();
        for task in tasks {
            if let Some(outcome) = self.disabled.read(task, known.remove(task)) {
                self.context.check_pass.log_end(task, &outcome);
            }
        }
        Ok(())
    }

    /// Whether a run is neither requested nor queued nor running any more. A request becomes a run, unless it is
    /// refused.
    async fn has_ended(&self, run: RunId) -> Result<bool, StoreError> {
        if let Some(request) = self.context.store.request(run).await? {
            return Ok(request.refused.is_some());
        }
        let record = self.context.store.run(run).await?;
        Ok(record.is_none_or(|record| record.status.is_end()))
    }

    /// How many more checks may begin now.
    async fn free_for_checks(&self) -> Result<usize, StoreError> {
        let workers = self.context.store.workers(LOST).await?;
        let working = workers
            .iter()
            .filter(|worker| !is_lost(worker) && !worker.worker.draining);
        let (mut slots, mut free) = (0_usize, 0_usize);
        for worker in working {
            let of = usize::try_from(worker.worker.slots).unwrap_or(usize::MAX);
            let used = usize::try_from(worker.running).unwrap_or(usize::MAX);
            slots = slots.saturating_add(of);
            free = free.saturating_add(of.saturating_sub(used));
        }
        let checks = self.disabled.checked().len();
        Ok((slots / SHARE).max(1).saturating_sub(checks).min(free))
    }

    /// Requests the check of a task, as the API does.
    async fn request_check(&mut self, task: &TaskName) -> Result<(), StoreError> {
        let run = self.context.identities.run_id();
        let change = TaskChange {
            request: Some((run, RunKind::Check)),
            ..TaskChange::default()
        };
        match self.context.store.change_task(task, &change).await {
            Ok(_task) => {
                self.disabled.begun(task, run);
                self.context.check_pass.log_begin(task);
                self.context.notifier.tasks_changed();
                Ok(())
            }
            Err(TaskError::Store(error)) => Err(error),
            // The next poll finds that the task is gone.
            Err(_gone) => Ok(()),
        }
    }
}
