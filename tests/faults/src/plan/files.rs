//! Declarations in the files of the processes: some tasks change with each version of the files, and with
//! nothing else.

use std::time::Duration;

use super::faults::overlapping;
use super::target::{Blow, Fault, Misbehaviour, Target, Tasks};
use super::{Plan, writes};
use crate::random::Random;

/// How long before a change of the files Terraform begins to fail at most, and how long it fails.
const FAILS_BEFORE: Duration = Duration::from_millis(2500);
const FAILS_FOR: Duration = Duration::from_secs(8);

/// A task as a file declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// Services that it watches, by number, sorted.
    pub services: Vec<usize>,
    /// Whether it runs.
    pub enabled: bool,
}

impl Plan {
    /// Whether only the files change this task.
    pub const fn is_of_files(&self, number: usize) -> bool {
        number < self.size.tasks && number % 7 == 3
    }

    /// The declaration of a task in a version of the files, `None` if that version lacks it. Version 0 is the
    /// first.
    pub fn declared(&self, number: usize, version: u64) -> Option<Declaration> {
        let first = Declaration {
            services: self.tasks.get(number)?.clone(),
            enabled: !self.disabled.contains(&number),
        };
        if version == 0 || !self.is_of_files(number) {
            return Some(first);
        }
        let name = (version << 16) ^ number as u64;
        let mut random = Random::new(self.seed ^ 0x6669_6c65 ^ (name << 8));
        match random.between(1, 10) {
            1..=3 => Some(Declaration {
                enabled: false,
                ..first
            }),
            4..=6 => Some(Declaration {
                services: writes::watched(&mut random, number, self.size.services),
                enabled: true,
            }),
            7..=8 => None,
            _ => Some(first),
        }
    }
}

/// Versions of the files from `first` + 1 on. Terraform fails for some of the tasks that change with them, from
/// before each change until after it.
pub(super) fn rewrites(
    random: &mut Random,
    tasks: &[usize],
    length: Duration,
    (first, calms): (u64, &[[Duration; 2]]),
) -> Vec<Fault> {
    let mut faults = Vec::new();
    if tasks.is_empty() {
        return faults;
    }
    let mut version = first;
    let mut at = Duration::from_millis(random.between(3000, 12_000));
    while at < length {
        if let Some(until) = overlapping(calms, at.saturating_sub(FAILS_BEFORE), at + FAILS_FOR) {
            at = until + FAILS_BEFORE;
            continue;
        }
        version += 1;
        for _ in 0..random.between(1, 3) {
            let target = Target::Terraform(Tasks {
                first: random.choose(tasks),
                count: 1,
            });
            let how = random.choose(&[Misbehaviour::Fail, Misbehaviour::FailMidway]);
            let lasts = part(random, FAILS_FOR);
            faults.push(Fault {
                at: at.saturating_sub(part(random, FAILS_BEFORE)),
                target,
                blow: Blow::Misbehave(how, lasts),
            });
        }
        faults.push(Fault {
            at,
            target: Target::Files,
            blow: Blow::Rewrite(version),
        });
        at += Duration::from_millis(random.between(20_000, 60_000));
    }
    faults
}

/// A third of a time at least.
fn part(random: &mut Random, time: Duration) -> Duration {
    let most = u64::try_from(time.as_millis()).unwrap_or_default();
    Duration::from_millis(random.between(most / 3, most))
}
