//! State and decisions of a guard, without processes and without a clock.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::time::Instant;

use crate::guard::line::Line;
use crate::stop::{StopPolicy, StopSequence, StopStep};

/// Pause between two scans while a process is being stopped.
const BUSY: Duration = Duration::from_millis(100);

/// Pause between two scans while nothing is found and a process may still appear that was just being started.
const WATCHFUL: Duration = Duration::from_millis(200);

/// Pause between two scans of directories whose time is over.
const CALM: Duration = Duration::from_secs(1);

/// If no process is found for this long, none appears any more.
const SETTLED: Duration = Duration::from_secs(1);

/// Longest time that a worker can name; anything longer counts as for ever.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// A process group of this worker, at work for a task directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MarkedGroup {
    pub(crate) directory: PathBuf,
    pub(crate) group: i32,
}

/// A signal that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) group: i32,
    pub(crate) signal: Signal,
    pub(crate) directory: PathBuf,
    /// Whether the signal has not been sent before.
    pub(crate) is_new: bool,
}

#[derive(Debug)]
pub(crate) struct Watch {
    stop: StopPolicy,
    unknown_grace: Duration,
    deadlines: BTreeMap<PathBuf, Deadlines>,
    /// Directories in which no Terraform is left; processes that still run in these directories were meant to outlive
    /// it.
    released: BTreeSet<PathBuf>,
    stops: BTreeMap<PathBuf, Stop>,
    worker: Worker,
    last_look: Option<Instant>,
    /// Since when scans have found no process that is being stopped; `None` before the first such scan.
    nothing_since: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worker {
    AtWork,
    /// The worker has reported that no process runs outside of the directories with deadlines.
    Leaving,
    Gone,
}

/// Until when Terraform may run in a directory.
#[derive(Debug, Clone, Copy)]
struct Deadlines {
    act_at: Instant,
    kill_by: Instant,
    interrupted: bool,
}

/// The stop in one directory.
#[derive(Debug)]
struct Stop {
    begun: Instant,
    course: StopSequence,
    /// Whether the worker has interrupted already.
    interrupted: bool,
    /// The last step for each group.
    taken: BTreeMap<i32, StopStep>,
}

impl Stop {
    fn begin(now: Instant, policy: StopPolicy, deadlines: Deadlines) -> Self {
        let mut course = StopSequence::new(policy);
        course.hurry(
            Duration::ZERO,
            deadlines.kill_by.saturating_duration_since(now),
        );
        if deadlines.interrupted {
            course.terminate_by(deadlines.act_at.saturating_duration_since(now));
        }
        Self {
            begun: now,
            course,
            interrupted: deadlines.interrupted,
            taken: BTreeMap::new(),
        }
    }
}

impl Watch {
    pub(crate) const fn new(stop: StopPolicy, unknown_grace: Duration) -> Self {
        Self {
            stop,
            unknown_grace,
            deadlines: BTreeMap::new(),
            released: BTreeSet::new(),
            stops: BTreeMap::new(),
            worker: Worker::AtWork,
            last_look: None,
            nothing_since: None,
        }
    }

    /// Takes a line that the worker sent at `now`.
    pub(crate) fn hear(&mut self, line: Line, now: Instant) {
        let (directory, act_in, gone_in, interrupted) = match line {
            Line::Allow {
                directory,
                stop_in,
                gone_in,
            } => (directory, stop_in, gone_in, false),
            Line::Interrupted {
                directory,
                terminate_in,
                gone_in,
            } => (directory, terminate_in, gone_in, true),
            Line::Release { directory } => {
                self.deadlines.remove(&directory);
                self.stops.remove(&directory);
                self.released.insert(directory);
                return;
            }
            Line::End => {
                self.worker = Worker::Leaving;
                return;
            }
        };
        let deadlines = Deadlines {
            act_at: now + act_in.min(LONGEST),
            kill_by: now + gone_in.min(LONGEST),
            interrupted,
        };
        if deadlines.act_at > now && !interrupted {
            self.stops.remove(&directory);
        } else if let Some(stop) = self.stops.get_mut(&directory) {
            let gone_at = deadlines.kill_by.saturating_duration_since(stop.begun);
            stop.course.hurry(now.duration_since(stop.begun), gone_at);
        }
        self.released.remove(&directory);
        self.deadlines.insert(directory, deadlines);
    }

