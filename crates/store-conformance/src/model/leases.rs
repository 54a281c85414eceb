//! The part of the model about the queue and leases.

use std::time::Duration;

use cts_core::runs::{ELSEWHERE_FOR, RunKind, RunStatus};
use cts_core::state::StateRecord;
use cts_core::{DeliveryAttempt, LeaseEpoch, RunId, WorkerId};

use super::{Model, ModelRun, one_of_group};
use cts_store::{Claim, Lease, QueueDepth};

impl Model {
    /// Due times and ids of runs that can be leased now or later.
    fn waiting(&self) -> impl Iterator<Item = (Duration, RunId)> {
        let free = self.runs.iter().filter(|(_, run)| {
            run.status == RunStatus::Queued
                && self.may_run(run)
                && self.only(&run.task, RunStatus::Running).is_none()
                && !self.waits_for_group(run)
        });
        free.map(|(id, run)| (run.due, *id))
    }

    /// Whether another apply of its concurrency group is running.
    pub(super) fn waits_for_group(&self, run: &ModelRun) -> bool {
        let group = &self.tasks[&run.task]
            .stored
            .spec
            .file_settings
            .concurrency_group;
        let taken = |other: &ModelRun| {
            other.status == RunStatus::Running && other.group.is_some() && other.group == *group
        };
        one_of_group(run.kind) && self.runs.values().any(taken)
    }

    fn may_run(&self, run: &ModelRun) -> bool {
        let enabled = self.tasks[&run.task].stored.spec.enabled;
        !run.kind.applies() || run.requested || enabled
    }

    /// Whether another worker than its last holder is preferred.
    fn goes_elsewhere(&self, run: &ModelRun) -> bool {
        let until = run.elsewhere_until;
        until.is_some_and(|until| (self.now..=self.now + ELSEWHERE_FOR).contains(&until))
    }

    pub fn next_due(&self) -> Option<Duration> {
        let first = self.waiting().min();
        first.map(|(due, _)| due.saturating_sub(self.now))
    }

    pub fn queue_depth(&self) -> QueueDepth {
        let queued = self
            .runs
            .values()
            .filter(|run| run.status == RunStatus::Queued);
        let ready = || self.waiting().filter(|(due, _)| *due <= self.now);
        QueueDepth {
            queued: queued.filter(|run| self.may_run(run)).count() as u64,
            awaiting: 0,
            ready: ready().count() as u64,
            running: self.runs.values().filter(|run| run.is_at_work()).count() as u64,
            oldest_ready: ready().map(|(due, _)| self.now.saturating_sub(due)).max(),
        }
    }

    pub fn acquire(&mut self, claim: &Claim) -> Option<Lease> {
        if self.drains(&claim.worker) {
            return None;
        }
        let fits = |id: &RunId| {
            let run = &self.runs[id];
            let spec = &self.tasks[&run.task].stored.spec;
            let claimed = claim.kinds.has(run.kind) && (run.no_retry || !claim.only_requested);
            let elsewhere = run.holder == claim.worker.as_str() && self.goes_elsewhere(run);
            claimed && !elsewhere && claim.capabilities.can_run(&spec.requirement).is_ok()
        };
        let due = self.waiting().filter(|(due, _)| *due <= self.now);
        let (_, id) = due.filter(|(_, id)| fits(id)).min()?;
        let before = self.tasks[&self.runs[&id].task].last_attempt;
        let before = before.and_then(|attempt| self.runs.get(&attempt.run));
        let before_succeeded = before.is_none_or(|run| run.status == RunStatus::Succeeded);
        let run = self.runs.get_mut(&id)?;
        run.status = RunStatus::Running;
        run.epoch += 1;
        run.attempts += 1;
        (run.expires, run.renewed) = (self.now + claim.time_to_live, self.now);
        claim.worker.as_str().clone_into(&mut run.holder);
        (run.waiting_for, run.withdrawn, run.resumed_waits) = (None, false, 0);
        let group = &self
            .tasks
            .get(&run.task)?
            .stored
            .spec
            .file_settings
            .concurrency_group;
        run.group = group.clone().filter(|_| one_of_group(run.kind));
        let mut delivery = None;
        if run.kind == RunKind::Apply {
            let task = self.tasks.get_mut(&run.task)?;
            (task.last_applied, task.owes) = (None, None);
            let attempt =
                DeliveryAttempt::next(task.last_attempt.as_ref(), id, run.input, before_succeeded);
            task.last_attempt = Some(attempt);
            delivery = Some(attempt.delivery);
        }
        Some(Lease {
            run: id,
            task: run.task.clone(),
            kind: run.kind,
            holder: claim.worker.clone(),
            epoch: LeaseEpoch::new(run.epoch),
            input: run.input,
            attempt: run.attempts,
            timeouts: self.tasks[&run.task].stored.spec.file_settings.timeouts,
            ignored: Vec::new(),
            state: StateRecord::default(),
            delivery,
            trace: None,
            ends_remote_run: false,
            asks_permission: false,
        })
    }

    pub fn live(
        &mut self,
        id: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Option<&mut ModelRun> {
        let run = self.runs.get_mut(&id)?;
        let own = run.holder == holder.as_str() && run.epoch == epoch.get();
        (run.status == RunStatus::Running && own).then_some(run)
    }

    pub fn renew(&mut self, lease: &Lease, time_to_live: Duration) -> bool {
        let now = self.now;
        let Some(run) = self.live(lease.run, &lease.holder, lease.epoch) else {
            return false;
        };
        (run.expires, run.renewed) = (run.expires.max(now + time_to_live), now);
        true
    }
}
