//! A real Consul, for one test.

mod process;
mod requests;

pub use self::requests::{access_control, access_control_by_default_deny};

use std::time::Duration;

use nix::sys::signal::Signal;
use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use self::process::{Ports, Process, Storage};

/// A port may be taken by another process between choice and use.
const PORT_TRIES: usize = 5;
const STOP_DEADLINE: Duration = Duration::from_secs(20);

/// A Consul agent, server and client in one, on ports of its own. Unless it is durable it keeps nothing
/// on disk: after a restart it is empty and counts its index from the beginning.
///
/// Dropping it kills the process, so none outlives its test.
#[derive(Debug)]
pub struct ConsulAgent {
    client: Client,
    ports: Ports,
    directory: TempDir,
    storage: Storage,
    process: Option<Process>,
}

impl ConsulAgent {
    /// Name of the agent's node.
    pub const NODE: &str = process::NODE;

    /// Starts an agent; it has a leader and knows its own node when this returns.
    pub async fn start() -> Self {
        Self::start_with(json!({})).await
    }

    /// Starts an agent with additional configuration, such as `{"limits": {…}}`.
    pub async fn start_with(configuration: Value) -> Self {
        Self::start_on(Storage::Memory, configuration).await
    }

    /// Starts an agent that keeps its confirmed data over a restart, killed or not: the only server of its
    /// datacenter, with its data on disk.
    pub async fn start_durable() -> Self {
        Self::start_on(Storage::Disk, json!({})).await
    }

    async fn start_on(storage: Storage, configuration: Value) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("cts-consul.")
            .tempdir()
            .unwrap_or_else(|error| panic!("no directory for temporary files: {error}"));
        process::write_configuration(directory.path(), &configuration);
        let client = Client::builder()
            .no_proxy()
            .timeout(Duration::from_secs(30))
            .build()
            .unwrap_or_else(|error| panic!("no HTTP client: {error}"));
        let mut complaint = String::new();
        for _ in 0..PORT_TRIES {
            let ports = Ports::choose();
            match Process::start(directory.path(), &ports, storage, &client).await {
                Ok(process) => {
                    return Self {
                        client,
                        ports,
                        directory,
                        storage,
                        process: Some(process),
                    };
                }
                Err(error) if error.is_port_clash() => complaint = error.to_string(),
                Err(error) => panic!("{error}"),
            }
        }
        panic!("Consul found its ports taken {PORT_TRIES} times: {complaint}");
    }

    /// `host:port` of the HTTP interface.
    pub fn address(&self) -> String {
        self.ports.http_address()
    }

    /// Process id; panics while it is stopped.
    pub fn pid(&self) -> u32 {
        self.running().pid()
    }

    /// Ends it gently and waits for the end.
    pub async fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.end(Signal::SIGTERM, STOP_DEADLINE).await;
        }
    }

    /// Kills it and waits for the end.
    pub async fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.end(Signal::SIGKILL, STOP_DEADLINE).await;
        }
    }

    /// Starts it again on the same ports, without anything that it knew unless it is durable; kills it
    /// first if it runs.
    pub async fn restart(&mut self) {
        self.kill().await;
        let directory = self.directory.path();
        match Process::start(directory, &self.ports, self.storage, &self.client).await {
            Ok(process) => self.process = Some(process),
            Err(error) => panic!("Consul cannot be restarted on its ports: {error}"),
        }
    }

    /// Starts a durable agent again on the same ports with nothing of what it knew, as after the loss of its disk: its
    /// index begins at the beginning. Kills it first if it runs.
    pub async fn restart_empty(&mut self) {
        self.kill().await;
        process::forget_data(self.directory.path());
        self.restart().await;
    }

    /// Freezes the process: connections stay open, nothing is answered. Returns when it stands still.
    pub fn pause(&self) {
        self.running().freeze();
    }

    /// Lets a frozen process go on.
    pub fn resume(&self) {
        self.running().signal(Signal::SIGCONT);
    }

    fn running(&self) -> &Process {
        let process = self.process.as_ref();
        process.unwrap_or_else(|| panic!("this Consul was stopped"))
    }
}
