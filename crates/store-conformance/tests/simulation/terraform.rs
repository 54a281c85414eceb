//! Terraform, which writes over time and needs time to stop; and the guard of each worker, which stops
//! Terraform when the worker cannot.

use cts_core::runs::{AttemptOutcome, Plan, RunKind};

use crate::checker::{InputNumber, Life};
use crate::database::Word;
use crate::engine::{Instant, MILLISECOND};
use crate::rules::{Deadlines, Rules};
use crate::simulation::{Event, ProcessInput, Simulation};
use crate::worker::WorkerInput;

/// Between its start and its first write at least.
const SHORTEST_START: Instant = 200 * MILLISECOND;
/// How often the guard looks for Terraforms that should have ended.
const GUARD_LOOKS_EVERY: Instant = 100 * MILLISECOND;
/// From a kill to the end at most.
const LONGEST_DYING: Instant = 50 * MILLISECOND;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Writes,
    /// The work is done.
    Finishes,
    /// An interrupted one has ended gently.
    Stops,
    Dies,
    GuardLooks,
}

#[derive(Debug)]
pub(crate) struct Terraform {
    word: Word,
    input: InputNumber,
    /// The worker that has started it, and the slot.
    parent: Life,
    slot: usize,
    /// The last deadline that the worker sent to the guard.
    deadlines: Deadlines,
    writing: bool,
    interrupted: bool,
    dying: bool,
    ended: bool,
}

impl Simulation {
    pub(crate) fn spawn(
        &mut self,
        (process, slot): (usize, usize),
        word: Word,
        input: InputNumber,
        deadlines: Deadlines,
    ) -> usize {
        let terraform = self.terraforms.len();
        let parent = (process, self.processes[process].life);
        self.terraforms.push(Terraform {
            word,
            input,
            parent,
            slot,
            deadlines,
            writing: false,
            interrupted: false,
            dying: false,
            ended: false,
        });
        self.tell(|| format!("process {process} starts terraform {terraform} for {word:?}"));
        let slack = self.random.between(0, 300 * MILLISECOND);
        let writes = self.now + SHORTEST_START + slack;
        self.step(writes, terraform, Step::Writes);
        let work = self.plan.longest_work;
        let finishes = writes + self.random.between(50 * MILLISECOND, work);
        self.step(finishes, terraform, Step::Finishes);
        self.set_guard(terraform, process, deadlines);
        terraform
    }

    fn set_guard(&mut self, terraform: usize, process: usize, deadlines: Deadlines) {
        let now = self.reading(process);
        let late = now >= deadlines.stop_by();
        let look = match self.rules {
            Rules::NoGuard => return,
            Rules::GuardLooksOnce if late => return,
            _ if late => self.now + self.random.between(0, GUARD_LOOKS_EVERY),
            _ => self.wake_at(process, deadlines.stop_by()),
        };
        self.step(look, terraform, Step::GuardLooks);
    }

    fn step(&mut self, at: Instant, terraform: usize, step: Step) {
        self.agenda.put(at, Event::Terraform { terraform, step });
    }

    /// Interrupts Terraform, once. Terraform may take its time, and may even finish.
    pub(crate) fn interrupt(&mut self, terraform: usize) {
        let state = &mut self.terraforms[terraform];
        if state.interrupted || state.ended {
            return;
        }
        state.interrupted = true;
        self.interrupts += 1;
        let longest = self.plan.longest_life() * 3 / 2;
        let stops = self.now + self.random.between(MILLISECOND, longest);
        self.step(stops, terraform, Step::Stops);
        self.tell(|| format!("terraform {terraform} is interrupted"));
    }

    pub(crate) fn kill(&mut self, terraform: usize) {
        let state = &mut self.terraforms[terraform];
        if state.dying || state.ended {
            return;
        }
        state.dying = true;
        self.kills += 1;
        let dies = self.now + self.random.between(1, LONGEST_DYING);
        self.step(dies, terraform, Step::Dies);
        self.tell(|| format!("terraform {terraform} is killed"));
    }

    pub(crate) fn terraform_step(&mut self, terraform: usize, step: Step) {
        let state = &mut self.terraforms[terraform];
        if state.ended {
            return;
        }
        match step {
            Step::Writes => {
                // A Terraform that was interrupted does not begin.
                if !state.interrupted {
                    state.writing = true;
                    let task = state.word.task;
                    let kind = self.does(terraform);
                    self.checker.writes(task, terraform, kind);
                    self.tell(|| format!("terraform {terraform} writes"));
                }
            }
            Step::Finishes => {
                let applied = state.writing && !self.fails();
                self.end(terraform, applied);
            }
            Step::Stops | Step::Dies => self.end(terraform, false),
            Step::GuardLooks => self.guard_looks(terraform),
        }
    }

    /// Kind of work that it is really doing.
    fn does(&self, terraform: usize) -> RunKind {
        match self.rules {
            Rules::WorkersApplyPlans => RunKind::Apply,
            _ => self.terraforms[terraform].word.kind,
        }
    }

    fn fails(&mut self) -> bool {
        !self.is_calm() && self.random.chance(self.plan.failing)
    }

    fn end(&mut self, terraform: usize, applied: bool) {
        let kind = self.does(terraform);
        let state = &mut self.terraforms[terraform];
        state.ended = true;
        let applied = applied.then_some(state.input);
        let (task, (process, life), slot) = (state.word.task, state.parent, state.slot);
        let outcome = match applied {
            Some(_) if state.word.kind == RunKind::Plan => {
                AttemptOutcome::Planned(Plan::new(true, String::new()))
            }
            Some(_) => AttemptOutcome::Applied,
            None if state.interrupted && !state.dying => AttemptOutcome::Interrupted,
            None => AttemptOutcome::Failed(String::new()),
        };
        self.checker.ended(task, terraform, kind, applied);
        self.tell(|| format!("terraform {terraform} ends: {outcome:?}"));
        let input = ProcessInput::Worker(WorkerInput::Ended {
            slot,
            terraform,
            outcome,
        });
        self.arrive(self.now + 1, (process, life), input);
    }

    /// The guard compares the clock with the last deadline.
    fn guard_looks(&mut self, terraform: usize) {
        let state = &self.terraforms[terraform];
        let (process, life) = state.parent;
        let orphaned = !self.processes[process].alive || self.processes[process].life != life;
        if !orphaned
            && let word = state.word
            && let Some(told) = self.worker(process).deadlines(word)
        {
            self.terraforms[terraform].deadlines = told;
        }
        let deadlines = self.terraforms[terraform].deadlines;
        let now = self.reading(process);
        let next = if now >= deadlines.kill_by() {
            return self.kill(terraform);
        } else if orphaned || now >= deadlines.stop_by() {
            self.interrupt(terraform);
            deadlines.kill_by()
        } else {
            deadlines.stop_by()
        };
        let at = self.wake_at(process, next);
        self.step(at, terraform, Step::GuardLooks);
    }

    /// The pipe from a worker to its guard has ended.
    pub(crate) fn guard_sees_the_end(&mut self, process: usize) {
        if self.rules == Rules::NoGuard {
            return;
        }
        for terraform in 0..self.terraforms.len() {
            let state = &self.terraforms[terraform];
            if !state.ended && state.parent.0 == process {
                let at = self.now + self.random.between(1, 5 * MILLISECOND);
                self.step(at, terraform, Step::GuardLooks);
            }
        }
    }
}
