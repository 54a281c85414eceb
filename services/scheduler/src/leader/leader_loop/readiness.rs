//! Makes disabled tasks ready: with lower priority than every other run, in at most a quarter of the slots, with one
//! slot left free.

use std::collections::HashMap;
use std::time::Duration;

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{Chain, FrozenInput, RunId, TaskCheck, TaskName};
use cts_store::{CancelError, StoreError, TaskChange, TaskError, WaitingRuns, WorkerState};
use tokio::time::Instant;

use super::LeaderLoop;
use crate::leader::disabled_tasks::{Room, Step};
use crate::liveness::LOST;
use crate::mode::Mode;
use crate::unschedulable::why_unschedulable;

/// Time between two looks while tasks are not ready; a hint makes it shorter.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// If enabled tasks still wait for their first run after this time, disabled tasks wait for them no longer.
const FIRST_PASS_LIMIT: Duration = Duration::from_secs(30);

/// Checks use at most one slot in `SHARE`.
const SHARE: usize = 4;

/// Time between two looks while checks go on and runs are queued.
const LOOK_SOON: Duration = Duration::from_millis(20);

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
        // Without free slots only earlier outcomes are applied.
        let mut room = Room {
            checks: 0,
            calm: false,
        };
        if self.disabled.left() > 0 {
            room = self.make_way().await?;
            if !self.may_check() {
                room.checks = 0;
            }
        }
        let settings = &self.settings;
        let steps = self.disabled.next(room, |definition, engine| {
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
        let is_time =
            self.context.first_pass.is_over() || self.started.elapsed() >= FIRST_PASS_LIMIT;
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

    /// Whether a run is no longer requested, queued or running. A request becomes a run, unless it is refused.
    async fn has_ended(&self, run: RunId) -> Result<bool, StoreError> {
        if let Some(request) = self.context.store.request(run).await? {
            return Ok(request.refused.is_some());
        }
        let record = self.context.store.run(run).await?;
        Ok(record.is_none_or(|record| record.status.is_end()))
    }

    /// Runs were queued: checks may have to give way.
    pub(super) fn look_soon(&mut self) {
        // Without a next look every disabled task is ready.
        if let Some(at) = self.look_at_disabled
            && !self.disabled.yielding().is_empty()
        {
            self.look_at_disabled = Some(at.min(Instant::now() + LOOK_SOON));
        }
    }

    /// Lets checks give way to runs that are due and find no free slot. Returns the room for further checks.
    async fn make_way(&mut self) -> Result<Room, StoreError> {
        let workers = self.context.store.workers(LOST).await?;
        let waiting = match self.context.mode {
            Mode::Daemon => self.context.store.waiting_runs(Duration::ZERO).await?,
            // A pass leaves alone what earlier processes have queued, and checks after everything else.
            Mode::OnRequest => Vec::new(),
        };
        let due = DueRuns::of(&waiting, &workers);
        if due.without_slot > 0 {
            self.interrupt_checks(due.without_slot).await?;
        }
        Ok(Room {
            checks: room(&workers, &due, self.disabled.checked().len()),
            calm: due.runs == 0,
        })
    }

    /// Interrupts as many checks as runs wait for a slot, and withdraws those that have not begun.
    async fn interrupt_checks(&mut self, due: usize) -> Result<(), StoreError> {
        let mut needed = due.saturating_sub(self.disabled.giving_way());
        for (task, run) in self.disabled.yielding() {
            let Some(record) = self.context.store.run(run).await? else {
                continue;
            };
            // A check that a caller waits for is a run like any other.
            if record.requested_by.is_some() || record.status.is_end() {
                continue;
            }
            let had_begun = record.status == RunStatus::Running;
            if had_begun && needed == 0 {
                continue;
            }
            let event = self.context.identities.event_id();
            // Force is safe: a check has no state that could be lost.
            match self.context.store.cancel_run(run, true, event).await {
                Ok(cancelled) => {
                    let had_begun = cancelled.status == RunStatus::Running;
                    needed = needed.saturating_sub(usize::from(had_begun));
                    self.disabled.gives_way(&task, run, had_begun);
                    tracing::info!(target: "ctrl", task_name = %task, run.id = %run, "the check of a disabled task gives way to a run that is due");
                    // The worker waits for this hint.
                    self.context.notifier.tasks_changed();
                }
                Err(CancelError::Store(error)) => return Err(error),
                // The check has ended already.
                Err(CancelError::Unknown | CancelError::Refused(_)) => {}
            }
        }
        Ok(())
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

/// Due runs that a worker could take, other than checks that a leader has requested.
#[derive(Debug)]
struct DueRuns {
    runs: usize,
    /// Number of due runs without a free slot.
    without_slot: usize,
}

impl DueRuns {
    fn of(waiting: &[WaitingRuns], workers: &[WorkerState]) -> Self {
        let (mut at_once, mut busy) = (0_usize, 0_usize);
        for runs in waiting {
            let number = usize::try_from(runs.runs.saturating_sub(runs.own_checks));
            let number = number.unwrap_or(usize::MAX);
            match why_unschedulable(runs, workers) {
                None => at_once = at_once.saturating_add(number),
                Some(reason) if reason.ends_by_itself() => busy = busy.saturating_add(number),
                // No slot helps it.
                Some(_) => {}
            }
        }
        let free: usize = workers.iter().map(free_slots).sum();
        Self {
            runs: at_once.saturating_add(busy),
            without_slot: busy.saturating_add(at_once.saturating_sub(free)),
        }
    }
}

/// Returns how many more checks may begin. One slot stays free, unless only one slot exists.
fn room(workers: &[WorkerState], due: &DueRuns, checks: usize) -> usize {
    let slots: usize = workers.iter().map(slots).sum();
    let free: usize = workers.iter().map(free_slots).sum();
    let kept = usize::from(slots > 1).saturating_add(due.runs);
    let share = (slots / SHARE).max(1).saturating_sub(checks);
    share.min(free.saturating_sub(kept))
}

/// The slots of a worker that takes runs.
fn slots(worker: &WorkerState) -> usize {
    if worker.takes_runs() {
        usize::try_from(worker.worker.slots).unwrap_or(usize::MAX)
    } else {
        0
    }
}

fn free_slots(worker: &WorkerState) -> usize {
    slots(worker).saturating_sub(usize::try_from(worker.running).unwrap_or(usize::MAX))
}
