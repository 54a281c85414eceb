//! All actors together: processes on hosts, the network between them, and the course of events.

use std::time::Duration;

use cts_core::{FrozenInput, RunId};
use uuid::Uuid;

use crate::checker::{Checker, InputNumber, Violation};
use crate::database::{Ask, Counted, Database};
use crate::engine::{Agenda, HostClock, Instant, MILLISECOND, Random, SECOND};
use crate::faults::JUMP;
use crate::process::{Process, Role};
use crate::rules::{Plan, Rules};
use crate::scheduler::{Context, Scheduler, SchedulerInput};
use crate::terraform::{Step, Terraform};
use crate::worker::{Worker, WorkerInput};

/// Inputs are numbers below this, so that they come back often.
pub(crate) const INPUTS: usize = 4;

#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A statement arrives at the database.
    Statement {
        ask: Ask,
        context: Context,
    },
    /// An input reaches a process, if that life of it still exists.
    Process {
        process: usize,
        life: u32,
        input: ProcessInput,
    },
    Terraform {
        terraform: usize,
        step: Step,
    },
    /// The input of a task changes.
    Change,
    Fault,
    Restart {
        process: usize,
    },
    Pause {
        process: usize,
    },
    Resume {
        process: usize,
    },
}

#[derive(Debug, Clone)]
pub(crate) enum ProcessInput {
    Scheduler(SchedulerInput),
    Worker(WorkerInput),
}

#[derive(Debug)]
pub(crate) struct Simulation {
    pub(crate) rules: Rules,
    pub(crate) plan: Plan,
    pub(crate) now: Instant,
    pub(crate) random: Random,
    pub(crate) agenda: Agenda<Event>,
    pub(crate) processes: Vec<Process>,
    pub(crate) terraforms: Vec<Terraform>,
    pub(crate) database: Database,
    pub(crate) database_clock: HostClock,
    pub(crate) database_clock_rests_until: Instant,
    pub(crate) database_down_until: Instant,
    /// Per task all inputs so far, newest last.
    pub(crate) inputs: Vec<Vec<InputNumber>>,
    pub(crate) checker: Checker,
    pub(crate) numbers: u64,
    pub(crate) kills: u64,
    pub(crate) interrupts: u64,
    pub(crate) events: u64,
    pub(crate) story: Option<Vec<String>>,
}

/// Result of one seed.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) violation: Option<Violation>,
    pub(crate) counted: Counted,
    pub(crate) kills: u64,
    pub(crate) interrupts: u64,
    pub(crate) events: u64,
    pub(crate) story: Vec<String>,
}

impl Simulation {
    pub(crate) fn new(
        seed: u64,
        rules: Rules,
        all_inputs: &[FrozenInput],
        with_story: bool,
    ) -> Self {
        let mut random = Random::new(seed);
        let plan = Plan::new(&mut random);
        let mut processes = Vec::new();
        for number in 0..plan.schedulers + plan.workers {
            let role = if number < plan.schedulers {
                Role::Scheduler(Box::new(Scheduler::new(&plan)))
            } else {
                Role::Worker(Worker::new(plan.slots))
            };
            processes.push(Process::new(role, HostClock::new(&mut random)));
        }
        let inputs = (0..plan.tasks).map(|_| vec![0]).collect();
        let mut simulation = Self {
            rules,
            now: 0,
            agenda: Agenda::new(),
            processes,
            terraforms: Vec::new(),
            database: Database::new(rules, plan.tasks, all_inputs, plan.session),
            database_clock: HostClock::new(&mut random),
            database_clock_rests_until: 0,
            database_down_until: 0,
            inputs,
            checker: Checker::new(plan.tasks),
            random,
            plan,
            numbers: 0,
            kills: 0,
            interrupts: 0,
            events: 0,
            story: with_story.then(Vec::new),
        };
        for process in 0..simulation.processes.len() {
            simulation.restart(process);
        }
        simulation.agenda.put(SECOND, Event::Change);
        simulation.agenda.put(2 * SECOND, Event::Fault);
        simulation
    }

