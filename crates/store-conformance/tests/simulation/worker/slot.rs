//! Work of a slot when it looks at the clock.

use std::time::Duration;

use cts_core::runs::AttemptOutcome;

use super::{Stage, Work, WorkerInput};
use crate::engine::Instant;
use crate::scheduler::{Caller, Request, SchedulerInput};
use crate::simulation::{ProcessInput, Simulation};

/// Wait before an unanswered call is repeated.
const REPEAT: Duration = Duration::from_millis(400);

/// Next step after a look at the clock.
enum Next {
    Ask,
    Renew,
    Start,
    GiveUp,
    Kill(usize),
    Report(AttemptOutcome),
    Forget,
    Sleep(Duration),
    Nothing,
}

impl Simulation {
    /// Does everything that is due, and sleeps until the next deadline.
    pub(super) fn advance(&mut self, process: usize, slot: usize) {
        loop {
            let now = self.reading(process);
            match self.next(process, slot, now) {
                Next::Ask => self.ask(process, slot, now),
                Next::Renew => {
                    let attempt = self.current(process, slot);
                    attempt.renew_again_at = now + REPEAT;
                    let request = Request::Renew(attempt.word);
                    self.call_scheduler(process, slot, now, request);
                }
                Next::Start => {
                    let attempt = self.current(process, slot);
                    attempt.stage = Stage::Starting;
                    let word = attempt.word;
                    // Between the look at the clock and the start a process can be stopped.
                    let at = self.now + self.random.between(1, 5_000);
                    let input = ProcessInput::Worker(WorkerInput::Start { slot, word });
                    self.later(process, at, input);
                    if !self.is_calm() && self.random.chance(4) {
                        self.pause(process);
                    }
                }
                Next::GiveUp => self.give_up(process, slot),
                Next::Kill(terraform) => {
                    self.kill(terraform);
                    return;
                }
                Next::Report(outcome) => self.report(process, slot, now, outcome),
                Next::Forget => self.worker(process).slots[slot].work = Work::Idle,
                Next::Sleep(until) => {
                    let at = self.wake_at(process, until);
                    return self.wake(process, slot, at);
                }
                Next::Nothing => return,
            }
        }
    }

    /// Looks at the clock again at `at`, and not before unless something happens.
    pub(super) fn wake(&mut self, process: usize, slot: usize, at: Instant) {
        let state = &mut self.worker(process).slots[slot];
        state.turn += 1;
        let turn = state.turn;
        let input = ProcessInput::Worker(WorkerInput::Wake { slot, turn });
        self.later(process, at, input);
    }

    fn next(&mut self, process: usize, slot: usize, now: Duration) -> Next {
        let worker = self.worker(process);
        let draining = worker.draining;
        let attempt = match &mut worker.slots[slot].work {
            Work::Idle if draining => return self.drained(process),
            Work::Idle => return Next::Ask,
            Work::Asking { until, .. } if draining || *until <= now => return Next::Forget,
            Work::Asking { until, .. } => return Next::Sleep(*until),
            Work::Attempt(attempt) => attempt,
        };
        let deadlines = attempt.deadlines;
        if let Stage::Reporting(outcome, until) = &mut attempt.stage {
            if *until == Duration::MAX {
                *until = now + attempt.life;
            }
            return match *until {
                until if until <= now => Next::Forget,
                _ if attempt.repeat_at <= now => Next::Report(outcome.clone()),
                // Terraform is gone: the lease is kept until the end is confirmed, however late it is.
                _ if deadlines.renew_at().max(attempt.renew_again_at) <= now => Next::Renew,
                until => {
                    let renewal = deadlines.renew_at().max(attempt.renew_again_at);
                    Next::Sleep(until.min(attempt.repeat_at).min(renewal))
                }
            };
        }
        if attempt.given_up {
            return match attempt.stage {
                Stage::Fetching(_) if attempt.refused => Next::Forget,
                Stage::Fetching(_) => {
                    attempt.repeat_at = Duration::ZERO;
                    attempt.stage = Stage::Reporting(AttemptOutcome::Interrupted, Duration::MAX);
                    Next::Report(AttemptOutcome::Interrupted)
                }
                Stage::Running(terraform) if deadlines.kill_by() <= now => Next::Kill(terraform),
                Stage::Running(_) => Next::Sleep(deadlines.kill_by()),
                Stage::Starting | Stage::Reporting(..) => Next::Nothing,
            };
        }
        if deadlines.stop_by() <= now {
            return Next::GiveUp;
        }
        if deadlines.renew_at() <= now && attempt.renew_again_at <= now {
            return Next::Renew;
        }
        let renewal = deadlines.renew_at().max(attempt.renew_again_at);
        let wake = renewal.min(deadlines.stop_by());
        match attempt.stage {
            Stage::Fetching(_) if draining => {
                attempt.repeat_at = Duration::ZERO;
                attempt.stage = Stage::Reporting(AttemptOutcome::Interrupted, Duration::MAX);
                Next::Report(AttemptOutcome::Interrupted)
            }
            Stage::Fetching(fetched) if fetched <= now => Next::Start,
            Stage::Fetching(fetched) => Next::Sleep(wake.min(fetched)),
            _ => Next::Sleep(wake),
        }
    }

    fn ask(&mut self, process: usize, slot: usize, now: Duration) {
        let request = self.call_scheduler(process, slot, now, Request::Acquire);
        let until = now + Self::acquire_timeout();
        self.worker(process).slots[slot].work = Work::Asking { request, until };
    }

    /// Asks any scheduler.
    fn call_scheduler(
        &mut self,
        process: usize,
        slot: usize,
        asked: Duration,
        request: Request,
    ) -> u64 {
        let number = self.number();
        let scheduler = self.random.below(self.plan.schedulers);
        let caller = Caller {
            worker: (process, self.processes[process].life),
            slot,
            request: number,
            asked,
            arrived: Duration::ZERO,
            waited: Duration::ZERO,
        };
        let to = (scheduler, self.processes[scheduler].life);
        let input = ProcessInput::Scheduler(SchedulerInput::Called(caller, request));
        self.send(process, to, input);
        number
    }

    fn report(&mut self, process: usize, slot: usize, now: Duration, outcome: AttemptOutcome) {
        let attempt = self.current(process, slot);
        attempt.repeat_at = now + REPEAT;
        let request = Request::Complete(attempt.word, outcome);
        self.call_scheduler(process, slot, now, request);
    }

    /// From now on the attempt reports nothing, and its Terraform is stopped.
    pub(super) fn give_up(&mut self, process: usize, slot: usize) {
        let attempt = self.current(process, slot);
        attempt.given_up = true;
        if let Stage::Running(terraform) = attempt.stage {
            self.interrupt(terraform);
        }
    }

    fn current(&mut self, process: usize, slot: usize) -> &mut super::Attempt {
        match &mut self.worker(process).slots[slot].work {
            Work::Attempt(attempt) => attempt,
            other => unreachable!("slot {slot} of process {process} is {other:?}"),
        }
    }

    /// The last idle slot ends a drained worker; a new worker comes in its place.
    fn drained(&mut self, process: usize) -> Next {
        if self.worker(process).is_idle() {
            let back_after = self.random.between(10_000, 2_000_000);
            self.crash(process, back_after);
        }
        Next::Nothing
    }
}
