//! What a scheduler does unasked, at every look at the clock: lead, watch, take back, store.

use std::time::Duration;

use cts_core::LeaderEpoch;

use super::{PATIENCE, Purpose, SchedulerInput};
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
        let due = (scheduler.leads).is_none_or(|(_, deadlines)| deadlines.renew_at() <= now);
        if due && scheduler.ask_again_at <= now {
            scheduler.ask_again_at = now + Duration::from_millis(600);
            let name = self.leader_name(process);
            self.state(process, Ask::Lead(name), Purpose::Leading(now));
        }
        if self.scheduler(process).leads.is_some() {
            self.leader_writes(process, now);
        }
    }

    fn leader_name(&self, process: usize) -> String {
        match self.rules {
            Rules::NameSurvivesRestart => format!("scheduler {process}"),
            _ => format!("scheduler {process}.{}", self.processes[process].life),
        }
    }

    fn leader_writes(&mut self, process: usize, now: Duration) {
        if self.scheduler(process).ticks.is_multiple_of(2) {
            self.watch(process);
        }
        let believes = self.rules == Rules::BelievesTheDatabaseClock;
        let raises = self.rules != Rules::NoRaiseInDoubt;
        let scheduler = self.scheduler(process);
        if (scheduler.writes).is_some_and(|(_, _, _, sent)| sent + PATIENCE <= now) {
            scheduler.doubt();
        }
        let Some((epoch, _)) = scheduler.leads else {
            return;
        };
        if raises && scheduler.doubts == Some(epoch) {
            if scheduler.raise_again_at <= now {
                scheduler.raise_again_at = now + PATIENCE;
                let number = self.number();
                self.state(process, Ask::Raise(epoch), Purpose::Duty(number, epoch));
            }
            return;
        }
        let until = if believes {
            Some(Duration::MAX)
        } else {
            scheduler.keeper.reap_until(now)
        };
        if scheduler.ticks.is_multiple_of(2)
            && let Some(until) = until
        {
            let number = self.number();
            let ask = Ask::Reap(epoch, until);
            self.state(process, ask, Purpose::Duty(number, epoch));
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
        let run = self.number();
        let task = self.random.below(self.plan.tasks);
        if let (Some(input), _) = self.scheduler(process).planner[task] {
            let ask = Ask::Plan {
                epoch,
                task,
                input,
                run,
            };
            self.state(process, ask, Purpose::Duty(run, epoch));
        }
    }

    /// An apply of the newest input that this leader knows is requested.
    fn ask_for_apply(&mut self, process: usize, epoch: LeaderEpoch, now: Duration) {
        if self.is_calm() || !self.random.chance(self.plan.requesting) {
            return;
        }
        let run = self.number();
        let task = self.random.below(self.plan.tasks);
        self.enqueue((process, epoch), (task, run), true, now);
    }

    /// Stores one changed input; one write at a time.
    fn store_due(&mut self, process: usize, epoch: LeaderEpoch, now: Duration) {
        let run = self.number();
        let scheduler = self.scheduler(process);
        if let Some(task) = scheduler.planner.iter().position(|(_, dirty)| *dirty) {
            self.enqueue((process, epoch), (task, run), false, now);
        }
    }

    /// Enqueues the newest input that this leader knows. One write at a time: it must not happen behind a newer
    /// one.
    fn enqueue(
        &mut self,
        (process, epoch): (usize, LeaderEpoch),
        (task, run): (usize, u64),
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
                requested,
            };
            self.state(process, ask, Purpose::Duty(run, epoch));
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
            let number = self.number();
            self.state(process, Ask::Resign(epoch), Purpose::Duty(number, epoch));
        }
    }

    pub(crate) fn start_scheduler(&mut self, process: usize) {
        let at = self.now + self.random.between(1, 400) * MILLISECOND;
        self.later(process, at, ProcessInput::Scheduler(SchedulerInput::Tick));
    }
}
