//! The parts of a cluster under test.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use cts_rpc::ClientTls;

/// Kind of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// `cts watcher`.
    Watcher,
    /// `cts scheduler`.
    Scheduler,
    /// `cts worker`.
    Worker,
    /// `cts gateway`.
    Gateway,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Watcher, Self::Scheduler, Self::Worker, Self::Gateway];

    /// The command.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Watcher => "watcher",
            Self::Scheduler => "scheduler",
            Self::Worker => "worker",
            Self::Gateway => "gateway",
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How many processes, and their settings.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Number of watchers.
    pub watchers: usize,
    /// Number of schedulers.
    pub schedulers: usize,
    /// Number of workers.
    pub workers: usize,
    /// Number of gateways.
    pub gateways: usize,
    /// Life of the leadership.
    pub session_ttl: Duration,
    /// Life of a run's lease.
    pub lease_ttl: Duration,
    /// Runs that one worker works on at a time.
    pub slots: usize,
    /// Kind of storage in the `high_availability` block; `None` for no such block, and then the life of the
    /// leadership is the default.
    pub storage: Option<&'static str>,
    /// Address of a migrated database; `None` for the one of the site.
    pub database: Option<String>,
    /// Configuration files of all, or of one kind; relative to the site. By default `cts.hcl` of all. `{name}` in
    /// a name stands for that of the process, as in `scheduler-1`.
    pub files: Vec<(Option<Service>, String)>,
    /// Name of the file with the addresses of the services, and of that with the database; likewise. Files of
    /// other names than the usual ones are written by the test before it starts processes.
    pub addresses: [String; 2],
    /// The tasks that a new leader runs (`on_takeover`), `None` for the default.
    pub on_takeover: Option<&'static str>,
    /// Parent of the workers' directories; `None` for the site.
    pub workers_below: Option<PathBuf>,
    /// How tests talk to the processes; `None` for plain text.
    pub tls: Option<ClientTls>,
}

impl Default for Plan {
    /// One process of each kind, with short times.
    fn default() -> Self {
        Self {
            watchers: 1,
            schedulers: 1,
            workers: 1,
            gateways: 1,
            session_ttl: Duration::from_secs(2),
            lease_ttl: Duration::from_secs(6),
            slots: 4,
            storage: Some("postgres"),
            database: None,
            files: vec![(None, "cts.hcl".to_owned())],
            addresses: ["services.hcl".to_owned(), "database.hcl".to_owned()],
            on_takeover: None,
            workers_below: None,
            tls: None,
        }
    }
}

impl Plan {
    /// So many watchers, schedulers, workers and gateways.
    #[must_use]
    pub fn of(watchers: usize, schedulers: usize, workers: usize, gateways: usize) -> Self {
        Self {
            watchers,
            schedulers,
            workers,
            gateways,
            ..Self::default()
        }
    }

    /// Number of processes of a kind.
    pub const fn count(&self, service: Service) -> usize {
        match service {
            Service::Watcher => self.watchers,
            Service::Scheduler => self.schedulers,
            Service::Worker => self.workers,
            Service::Gateway => self.gateways,
        }
    }

    /// Adds a configuration file of all, or of one kind.
    #[must_use]
    pub fn with_file(mut self, service: Option<Service>, file: &str) -> Self {
        self.files.push((service, file.to_owned()));
        self
    }
}
