//! Backend and provider blocks of the workers, which change worker by worker.

use std::time::Duration;

use super::faults::overlapping;
use super::setup::Engine;
use super::target::{Blow, Fault, Target};
use super::{Plan, Setup};
use crate::random::Random;

/// Time to restart all workers, each of which may take its drain timeout.
const ROLL: Duration = Duration::from_mins(1);

/// The place of states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The place that [`Setup::backend`] names.
    First,
    /// A different directory.
    Other,
}

impl Place {
    /// The place of a version of the blocks.
    pub(crate) const fn of(version: u64) -> Self {
        if version.is_multiple_of(2) {
            Self::First
        } else {
            Self::Other
        }
    }
}

impl Plan {
    /// Whether a task has the provider whose block changes.
    pub fn has_provider(&self, number: usize) -> bool {
        self.setup.changes_blocks() && number.is_multiple_of(4)
    }

    /// Index of the spelling of a version's place. A place is never written twice in the same spelling: blocks
    /// that were in force before are in force again only after minutes.
    pub fn spelling(version: u64) -> usize {
        let (round, in_round) = (version >> 20, version & 0xf_ffff);
        usize::try_from(in_round / 2 + round).unwrap_or_default()
    }
}

impl Setup {
    /// Whether the blocks of the workers change. The stand-in supports one place only, and a server keeps
    /// states in one place.
    pub fn changes_blocks(self) -> bool {
        self.engine == Engine::Real && !self.is_on_server()
    }
}

/// Versions of the blocks from `first` + 1 on.
pub(super) fn changes(
    random: &mut Random,
    length: Duration,
    (first, calms): (u64, &[[Duration; 2]]),
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut version = first;
    let mut at = Duration::from_millis(random.between(5000, 40_000));
    while at < length {
        if let Some(until) = overlapping(calms, at, at + ROLL) {
            at = until;
            continue;
        }
        version += 1;
        faults.push(Fault {
            at,
            target: Target::Blocks,
            blow: Blow::ChangeBlocks(version),
        });
        at += Duration::from_millis(random.between(90_000, 180_000));
    }
    faults
}
