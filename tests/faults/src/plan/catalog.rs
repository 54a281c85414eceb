//! Changes of the catalog.

use std::time::Duration;

use super::Size;
use crate::random::Random;

/// Instances that a service may have at most; the places are numbered from 0.
pub(super) const PLACES: u64 = 5;

/// One change of the wanted catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Registers an instance or changes its content.
    Register {
        /// Number of the service.
        service: usize,
        /// Place of the instance.
        place: u64,
        /// The new content of the instance.
        instance: Instance,
    },
    /// Removes an instance, if it exists.
    Deregister {
        /// Number of the service.
        service: usize,
        /// Place of the instance.
        place: u64,
    },
}

/// The registration of an instance, without its identity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instance {
    /// Port.
    pub port: u64,
    /// Tags, sorted.
    pub tags: Vec<String>,
    /// Value of the metadata `version`.
    pub version: String,
}

/// Any instance.
pub(super) fn instance(random: &mut Random) -> Instance {
    let all = ["blue", "canary", "green", "red"];
    let tags = all.into_iter().filter(|_| random.percent(40));
    Instance {
        tags: tags.map(str::to_owned).collect(),
        port: random.between(1024, 60_000),
        version: format!("v{}", random.between(1, 1_000_000)),
    }
}

/// Changes come in bursts: some at once, then nothing for a while.
pub(super) fn in_bursts(
    random: &mut Random,
    size: Size,
    length: Duration,
) -> Vec<(Duration, Change)> {
    let mut changes = Vec::new();
    let mut at = Duration::from_millis(500);
    while at < length {
        for _ in 0..random.between(1, 3) {
            changes.push((at, change(random, size)));
            at += Duration::from_millis(random.between(20, 300));
        }
        at += Duration::from_millis(random.between(300, 4000));
    }
    changes
}

/// So many changes at equal distances.
pub(super) fn in_a_row(
    random: &mut Random,
    size: Size,
    count: usize,
    length: Duration,
) -> Vec<(Duration, Change)> {
    let distance = length / u32::try_from(count.max(1)).unwrap_or(u32::MAX);
    (0..count)
        .scan(Duration::ZERO, |at, _| {
            *at += distance;
            Some((*at, change(random, size)))
        })
        .collect()
}

fn change(random: &mut Random, size: Size) -> Change {
    let service = random.index(size.services);
    let place = random.between(0, PLACES - 1);
    if random.percent(70) {
        Change::Register {
            service,
            place,
            instance: instance(random),
        }
    } else {
        Change::Deregister { service, place }
    }
}
