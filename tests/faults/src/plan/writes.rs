//! Writes to the API.

use std::time::Duration;

use super::Size;
use crate::conditions::Kind;
use crate::random::Random;

/// One write. Its effect depends on the state of the task at that time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Number of the task.
    pub task: usize,
    /// Chooses among the possible writes, from 0 to 99.
    pub choice: u64,
    /// Services that the task watches if it is created or replaced.
    pub services: Vec<usize>,
    /// Chooses the gateway.
    pub gateway: usize,
}

/// One request to cancel a run. The runs that exist at that time decide which run is cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancel {
    /// Whether to cancel a waiting run; otherwise a running one.
    pub waiting: bool,
    /// Whether to cancel by force.
    pub force: bool,
    /// Chooses the run.
    pub choice: usize,
    /// Chooses the gateway.
    pub gateway: usize,
}

impl Cancel {
    /// Status of the runs to choose from.
    pub const fn status(&self) -> &'static str {
        if self.waiting { "queued" } else { "running" }
    }
}

/// Requests to cancel runs at random times, so often on average.
pub(super) fn cancels(
    random: &mut Random,
    length: Duration,
    every: Duration,
) -> Vec<(Duration, Cancel)> {
    let mut cancels = Vec::new();
    let most = u64::try_from(every.as_millis()).unwrap_or_default() * 2;
    let next = |random: &mut Random| Duration::from_millis(random.between(50, most.max(51)));
    let mut at = next(random);
    while at < length {
        let cancel = Cancel {
            waiting: random.percent(40),
            force: random.percent(30),
            choice: random.index(64),
            gateway: random.index(16),
        };
        cancels.push((at, cancel));
        at += next(random);
    }
    cancels
}

/// Writes at random times, so often on average.
pub(super) fn writes(
    random: &mut Random,
    size: Size,
    length: Duration,
    every: Duration,
) -> Vec<(Duration, Write)> {
    let mut writes = Vec::new();
    let most = u64::try_from(every.as_millis()).unwrap_or_default() * 2;
    let mut at = Duration::from_millis(random.between(100, most.max(101)));
    while at < length {
        writes.push((at, write(random, size)));
        at += Duration::from_millis(random.between(20, most.max(21)));
    }
    writes
}

fn write(random: &mut Random, size: Size) -> Write {
    // Half of them are about tasks that the configuration does not have.
    let task = if random.percent(50) {
        size.tasks + random.index(size.spare)
    } else {
        random.index(size.tasks)
    };
    Write {
        task,
        choice: random.between(0, 99),
        services: watched(random, task, size.services),
        gateway: random.index(16),
    }
}

/// One to three services, or all if the task watches keys.
pub(super) fn watched(random: &mut Random, task: usize, services: usize) -> Vec<usize> {
    let count = random.between(1, 3);
    let mut watched: Vec<usize> = (0..count).map(|_| random.index(services)).collect();
    if Kind::of(task) == Kind::Keys {
        return (0..services).collect();
    }
    watched.sort_unstable();
    watched.dedup();
    watched
}
