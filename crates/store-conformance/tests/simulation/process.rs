//! Processes, each alone on its host, and the network between them.

use std::collections::VecDeque;

use crate::checker::Life;
use crate::engine::{HostClock, Instant, MILLISECOND};
use crate::scheduler::Scheduler;
use crate::simulation::{Event, ProcessInput, Simulation};
use crate::worker::Worker;

/// One process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) life: u32,
    pub(crate) alive: bool,
    pub(crate) paused: bool,
    /// Inputs that arrived while it was stopped.
    backlog: VecDeque<ProcessInput>,
    pub(crate) clock: HostClock,
    /// Cut off from the network until then.
    pub(crate) cut_until: Instant,
    pub(crate) role: Role,
}

#[derive(Debug)]
pub(crate) enum Role {
    Scheduler(Box<Scheduler>),
    Worker(Worker),
}

impl Process {
    pub(crate) fn new(role: Role, clock: HostClock) -> Self {
        Self {
            life: 0,
            alive: false,
            paused: false,
            backlog: VecDeque::new(),
            clock,
            cut_until: 0,
            role,
        }
    }
}

impl Simulation {
    /// When a message between two processes arrives, if it does. Calls of the database are not messages.
    pub(crate) fn passage(&mut self, from: usize, to: usize) -> Option<Instant> {
        let cut = [from, to]
            .iter()
            .any(|process| self.processes[*process].cut_until > self.now);
        if cut || (!self.is_calm() && self.random.chance(self.plan.loss)) {
            return None;
        }
        let slow = !self.is_calm() && self.random.chance(self.plan.slow);
        let longest = if slow {
            self.plan.slowest
        } else {
            20 * MILLISECOND
        };
        Some(self.now + self.random.between(200, longest))
    }

    /// Sends something from one process to another; it may get lost, come late, or come twice.
    pub(crate) fn send(&mut self, from: usize, to: Life, input: ProcessInput) {
        if !self.is_calm()
            && self.random.chance(self.plan.twice)
            && let Some(at) = self.passage(from, to.0)
        {
            self.arrive(at, to, input.clone());
        }
        if let Some(at) = self.passage(from, to.0) {
            self.arrive(at, to, input);
        }
    }

    /// An input that a process gives itself at a later time.
    pub(crate) fn later(&mut self, process: usize, at: Instant, input: ProcessInput) {
        let life = self.processes[process].life;
        self.arrive(at, (process, life), input);
    }

    pub(crate) fn arrive(&mut self, at: Instant, (process, life): Life, input: ProcessInput) {
        let event = Event::Process {
            process,
            life,
            input,
        };
        self.agenda.put(at, event);
    }

    pub(crate) fn reach(&mut self, number: usize, life: u32, input: ProcessInput) {
        let process = &mut self.processes[number];
        if !process.alive || process.life != life {
            return;
        }
        if process.paused {
            process.backlog.push_back(input);
            return;
        }
        match input {
            ProcessInput::Scheduler(input) => self.scheduler_input(number, input),
            ProcessInput::Worker(input) => self.worker_input(number, input),
        }
    }

    pub(crate) fn resume(&mut self, number: usize) {
        let process = &mut self.processes[number];
        process.paused = false;
        let life = process.life;
        let mut at = self.now;
        // Arrived inputs in their order, as a process finds them in its queues.
        for input in std::mem::take(&mut self.processes[number].backlog) {
            at += self.random.between(1, 2 * MILLISECOND);
            self.arrive(at, (number, life), input);
        }
        self.tell(|| format!("process {number} goes on"));
        if !self.is_calm() && self.random.chance(25) {
            // Just long enough awake to begin something.
            at = self.now + self.random.between(1, 5 * MILLISECOND);
            self.agenda.put(at, Event::Pause { process: number });
        }
    }

    /// Ends a process at once, with everything in its memory. Its Terraforms stay.
    pub(crate) fn crash(&mut self, number: usize, back_after: Instant) {
        let process = &mut self.processes[number];
        process.alive = false;
        process.paused = false;
        process.backlog.clear();
        self.tell(|| format!("process {number} dies"));
        self.guard_sees_the_end(number);
        let process = number;
        self.agenda
            .put(self.now + back_after, Event::Restart { process });
    }

    pub(crate) fn restart(&mut self, number: usize) {
        let plan = &self.plan;
        let process = &mut self.processes[number];
        process.life += 1;
        process.alive = true;
        match &mut process.role {
            Role::Scheduler(scheduler) => **scheduler = Scheduler::new(plan),
            Role::Worker(worker) => *worker = Worker::new(plan.slots),
        }
        self.tell(|| format!("process {number} starts"));
        self.start_process(number);
    }
}
