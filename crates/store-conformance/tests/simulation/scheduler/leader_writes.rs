//! Work that a scheduler starts itself, at every look at the clock: lead, watch, take back, store.

use std::time::Duration;

use cts_core::runs::RunKind;
use cts_core::{LeaderEpoch, RunId};
use cts_store::Member;
use cts_store_conformance::member;

use super::{Purpose, STATEMENT_TIMEOUT, SchedulerInput};
use crate::database::Ask;
use crate::engine::MILLISECOND;
use crate::rules::Rules;
use crate::simulation::{ProcessInput, Simulation};

impl Simulation {
    /// Leads, if it can, and does what is due.
    pub(super) fn tick(&mut self, process: usize) {
        let wait = self.random.between(300, 500) * MILLISECOND;
        let input = ProcessInput::Scheduler(SchedulerInput::Tick);
        self.later(process, self.now + wait, input);
        let now = self.reading(process);
        let scheduler = self.scheduler(process);
        scheduler.ticks += 1;
        if (scheduler.leads).is_some_and(|(_, deadlines)| !deadlines.is_held(now)) {
            scheduler.doubt();
            scheduler.leads = None;
        }
        let raises = self.rules != Rules::NoRaiseInDoubt;
        let scheduler = self.scheduler(process);
        if (scheduler.writes).is_some_and(|(_, _, _, sent)| sent + STATEMENT_TIMEOUT <= now) {
            scheduler.doubt();
        }
        let epoch = scheduler.epoch();
        // A write without an answer must not happen after a newer one.
        let doubts = raises && epoch.is_some() && scheduler.doubts == epoch;
        let due = (scheduler.leads).is_none_or(|(_, deadlines)| deadlines.renew_at() <= now);
        if (due || doubts) && scheduler.ask_again_at <= now {
            scheduler.ask_again_at = now + Duration::from_millis(600);
            let member = self.member(process);
            let known = epoch.filter(|_| !doubts);
            self.state(process, Ask::Lead(member, known), Purpose::Leading(now));
        }
        if epoch.is_some() && !doubts {
            self.leader_writes(process, now);
        }
    }

    fn member(&self, process: usize) -> Member {
        let life = self.processes[process].life;
        let of_this_life = member(&format!("scheduler-{process}.{life}")).incarnation;
        Member {
            incarnation: of_this_life,
            ..member(&format!("scheduler-{process}"))
        }
    }

    fn leader_writes(&mut self, process: usize, now: Duration) {
        if self.scheduler(process).ticks.is_multiple_of(2) {
            self.watch(process);
        }
        let scheduler = self.scheduler(process);
        let Some((epoch, _)) = scheduler.leads else {
            return;
        };
        if scheduler.ticks.is_multiple_of(2) {
            let purpose = Purpose::Writing(None, epoch);
            self.state(process, Ask::Reap(epoch), purpose);
        }
        self.ask_for_apply(process, epoch, now);
        self.store_due(process, epoch, now);
        self.ask_for_plan(process, epoch);
    }

    /// A plan is requested.
    fn ask_for_plan(&mut self, process: usize, epoch: LeaderEpoch) {
        if self.is_calm() || !self.random.chance(self.plan.planning) {
            return;
        }
        let run = self.run_id();
        let task = self.random.below(self.plan.tasks);
        if let (Some(input), _) = self.scheduler(process).planner[task] {
            let ask = Ask::Enqueue {
                epoch,
                task,
                input,
                run,
                kind: RunKind::Plan,
                requested: true,
            };
            self.state(process, ask, Purpose::Writing(None, epoch));
        }
    }

    /// Requests an apply of the newest input that this leader has.
    fn ask_for_apply(&mut self, process: usize, epoch: LeaderEpoch, now: Duration) {
        if self.is_calm() || !self.random.chance(self.plan.requesting) {
            return;
        }
        let run = self.run_id();
        let task = self.random.below(self.plan.tasks);
        self.enqueue((process, epoch), (task, run), true, now);
    }

    /// Stores one changed input; one write at a time.
    fn store_due(&mut self, process: usize, epoch: LeaderEpoch, now: Duration) {
        let run = self.run_id();
        let scheduler = self.scheduler(process);
        if let Some(task) = scheduler.planner.iter().position(|(_, dirty)| *dirty) {
            self.enqueue((process, epoch), (task, run), false, now);
        }
    }

    /// Enqueues the newest input that this leader has. Writes one at a time: a write must not happen after a
    /// newer one.
    fn enqueue(
        &mut self,
        (process, epoch): (usize, LeaderEpoch),
        (task, run): (usize, RunId),
        requested: bool,
        now: Duration,
    ) {
        let scheduler = self.scheduler(process);
        if scheduler.writes.is_none()
            && let (Some(input), _) = scheduler.planner[task]
        {
            scheduler.writes = Some((run, task, input, now));
            let ask = Ask::Enqueue {
                epoch,
                task,
                input,
                run,
                kind: RunKind::Apply,
                requested,
            };
            self.state(process, ask, Purpose::Writing(Some(run), epoch));
        }
    }

    /// Asks a watcher, which may be behind.
    fn watch(&mut self, process: usize) {
        let behind = if self.is_calm() {
            0
        } else {
            self.random.below(3).saturating_sub(1)
        };
        let inputs = (self.inputs.iter())
            .map(|all| all[all.len().saturating_sub(1 + behind)])
            .collect();
        let life = self.processes[process].life;
        let input = ProcessInput::Scheduler(SchedulerInput::Shown(inputs));
        self.send(process, (process, life), input);
    }

    /// A clean stop frees the row.
    pub(crate) fn resign(&mut self, process: usize) {
        if let Some(epoch) = self.scheduler(process).epoch() {
            let ask = Ask::Resign(self.member(process));
            self.state(process, ask, Purpose::Writing(None, epoch));
        }
    }

    pub(crate) fn start_scheduler(&mut self, process: usize) {
        let at = self.now + self.random.between(1, 400) * MILLISECOND;
        self.later(process, at, ProcessInput::Scheduler(SchedulerInput::Tick));
    }
}
