//! What is done to the system and when, all of it chosen by a seed.

use std::fmt;
use std::time::Duration;

use cts_tests::Service;

use crate::random::Random;

/// How large the system and how long the trouble is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Number of tasks.
    pub tasks: usize,
    /// Number of services that they watch.
    pub services: usize,
    /// How long faults happen.
    pub length: Duration,
}

/// Processes of each kind.
pub const MEMBERS: [(Service, usize); 4] = [
    (Service::Watcher, 2),
    (Service::Scheduler, 2),
    (Service::Worker, 3),
    (Service::Gateway, 2),
];

/// Instances that a service may have at most; the places are numbered from 0.
const PLACES: u64 = 5;

/// What a fault befalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A process of cts by its index.
    Member(Service, usize),
    /// The guard process of a worker.
    Guard(usize),
    /// The database.
    Postgres,
    /// The catalog.
    Consul,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(service, index) => write!(f, "{service}-{index}"),
            Self::Guard(index) => write!(f, "guard-{index}"),
            Self::Postgres => f.write_str("postgres"),
            Self::Consul => f.write_str("consul"),
        }
    }
}

/// What is done to it. The time is that until it is started again, or goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// SIGKILL.
    Kill(Duration),
    /// SIGSTOP, then SIGCONT.
    Pause(Duration),
    /// SIGTERM.
    Terminate(Duration),
}

impl Blow {
    /// Its name in figures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kill(_) => "kill",
            Self::Pause(_) => "pause",
            Self::Terminate(_) => "terminate",
        }
    }

    /// How long it lasts.
    pub const fn lasts(self) -> Duration {
        match self {
            Self::Kill(time) | Self::Pause(time) | Self::Terminate(time) => time,
        }
    }
}

/// One fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Counted from the begin of the trouble.
    pub at: Duration,
    /// What it befalls.
    pub target: Target,
    /// What is done.
    pub blow: Blow,
}

/// One change of what is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Registers an instance or changes what it is.
    Register {
        /// Number of the service.
        service: usize,
        /// Place of the instance.
        place: u64,
        /// What it is from now on.
        instance: Instance,
    },
    /// Removes an instance, if there is one.
    Deregister {
        /// Number of the service.
        service: usize,
        /// Place of the instance.
        place: u64,
    },
}

/// What is registered of an instance besides its identity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instance {
    /// Port.
    pub port: u64,
    /// Tags, sorted.
    pub tags: Vec<String>,
    /// Value of the metadata `version`.
    pub version: String,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What it was made of.
    pub seed: u64,
    /// How large.
    pub size: Size,
    /// Services that each task watches, by number, sorted.
    pub tasks: Vec<Vec<usize>>,
    /// Tasks that are disabled, by number.
    pub disabled: Vec<usize>,
    /// Instances before the begin.
    pub initial: Vec<(usize, u64, Instance)>,
    /// Faults, by time.
    pub faults: Vec<Fault>,
    /// Changes, by time.
    pub changes: Vec<(Duration, Change)>,
}

