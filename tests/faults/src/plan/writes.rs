//! Writes to the API.

use std::time::Duration;

use super::Size;
use crate::conditions::Kind;
use crate::random::Random;

/// One write. What it does depends on how the task stands when its time has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Number of the task.
    pub task: usize,
    /// Chooses among what can be done, from 0 to 99.
    pub choice: u64,
    /// Services that the task watches if it is created or replaced.
    pub services: Vec<usize>,
    /// Chooses the gateway.
    pub gateway: usize,
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