    /// From the start to rest, or to the first violation.
    pub(crate) fn run(mut self) -> Outcome {
        // A minute's wait after a failure, then leases that end and attempts, with plenty to spare.
        // Waits for the database's clock are longer when it was set back.
        let timeout =
            60 * SECOND + 2 * JUMP + 4 * self.plan.longest_life() + 8 * self.plan.longest_work;
        let end = self.plan.calm_from + timeout + 60 * SECOND;
        while let Some((at, event)) = self.agenda.take() {
            self.now = at;
            self.events += 1;
            if self.checker.violation.is_some() || self.is_over() {
                break;
            }
            if at > end {
                self.find_stuck();
                break;
            }
            self.happen(event);
        }
        if let Some(violation) = &self.checker.violation {
            let words = violation.to_string();
            self.tell(|| words);
        }
        Outcome {
            violation: self.checker.violation,
            counted: self.database.counted,
            kills: self.kills,
            interrupts: self.interrupts,
            events: self.events,
            story: self.story.unwrap_or_default(),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Statement { ask, context } => self.statement(ask, context),
            Event::Process {
                process,
                life,
                input,
            } => self.reach(process, life, input),
            Event::Terraform { terraform, step } => self.terraform_step(terraform, step),
            Event::Change => self.change(),
            Event::Fault => self.fault(),
            Event::Restart { process } => self.restart(process),
            Event::Pause { process } => self.pause(process),
            Event::Resume { process } => self.resume(process),
        }
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.now >= self.plan.calm_from
    }

    fn newest(&self, task: usize) -> InputNumber {
        *self.inputs[task]
            .last()
            .expect("every task begins with one")
    }

    fn rests(&self, task: usize) -> bool {
        let newest = self.newest(task);
        self.database.is_idle(task) && self.checker.has_come_to_rest(task, newest)
    }

    fn is_over(&self) -> bool {
        self.is_calm()
            // Long enough for every late message to arrive and do its harm.
            && self.now > self.plan.calm_from + 2 * self.plan.slowest + 10 * SECOND
            && (0..self.plan.tasks).all(|task| self.rests(task))
    }

    fn find_stuck(&mut self) {
        for task in 0..self.plan.tasks {
            if !self.rests(task) {
                self.checker.stuck(task);
            }
        }
    }

    fn change(&mut self) {
        if self.is_calm() {
            return;
        }
        let task = self.random.below(self.plan.tasks);
        let input = InputNumber::try_from(self.random.below(INPUTS)).expect("there are few inputs");
        self.inputs[task].push(input);
        self.tell(|| format!("the input of task {task} becomes {input}"));
        let every = self.plan.change_every;
        let next = self.now + self.random.between(every / 4, every * 2);
        self.agenda.put(next, Event::Change);
    }

    fn statement(&mut self, ask: Ask, context: Context) {
        if self.now < self.database_down_until {
            // Some connections break, others hang until the database is back.
            if self.random.chance(50) {
                let later = self.database_down_until + self.random.between(1, 50 * MILLISECOND);
                self.agenda.put(later, Event::Statement { ask, context });
            }
            return;
        }
        let now = self.database_clock.wall(self.now);
        let words = self.story.is_some().then(|| format!("{ask:?}"));
        let by = context.by;
        let answer = (self.database).execute(ask, by, now, &mut self.checker);
        self.tell(|| {
            format!(
                "database, for {by:?}: {}: {answer:?}",
                words.unwrap_or_default()
            )
        });
        let input = ProcessInput::Scheduler(SchedulerInput::Answered(context, answer));
        if let Some(at) = self.passage(by.0, by.0) {
            self.arrive(at, by, input);
        }
    }

    /// Time since some moment by the clock of a process.
    pub(crate) fn reading(&self, process: usize) -> Duration {
        let clock = &self.processes[process].clock;
        match self.rules {
            Rules::ReadsTheWallClock => clock.wall(self.now),
            _ => clock.monotonic(self.now),
        }
    }

    /// Time at which a process wakes that sleeps until its clock shows `reading`.
    pub(crate) fn wake_at(&self, process: usize, reading: Duration) -> Instant {
        let rest = reading.saturating_sub(self.reading(process));
        self.now + self.processes[process].clock.true_time(rest)
    }

    /// The id of a new run.
    pub(crate) fn run_id(&mut self) -> RunId {
        RunId::from_uuid(Uuid::from_u128(u128::from(self.number())))
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub(crate) fn tell(&mut self, line: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            let seconds = Duration::from_micros(self.now).as_secs_f64();
            story.push(format!("{seconds:10.6} {}", line()));
        }
    }
}