impl Plan {
    /// The plan of a seed.
    pub fn new(seed: u64, size: Size) -> Self {
        // Sequences of their own, so that a longer plan begins like a shorter one.
        let mut of_tasks = Random::new(seed ^ 0x7461_736b);
        let mut of_faults = Random::new(seed ^ 0x6661_756c);
        let mut of_changes = Random::new(seed ^ 0x6368_616e);
        let tasks = (0..size.tasks)
            .map(|_| watched(&mut of_tasks, size.services))
            .collect();
        let initial = (0..size.services)
            .flat_map(|service| (0..2).map(move |place| (service, place)))
            .map(|(service, place)| (service, place, instance(&mut of_tasks)))
            .collect();
        Self {
            seed,
            size,
            tasks,
            // One in ten, never the first.
            disabled: (1..size.tasks).filter(|number| number % 10 == 5).collect(),
            initial,
            faults: faults(&mut of_faults, size.length),
            changes: changes(&mut of_changes, size),
        }
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

fn watched(random: &mut Random, services: usize) -> Vec<usize> {
    let count = random.between(1, 3);
    let mut watched: Vec<usize> = (0..count)
        .map(|_| usize::try_from(random.next()).unwrap_or_default() % services)
        .collect();
    watched.sort_unstable();
    watched.dedup();
    watched
}

fn instance(random: &mut Random) -> Instance {
    let all = ["blue", "canary", "green", "red"];
    let tags = all.into_iter().filter(|_| random.percent(40));
    Instance {
        tags: tags.map(str::to_owned).collect(),
        port: random.between(1024, 60_000),
        version: format!("v{}", random.between(1, 1_000_000)),
    }
}

/// One fault after the other with a pause between, and now and then two at once.
fn faults(random: &mut Random, length: Duration) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut at = Duration::from_millis(random.between(500, 2000));
    while at < length {
        let first = target(random);
        let blow = blow(random, first);
        faults.push(Fault {
            at,
            target: first,
            blow,
        });
        let mut over = at + blow.lasts();
        if random.percent(30) {
            let second = target(random);
            let blow = self::blow(random, second);
            if second != first {
                let later = at + Duration::from_millis(random.between(0, 1500));
                over = over.max(later + blow.lasts());
                faults.push(Fault {
                    at: later,
                    target: second,
                    blow,
                });
            }
        }
        at = over + Duration::from_millis(random.between(500, 5000));
    }
    faults.sort_by_key(|fault| fault.at);
    faults
}

fn target(random: &mut Random) -> Target {
    match random.between(1, 100) {
        1..=14 => Target::Postgres,
        15..=24 => Target::Consul,
        25..=29 => Target::Guard(index(random, 3)),
        30..=39 => Target::Member(Service::Watcher, index(random, 2)),
        40..=64 => Target::Member(Service::Scheduler, index(random, 2)),
        65..=92 => Target::Member(Service::Worker, index(random, 3)),
        _ => Target::Member(Service::Gateway, index(random, 2)),
    }
}

fn index(random: &mut Random, count: u64) -> usize {
    usize::try_from(random.between(0, count - 1)).unwrap_or_default()
}

/// A process stands still for longer than its lease or leadership lasts, most of the time.
fn blow(random: &mut Random, target: Target) -> Blow {
    let mut millis = |low, high| Duration::from_millis(random.between(low, high));
    let down = millis(100, 3000);
    let pause = match target {
        Target::Member(Service::Worker, _) => millis(4000, 11_000),
        Target::Member(Service::Scheduler, _) => millis(2000, 8000),
        _ => millis(1000, 7000),
    };
    match (target, random.between(1, 10)) {
        // Whoever looks after it starts another at once.
        (Target::Guard(_), _) => Blow::Kill(Duration::ZERO),
        (_, 1..=4) => Blow::Kill(down),
        (_, 5..=7) => Blow::Pause(pause),
        _ => Blow::Terminate(down),
    }
}

/// Changes come in bursts: some at once, then nothing for a while.
fn changes(random: &mut Random, size: Size) -> Vec<(Duration, Change)> {
    let mut changes = Vec::new();
    let mut at = Duration::from_millis(500);
    while at < size.length {
        for _ in 0..random.between(1, 3) {
            changes.push((at, change(random, size)));
            at += Duration::from_millis(random.between(20, 300));
        }
        at += Duration::from_millis(random.between(300, 4000));
    }
    changes
}

fn change(random: &mut Random, size: Size) -> Change {
    let service = index(random, size.services as u64);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn size(seconds: u64) -> Size {
        Size {
            tasks: 50,
            services: 15,
            length: Duration::from_secs(seconds),
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_plan_and_another_seed_another() {
        let plan = Plan::new(7, size(300));
        assert_eq!(plan, Plan::new(7, size(300)));
        assert_ne!(plan.faults, Plan::new(8, size(300)).faults);
        assert_ne!(plan.changes, Plan::new(8, size(300)).changes);
    }

    #[test]
    fn a_long_plan_has_every_kind_of_fault_and_change() {
        let plan = Plan::new(1, size(3600));
        for (service, count) in MEMBERS {
            for index in 0..count {
                for name in ["kill", "pause", "terminate"] {
                    let befalls = |fault: &&Fault| {
                        fault.target == Target::Member(service, index) && fault.blow.name() == name
                    };
                    assert!(
                        plan.faults.iter().any(|fault| befalls(&fault)),
                        "{service} {index} {name}"
                    );
                }
            }
        }
        for target in [Target::Postgres, Target::Consul, Target::Guard(0)] {
            assert!(
                plan.faults.iter().any(|fault| fault.target == target),
                "{target}"
            );
        }
        let registers = |(_, change): &(_, Change)| matches!(change, Change::Register { .. });
        assert!(plan.changes.iter().any(registers) && !plan.changes.iter().all(registers));
        assert!(
            plan.faults
                .iter()
                .any(|fault| fault.blow.lasts() > Duration::from_secs(8))
        );
        assert!(plan.faults.iter().all(|fault| fault.at < size(3602).length));
    }

    #[test]
    fn every_task_watches_one_to_three_services() {
        let plan = Plan::new(3, size(10));
        assert!(
            plan.tasks
                .iter()
                .all(|watched| (1..=3).contains(&watched.len()))
        );
        assert!(plan.tasks.iter().flatten().all(|&service| service < 15));
    }
}
