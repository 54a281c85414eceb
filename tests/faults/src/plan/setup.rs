//! The system that a plan is carried out on.

use cts_tests::{Backend, Driver, Service};

use super::target::Member;
use crate::random::Random;

/// How cts is put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Several of each service, over Postgres.
    Cluster,
    /// One `cts start`, over SQLite.
    Embedded,
}

/// Which Terraform works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// The real one.
    Real,
    /// An executable of the suite that has the effects of the suite's module, in a few milliseconds.
    StandIn,
}

/// The system that a plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// How cts is put together.
    pub shape: Shape,
    /// Which Terraform works.
    pub engine: Engine,
    /// Where runs happen: on the workers, or on a server whose Terraform is the real one.
    pub driver: Driver,
    /// The backend of Terraform's states: [`Backend::Consul`] or [`Backend::Shared`]. A server keeps them itself.
    pub backend: Backend,
    /// `on_takeover = "all"`.
    pub takeover_runs_all: bool,
    /// The file of the last scheduler is an old one, which must not take effect.
    pub stale_file: bool,
    /// Runs that have ended in the past, of a cluster; they are kept for two minutes.
    pub past: u32,
    /// Clients that follow logs.
    pub followers: usize,
    /// The fleet has a brake, and loses most of its instances now and then.
    pub brake: bool,
}

/// Processes of each kind in a cluster.
pub const MEMBERS: [(Service, usize); 4] = [
    (Service::Watcher, 2),
    (Service::Scheduler, 2),
    (Service::Worker, 3),
    (Service::Gateway, 2),
];

const PAST: u32 = 100_000;
const FOLLOWERS: usize = 8;

impl Setup {
    /// The setup of a seed.
    pub fn new(seed: u64, shape: Shape, engine: Engine) -> Self {
        let mut random = Random::new(seed ^ 0x7365_7475);
        let in_consul = random.percent(50);
        let takeover_runs_all = random.percent(30);
        let stale_file = random.percent(40);
        let brake = random.percent(33);
        let cluster = shape == Shape::Cluster;
        Self {
            shape,
            engine,
            driver: Driver::Terraform,
            backend: if in_consul && engine == Engine::Real {
                Backend::Consul
            } else {
                Backend::Shared
            },
            takeover_runs_all: takeover_runs_all && cluster,
            stale_file: stale_file && cluster,
            past: if cluster { PAST } else { 0 },
            followers: FOLLOWERS,
            brake,
        }
    }

    /// The same system, whose runs happen on a server.
    #[must_use]
    pub fn on_server(self) -> Self {
        Self {
            engine: Engine::Real,
            driver: Driver::TerraformCloud,
            backend: Backend::Shared,
            ..self
        }
    }

    /// Whether runs happen on a server.
    pub fn is_on_server(self) -> bool {
        self.driver == Driver::TerraformCloud
    }

    /// All processes.
    pub fn members(self) -> Vec<Member> {
        match self.shape {
            Shape::Embedded => vec![Member::Whole],
            Shape::Cluster => {
                let kinds = MEMBERS.iter();
                kinds
                    .flat_map(|&(service, count)| {
                        (0..count).map(move |index| Member::Of(service, index))
                    })
                    .collect()
            }
        }
    }

    /// Whether this process has an old file. Such a process is never restarted: a restart while every other
    /// scheduler is away would, correctly, put the file into force.
    pub fn is_stale(self, member: Member) -> bool {
        self.stale_file && member == Member::Of(Service::Scheduler, 1)
    }
}
