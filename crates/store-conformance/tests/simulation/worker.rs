//! A worker: each slot asks for a run, keeps its lease, works on it, and reports.

mod slot;

use std::time::Duration;

use cts_core::runs::AttemptOutcome;

use crate::checker::InputNumber;
use crate::database::Word;
use crate::process::Role;
use crate::rules::{Deadlines, Rules};
use crate::scheduler::Caller;
use crate::simulation::Simulation;

#[derive(Debug, Clone)]
pub(crate) enum WorkerInput {
    /// A slot looks at the clock; the number distinguishes a wake-up from an outdated one.
    Wake {
        slot: usize,
        turn: u64,
    },
    Replied(Caller, Reply),
    /// Starts Terraform; decided a moment before.
    Start {
        slot: usize,
        word: Word,
    },
    /// Terraform has ended.
    Ended {
        slot: usize,
        terraform: usize,
        outcome: AttemptOutcome,
    },
    Drain,
}

/// Answer of a scheduler.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reply {
    Granted {
        word: Word,
        input: InputNumber,
        life: Duration,
    },
    Nothing,
    Renewed {
        word: Word,
        life: Duration,
    },
    Completed {
        word: Word,
    },
    Lost {
        word: Word,
    },
}

#[derive(Debug)]
pub(crate) struct Worker {
    slots: Vec<Slot>,
    pub(crate) draining: bool,
}

#[derive(Debug)]
struct Slot {
    turn: u64,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Idle,
    Asking { request: u64, until: Duration },
    Attempt(Box<Attempt>),
}

#[derive(Debug, Clone)]
struct Attempt {
    word: Word,
    input: InputNumber,
    life: Duration,
    deadlines: Deadlines,
    /// When an unanswered report is sent again.
    repeat_at: Duration,
    /// When an unanswered renewal is sent again.
    renew_again_at: Duration,
    stage: Stage,
    given_up: bool,
    /// A scheduler has said that the lease is over.
    refused: bool,
}

#[derive(Debug, Clone)]
enum Stage {
    /// Fetches the input, until then.
    Fetching(Duration),
    /// Has looked at the clock for the last time before the start.
    Starting,
    Running(usize),
    /// Says how it ended, until then.
    Reporting(AttemptOutcome, Duration),
}

impl Worker {
    pub(crate) fn new(slots: usize) -> Self {
        let slots = (0..slots).map(|_| Slot {
            turn: 0,
            work: Work::Idle,
        });
        Self {
            slots: slots.collect(),
            draining: false,
        }
    }

    fn works_on(&self, task: usize) -> bool {
        self.slots
            .iter()
            .any(|slot| matches!(&slot.work, Work::Attempt(attempt) if attempt.word.task == task))
    }

    fn is_idle(&self) -> bool {
        self.slots
            .iter()
            .all(|slot| matches!(slot.work, Work::Idle))
    }

    /// Until when the worker may use a lease; the guard has these deadlines too.
    pub(crate) fn deadlines(&self, word: Word) -> Option<Deadlines> {
        self.slots.iter().find_map(|slot| match &slot.work {
            Work::Attempt(attempt) if attempt.word == word => Some(attempt.deadlines),
            _ => None,
        })
    }
}

impl Simulation {
    pub(crate) fn worker(&mut self, process: usize) -> &mut Worker {
        match &mut self.processes[process].role {
            Role::Worker(worker) => worker,
            Role::Scheduler(_) => unreachable!("process {process} is a scheduler"),
        }
    }

    pub(crate) fn start_process(&mut self, process: usize) {
        if process < self.plan.schedulers {
            return self.start_scheduler(process);
        }
        for slot in 0..self.plan.slots {
            self.advance(process, slot);
        }
    }

    pub(crate) fn worker_input(&mut self, process: usize, input: WorkerInput) {
        match input {
            WorkerInput::Wake { slot, turn } => {
                if self.worker(process).slots[slot].turn == turn {
                    self.advance(process, slot);
                }
            }
            WorkerInput::Replied(caller, reply) => {
                self.replied(process, &caller, reply);
                self.advance(process, caller.slot);
            }
            WorkerInput::Start { slot, word } => {
                self.start_terraform(process, slot, word);
                // Not at once: it may be stopped again before it looks.
                let at = self.now + self.random.between(1, 5_000);
                self.wake(process, slot, at);
            }
            WorkerInput::Ended {
                slot,
                terraform,
                outcome,
            } => {
                self.terraform_ended(process, slot, terraform, outcome);
                self.advance(process, slot);
            }
            WorkerInput::Drain => {
                self.worker(process).draining = true;
                for slot in 0..self.plan.slots {
                    if let Some(terraform) = self.worker(process).slots[slot].running() {
                        self.interrupt(terraform);
                    }
                    self.advance(process, slot);
                }
            }
        }
    }

