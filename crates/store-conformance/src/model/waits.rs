//! Runs that wait for something outside of cts.

use cts_core::TaskName;
use cts_core::runs::{Resumed, RunKind, RunStatus, WaitContext, WaitEnd, wait_end};

use super::Model;
use cts_store::Lease;

/// The lease does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost;

impl Model {
    /// Whether it is a live lease.
    pub fn suspend(&mut self, lease: &Lease, wait: u32, waiting_for: &str) -> bool {
        let run = self.live(lease.run, &lease.holder, lease.epoch);
        let Some(run) = run else { return false };
        if run.resumed_waits < wait {
            run.waiting_for = Some(waiting_for.to_owned());
            run.group = None;
        }
        true
    }

    /// `Err` if it is no live lease.
    pub fn wait_end(&mut self, lease: &Lease) -> Result<Option<WaitEnd>, Lost> {
        let run = self.live(lease.run, &lease.holder, lease.epoch);
        let run = run.ok_or(Lost)?.clone();
        let task = &self.tasks[&run.task].stored;
        let queued = |kind| {
            let mut runs = self.runs.values();
            runs.any(|other| {
                other.task == run.task && other.status == RunStatus::Queued && other.kind == kind
            })
        };
        Ok(wait_end(WaitContext {
            kind: run.kind,
            phase: task.phase,
            enabled: task.spec.enabled,
            requested: run.no_retry,
            newer_waits: queued(RunKind::Apply),
            withdrawn: run.withdrawn,
            look_waits: [RunKind::Check, RunKind::Plan, RunKind::DestroyPlan]
                .map(queued)
                .contains(&true),
        }))
    }

    /// `Err` if it is no live lease.
    pub fn resume(&mut self, lease: &Lease, wait: u32) -> Result<Resumed, Lost> {
        if let Some(end) = self.wait_end(lease)? {
            return Ok(Resumed::Ended(end));
        }
        let run = self.runs[&lease.run].clone();
        if run.group.is_none() && self.waits_for_group(&run) {
            return Ok(Resumed::GroupBusy);
        }
        let group = self.tasks[&run.task]
            .stored
            .spec
            .file_settings
            .concurrency_group
            .clone();
        let run = self.runs.get_mut(&lease.run).ok_or(Lost)?;
        if run.resumed_waits < wait {
            (run.waiting_for, run.resumed_waits) = (None, wait);
            run.group = group.filter(|_| run.kind == RunKind::Apply);
        }
        Ok(Resumed::GoesOn)
    }

    /// Marks the running applies of a task as withdrawn: a run that waits then has nothing to apply any more.
    pub(super) fn withdraw(&mut self, name: &TaskName) {
        for run in self.runs.values_mut() {
            let running = run.task == *name && run.status == RunStatus::Running;
            run.withdrawn |= running && run.kind == RunKind::Apply;
        }
    }
}
