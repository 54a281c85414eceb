//! Faults: crashes, stops, cuts, outages, jumping clocks.

use crate::engine::{Instant, MILLISECOND, SECOND, signed};
use crate::process::Role;
use crate::rules::Rules;
use crate::simulation::{Event, ProcessInput, Simulation};
use crate::worker::WorkerInput;

/// How far a clock jumps at most.
pub(crate) const JUMP: Instant = 40 * SECOND;

impl Simulation {
    pub(crate) fn fault(&mut self) {
        if self.is_calm() {
            return;
        }
        let process = self.random.below(self.processes.len());
        match self.random.below(9) {
            0 => {
                if self.processes[process].alive {
                    let back_after = self.random.between(50 * MILLISECOND, 8 * SECOND);
                    self.crash(process, back_after);
                }
            }
            1..=3 => self.pause(process),
            4 => {
                let span = self.span();
                self.processes[process].cut_until = self.now + span;
                self.tell(|| format!("process {process} is cut off for {span} us"));
            }
            5 => {
                let span = self.span() / 2;
                self.database_down_until = self.now + span;
                self.tell(|| format!("the database is away for {span} us"));
            }
            6 => {
                let offset = self.wall_offset();
                self.processes[process].clock.wall_offset = offset;
                self.tell(|| format!("the wall clock of process {process} jumps to {offset} us"));
            }
            // Backwards only: the rules do not cover a clock that leaps ahead.
            7 if self.now >= self.database_clock_rests_until => {
                let rest = 2 * self.plan.longest_life() + self.plan.slowest;
                self.database_clock_rests_until = self.now + rest;
                let by = signed(self.random.between(0, JUMP / 2));
                let clock = &mut self.database_clock;
                clock.wall_offset += match self.rules {
                    Rules::DatabaseClockLeaps => by,
                    _ => -by,
                };
                self.tell(|| format!("the database's clock is set by {by} us"));
            }
            _ => self.stop_cleanly(process),
        }
        let every = self.plan.fault_every;
        let next = self.now + self.random.between(every / 4, every * 2);
        self.agenda.put(next, Event::Fault);
    }

    fn wall_offset(&mut self) -> i64 {
        signed(self.random.between(0, JUMP)) - signed(JUMP / 2)
    }

    /// Often shorter than a lease, often longer.
    fn span(&mut self) -> Instant {
        let longest = self.plan.shortest_life() * 3 / 2;
        // Nothing may last longer than the faults.
        let rest = self.plan.calm_from.saturating_sub(self.now);
        self.random.between(100 * MILLISECOND, longest).min(rest)
    }

    /// SIGSTOP, and later SIGCONT.
    pub(crate) fn pause(&mut self, process: usize) {
        let span = self.span();
        let state = &mut self.processes[process];
        if state.alive && !state.paused {
            state.paused = true;
            self.tell(|| format!("process {process} is stopped for {span} us"));
            let at = self.now + span;
            self.agenda.put(at, Event::Resume { process });
        }
    }

    /// SIGTERM: a worker ends its runs gently, a leader frees its row.
    fn stop_cleanly(&mut self, process: usize) {
        let state = &self.processes[process];
        if !state.alive || state.paused {
            return;
        }
        self.tell(|| format!("process {process} stops cleanly"));
        match self.processes[process].role {
            Role::Scheduler(_) => {
                self.resign(process);
                let back_after = self.random.between(100 * MILLISECOND, 4 * SECOND);
                self.crash(process, back_after);
            }
            Role::Worker(_) => {
                let input = ProcessInput::Worker(WorkerInput::Drain);
                self.later(process, self.now, input);
            }
        }
    }
}