    fn attempt(&mut self, process: usize, slot: usize, word: Word) -> Option<&mut Attempt> {
        match &mut self.worker(process).slots[slot].work {
            Work::Attempt(attempt) if attempt.word == word => Some(attempt),
            _ => None,
        }
    }

    fn replied(&mut self, process: usize, caller: &Caller, reply: Reply) {
        let now = self.reading(process);
        let asked = match self.rules {
            Rules::CountsFromTheAnswer => now,
            _ => caller.asked + caller.waited,
        };
        match reply {
            Reply::Granted { word, input, life } => {
                let deadlines = Deadlines::new(self.rules, asked, life);
                self.begin(process, caller, word, input, (deadlines, life));
            }
            Reply::Nothing => {
                let slot = &mut self.worker(process).slots[caller.slot];
                if slot.awaits(caller.request) {
                    slot.work = Work::Idle;
                }
            }
            Reply::Renewed { word, life } => {
                if let Some(attempt) = self.attempt(process, caller.slot, word)
                    && (!attempt.given_up || matches!(attempt.stage, Stage::Reporting(..)))
                {
                    attempt.deadlines = attempt.deadlines.renewed(asked, life);
                    attempt.life = life;
                }
            }
            Reply::Completed { word } | Reply::Lost { word } => {
                let Some(attempt) = self.attempt(process, caller.slot, word) else {
                    return;
                };
                if let Stage::Reporting(..) = attempt.stage {
                    self.worker(process).slots[caller.slot].work = Work::Idle;
                } else {
                    attempt.refused = true;
                    self.give_up(process, caller.slot);
                }
            }
        }
    }

    fn begin(
        &mut self,
        process: usize,
        caller: &Caller,
        word: Word,
        input: InputNumber,
        (deadlines, life): (Deadlines, Duration),
    ) {
        let fetched = self.reading(process) + Duration::from_millis(self.random.between(1, 30));
        let worker = self.worker(process);
        // Two attempts of one worker would use the same directory.
        let expected = worker.slots[caller.slot].awaits(caller.request)
            && !worker.works_on(word.task)
            && !worker.draining;
        if expected {
            worker.slots[caller.slot].work = Work::Attempt(Box::new(Attempt {
                word,
                input,
                life,
                deadlines,
                repeat_at: Duration::ZERO,
                renew_again_at: Duration::ZERO,
                stage: Stage::Fetching(fetched),
                given_up: false,
                refused: false,
            }));
        }
    }

    fn start_terraform(&mut self, process: usize, slot: usize, word: Word) {
        let Some(attempt) = self.attempt(process, slot, word) else {
            return;
        };
        let (input, deadlines, given_up) = (attempt.input, attempt.deadlines, attempt.given_up);
        let unwanted = given_up || self.worker(process).draining;
        let terraform = self.spawn((process, slot), word, input, deadlines);
        if let Some(attempt) = self.attempt(process, slot, word) {
            attempt.stage = Stage::Running(terraform);
        }
        if unwanted {
            self.interrupt(terraform);
        }
    }

    fn terraform_ended(
        &mut self,
        process: usize,
        slot: usize,
        terraform: usize,
        outcome: AttemptOutcome,
    ) {
        let slot = &mut self.worker(process).slots[slot];
        if let Work::Attempt(attempt) = &mut slot.work
            && let Stage::Running(running) = attempt.stage
            && running == terraform
        {
            if attempt.refused {
                slot.work = Work::Idle;
            } else {
                // A run that was stopped because no scheduler renewed its lease is given back.
                let outcome = match outcome {
                    AttemptOutcome::Failed(_) if attempt.given_up => AttemptOutcome::Interrupted,
                    outcome => outcome,
                };
                attempt.repeat_at = Duration::ZERO;
                attempt.stage = Stage::Reporting(outcome, Duration::MAX);
            }
        }
    }
}

impl Slot {
    fn awaits(&self, request: u64) -> bool {
        matches!(self.work, Work::Asking { request: awaited, .. } if awaited == request)
    }

    fn running(&self) -> Option<usize> {
        match &self.work {
            Work::Attempt(attempt) => match attempt.stage {
                Stage::Running(terraform) => Some(terraform),
                _ => None,
            },
            _ => None,
        }
    }
}