    /// The worker's end of the pipe was closed at `now`.
    pub(crate) fn lose_worker(&mut self, now: Instant) {
        if self.worker == Worker::AtWork {
            self.worker = Worker::Gone;
        }
        for (directory, deadlines) in &self.deadlines {
            self.stops
                .entry(directory.clone())
                .or_insert_with(|| Stop::begin(now, self.stop, *deadlines));
        }
        self.nothing_since = None;
        self.last_look = None;
    }

    /// Whether the worker is known to be gone, for whatever reason.
    pub(crate) fn is_alone(&self) -> bool {
        self.worker != Worker::AtWork
    }

    /// The moment of the next scan; `None` if nothing is to be looked for.
    pub(crate) fn next_look(&self, now: Instant) -> Option<Instant> {
        let next_expiry = self
            .deadlines
            .iter()
            .filter(|(directory, _deadlines)| !self.stops.contains_key(*directory))
            .map(|(_directory, deadlines)| deadlines.act_at)
            .min();
        if self.stops.is_empty() && !self.is_alone() {
            return next_expiry;
        }
        let pause = match self.nothing_since {
            None => Duration::ZERO,
            Some(since) if now.duration_since(since) < SETTLED || self.is_alone() => WATCHFUL,
            Some(_) => CALM,
        };
        let busy = self.stops.values().any(|stop| !stop.taken.is_empty());
        let pause = if busy { BUSY } else { pause };
        let next_step = self
            .stops
            .values()
            .filter(|stop| !stop.taken.is_empty())
            .filter_map(|stop| {
                Some(stop.begun + stop.course.next(now.duration_since(stop.begun))?)
            });
        let regular = self.last_look.map_or(now, |last| last + pause);
        next_step.chain(next_expiry).chain([regular]).min()
    }

    /// Takes the result of a scan at `now`, which has all processes of this worker, and returns the signals
    /// that are due.
    pub(crate) fn check(&mut self, found: &[MarkedGroup], now: Instant) -> Vec<Due> {
        self.last_look = Some(now);
        for (directory, deadlines) in &self.deadlines {
            if deadlines.act_at <= now && !self.stops.contains_key(directory) {
                let stop = Stop::begin(now, self.stop, *deadlines);
                self.stops.insert(directory.clone(), stop);
                self.nothing_since = None;
            }
        }
        if self.worker == Worker::Gone {
            for MarkedGroup { directory, .. } in found {
                if !self.stops.contains_key(directory) && !self.released.contains(directory) {
                    let deadlines = Deadlines {
                        act_at: now,
                        kill_by: now + self.unknown_grace,
                        interrupted: false,
                    };
                    let stop = Stop::begin(now, self.stop, deadlines);
                    self.stops.insert(directory.clone(), stop);
                }
            }
        }
        let mut due = Vec::new();
        let mut any = false;
        for (directory, stop) in &mut self.stops {
            let step = stop.course.due(now.duration_since(stop.begun));
            let mut taken = BTreeMap::new();
            for marked in found.iter().filter(|marked| marked.directory == *directory) {
                any = true;
                let before = stop.taken.get(&marked.group).copied();
                let before = before.or(stop.interrupted.then_some(StopStep::Interrupt));
                // A kill is repeated: a process that still exists was started since.
                if before.is_none_or(|before| before < step) || step == StopStep::Kill {
                    due.push(Due {
                        is_new: before != Some(step),
                        group: marked.group,
                        signal: step.signal(),
                        directory: directory.clone(),
                    });
                }
                taken.insert(marked.group, step);
            }
            stop.taken = taken;
        }
        if any {
            self.nothing_since = None;
        } else {
            self.nothing_since.get_or_insert(now);
        }
        due
    }

    /// Whether the guard has nothing left to do.
    pub(crate) fn is_done(&self, now: Instant) -> bool {
        match (self.worker, self.nothing_since) {
            (Worker::AtWork, _) | (_, None) => false,
            (Worker::Leaving, Some(_)) => true,
            (Worker::Gone, Some(since)) => now.duration_since(since) >= SETTLED,
        }
    }
}

#[cfg(test)]
mod tests;
