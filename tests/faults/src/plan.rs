//! Faults and changes with their times, all chosen by a seed.

mod catalog;
mod faults;
mod files;
mod losses;
mod settings;
mod setup;
mod target;
mod writes;

use std::time::Duration;

pub use self::catalog::{Change, Instance};
pub use self::files::Declaration;
pub(crate) use self::settings::Place;
pub use self::setup::{Engine, MEMBERS, Setup, Shape};
pub use self::target::{
    Blow, Decision, End, Fault, Lock, Member, Misbehaviour, ServerFault, Target, Tasks, Wire,
};
pub use self::writes::{Cancel, Write};
use crate::random::Random;

/// Changes of one round, where they are counted.
const CHANGES_OF_A_ROUND: usize = 500;
/// Between two of them, without and with the real Terraform.
const PACE: Duration = Duration::from_millis(20);
const SLOW_PACE: Duration = Duration::from_millis(160);
const SLOW_CHANGES_OF_A_ROUND: usize = 125;
/// Time between two writes to the API, on average.
const BETWEEN_WRITES: Duration = Duration::from_millis(1500);
const BETWEEN_MANY_WRITES: Duration = Duration::from_millis(500);
/// Writes for each run that is cancelled.
const WRITES_TO_A_CANCEL: u32 = 3;

/// How large the system is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Number of tasks in the configuration.
    pub tasks: usize,
    /// Number of further tasks that the API may create.
    pub spare: usize,
    /// Number of services that they watch.
    pub services: usize,
}

/// How much is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// One round of trouble of this length.
    Time(Duration),
    /// Rounds that each end in quiet, until so many changes of the catalog and the API are confirmed.
    Changes(usize),
}

/// Faults and changes in the order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The seed that the plan was made from.
    pub seed: u64,
    /// How large.
    pub size: Size,
    /// The system to carry it out on.
    pub setup: Setup,
    /// How much.
    pub extent: Extent,
    /// Services that each task of the configuration watches, by number, sorted.
    pub tasks: Vec<Vec<usize>>,
    /// Tasks that are disabled, by number.
    pub disabled: Vec<usize>,
    /// Instances before the begin.
    pub initial: Vec<(usize, u64, Instance)>,
}

/// Events that happen without waiting for quiet, each at its time, counted from the begin of the round.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Round {
    /// How long faults happen.
    pub length: Duration,
    /// Faults.
    pub faults: Vec<Fault>,
    /// Changes of the catalog.
    pub changes: Vec<(Duration, Change)>,
    /// Writes to the API.
    pub writes: Vec<(Duration, Write)>,
    /// Runs to be cancelled.
    pub cancels: Vec<(Duration, Cancel)>,
    /// Releases of the brake of the fleet.
    pub releases: Vec<Duration>,
}

impl Plan {
    /// The plan of a seed.
    pub fn new(seed: u64, size: Size, setup: Setup, extent: Extent) -> Self {
        let mut random = Random::new(seed ^ 0x7461_736b);
        let tasks = (0..size.tasks)
            .map(|number| writes::watched(&mut random, number, size.services))
            .collect();
        let initial = (0..size.services)
            .flat_map(|service| (0..2).map(move |place| (service, place)))
            .map(|(service, place)| (service, place, catalog::instance(&mut random)))
            .collect();
        Self {
            seed,
            size,
            setup,
            extent,
            tasks,
            // One in ten, never the first.
            disabled: (1..size.tasks).filter(|number| number % 10 == 5).collect(),
            initial,
        }
    }

    /// The round of this number, from 0; `None` when `confirmed` changes were enough, or too many rounds have
    /// passed.
    pub fn round(&self, number: usize, confirmed: usize) -> Option<Round> {
        // Sequences of their own, so that a longer round begins like a shorter one.
        let of = |name: u64| Random::new(self.seed ^ name ^ ((number as u64) << 40));
        let (mut of_faults, mut of_changes, mut of_writes) =
            (of(0x6661_756c), of(0x6368_616e), of(0x7772_6974));
        let (length, changes, every) = match self.extent {
            Extent::Time(_) if number > 0 => return None,
            Extent::Time(length) => {
                let changes = catalog::in_bursts(&mut of_changes, self.size, length);
                (length, changes, BETWEEN_WRITES)
            }
            Extent::Changes(all) => {
                let (most, pace) = match self.setup.engine {
                    Engine::StandIn => (CHANGES_OF_A_ROUND, PACE),
                    Engine::Real => (SLOW_CHANGES_OF_A_ROUND, SLOW_PACE),
                };
                if confirmed >= all || number > 2 * all / most + 2 {
                    return None;
                }
                let count = (all - confirmed).min(most);
                let length = pace * u32::try_from(count).unwrap_or(u32::MAX);
                let changes = catalog::in_a_row(&mut of_changes, self.size, count, length);
                (length, changes, BETWEEN_MANY_WRITES)
            }
        };
        let mut round = Round {
            length,
            faults: self.faults(&mut of_faults, of(0x7665_7273), length, number),
            changes,
            writes: writes::writes(&mut of_writes, self.size, length, every),
            cancels: writes::cancels(&mut of(0x6361_6e63), length, every * WRITES_TO_A_CANCEL),
            releases: Vec::new(),
        };
        if self.setup.brake {
            let calms = faults::calms(&round.faults);
            let system = (self.setup, self.size);
            losses::add(&mut of(0x6c6f_7373), system, &calms, &mut round);
        }
        Some(round)
    }

    /// Faults of a round, with changes of the files while runs fail, and of the blocks of the workers.
    fn faults(
        &self,
        random: &mut Random,
        mut of_files: Random,
        length: Duration,
        round: usize,
    ) -> Vec<Fault> {
        let mut faults = faults::faults(random, self.setup, self.size, length);
        let first = (round as u64) << 20;
        let calms = faults::calms(&faults);
        let mut more = Vec::new();
        // The members of a cluster never have the same file if one is never restarted.
        if !self.setup.stale_file {
            let tasks: Vec<usize> = (0..self.size.tasks)
                .filter(|&number| self.is_of_files(number))
                .collect();
            more.extend(files::rewrites(
                &mut of_files,
                &tasks,
                length,
                (first, &calms),
            ));
        }
        if self.setup.changes_blocks() {
            more.extend(settings::changes(&mut of_files, length, (first, &calms)));
        }
        faults.extend(more);
        faults.sort_by_key(|fault| fault.at);
        faults
    }

    /// Number of all tasks that may exist.
    pub const fn all_tasks(&self) -> usize {
        self.size.tasks + self.size.spare
    }

    /// Whether the deletion of a task destroys its resources (`on_delete = "destroy"`).
    pub const fn destroys(number: usize) -> bool {
        number % 2 == 1
    }

    /// Name of a task.
    pub fn task(number: usize) -> String {
        format!("task-{number}")
    }

    /// Name of a service.
    pub fn service(number: usize) -> String {
        format!("svc-{number}")
    }
}

#[cfg(test)]
mod tests;
