//! The shape of separate processes over Postgres: its part of the configuration, and the processes.

use std::time::Duration;

use cts_testkit::free_port;

use crate::process::Launch;
use crate::site::{CONFIGURATION, Site, TASK_DIRECTORIES};

/// Settings that may differ from scenario to scenario.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClusterSettings {
    pub(crate) schedulers: usize,
    /// Slots of one worker; its default if absent.
    pub(crate) slots: Option<u32>,
    pub(crate) lease_ttl: Duration,
    pub(crate) session_ttl: Duration,
    /// Time after which an ended run is pruned; the default if absent.
    pub(crate) runs_kept_for: Option<Duration>,
}

impl Default for ClusterSettings {
    fn default() -> Self {
        Self {
            schedulers: 1,
            slots: None,
            lease_ttl: Duration::from_secs(30),
            session_ttl: Duration::from_secs(15),
            runs_kept_for: None,
        }
    }
}

/// All of it on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    settings: ClusterSettings,
    database: String,
    watcher: String,
    schedulers: Vec<String>,
}

impl Cluster {
    /// A cluster with new ports, over the database at a URL.
    pub(crate) fn new(settings: ClusterSettings, database: String) -> Self {
        Self {
            settings,
            database,
            watcher: new_address(),
            schedulers: (0..settings.schedulers).map(|_| new_address()).collect(),
        }
    }

    /// Address of the database.
    pub(crate) fn database(&self) -> &str {
        &self.database
    }

    pub(crate) fn watcher_address(&self) -> &str {
        &self.watcher
    }

    /// Life of the leadership.
    pub(crate) const fn session_ttl(&self) -> Duration {
        self.settings.session_ttl
    }

    /// Address of scheduler number `index`.
    pub(crate) fn scheduler_address(&self, index: usize) -> &str {
        &self.schedulers[index]
    }

    /// The blocks of the configuration that the embedded shape does not have.
    pub(crate) fn blocks(&self) -> String {
        let ClusterSettings {
            slots,
            lease_ttl,
            session_ttl,
            runs_kept_for,
            ..
        } = self.settings;
        let kept_for = runs_kept_for.map_or_else(String::new, |age| {
            format!("\n  runs_kept_for = \"{}s\"", age.as_secs())
        });
        let slots = slots.map_or_else(String::new, |slots| format!("\n  slots = {slots}"));
        format!(
            r#"
database {{
  url = "{}"
}}

services {{
  watchers   = ["{}"]
  schedulers = {:?}
}}

scheduler {{
  lease_ttl   = "{}ms"
  on_takeover = "changed"{kept_for}
}}

worker {{
  working_dir = "{TASK_DIRECTORIES}"{slots}
}}

high_availability {{
  cluster {{
    name = "bench"
    storage "postgres" {{
      session_ttl = "{}ms"
    }}
  }}
}}
"#,
            self.database,
            self.watcher,
            self.schedulers,
            lease_ttl.as_millis(),
            session_ttl.as_millis(),
        )
    }

    pub(crate) fn migrate() -> Launch {
        launch("migrate", &["migrate"])
    }

    pub(crate) fn watcher(&self) -> Launch {
        launch("watcher", &["watcher", "-grpc-address", &self.watcher])
    }

    /// Scheduler number `index`, whose instance id is its name.
    pub(crate) fn scheduler(&self, site: &Site, index: usize) -> std::io::Result<Launch> {
        let name = scheduler_name(index);
        let file = format!("{name}.hcl");
        std::fs::write(site.path().join(&file), format!("id = \"{name}\"\n"))?;
        let address = self.scheduler_address(index);
        let arguments = ["scheduler", "-config-file", &file, "-grpc-address", address];
        Ok(launch(&name, &arguments))
    }

    /// The worker that has the usual task directories.
    pub(crate) fn worker() -> Launch {
        launch("worker", &["worker", "-grpc-address", &new_address()])
    }

    /// A further worker, with a directory of its own.
    pub(crate) fn further_worker(name: &str) -> Launch {
        let address = new_address();
        let arguments = ["worker", "-working-dir", name, "-grpc-address", &address];
        launch(name, &arguments)
    }

    pub(crate) fn gateway() -> Launch {
        Self::gateway_at(&new_address())
    }

    /// A gateway whose health is served at `address`.
    pub(crate) fn gateway_at(address: &str) -> Launch {
        let arguments = [
            "gateway",
            "-bind-address",
            "127.0.0.1",
            "-grpc-address",
            address,
        ];
        launch("gateway", &arguments)
    }
}

pub(crate) fn scheduler_name(index: usize) -> String {
    format!("scheduler-{index}")
}

/// An address of this machine with a free port.
pub(crate) fn new_address() -> String {
    format!("127.0.0.1:{}", free_port())
}

fn launch(name: &str, arguments: &[&str]) -> Launch {
    let configured = ["-config-file", CONFIGURATION];
    let arguments: Vec<&str> = arguments.iter().copied().chain(configured).collect();
    Launch::new(name, &arguments)
}
