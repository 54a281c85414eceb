//! Results of tasks: journals of their modules, and states of Terraform.

use std::path::PathBuf;
use std::process::Stdio;

use cts_tests::Backend;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::Scene;
use super::configuration::OTHER_STATES;
use crate::journal;
use crate::plan::{Place, Plan};

impl Scene {
    /// The journal that the modules of a task wrote.
    pub(crate) fn journal(&self, task: usize) -> String {
        let path = journal::path(self.site.path(), &Plan::task(task));
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// The text that a task has applied, by Terraform's state.
    pub(crate) async fn applied(&self, task: usize) -> Result<String, String> {
        let text = cts_tests::recorded_services(&self.state(task).await?)?;
        text.as_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("recorded {text}"))
    }

    /// Terraform's state of a task, from where it is to be.
    pub(crate) async fn state(&self, task: usize) -> Result<Vec<u8>, String> {
        self.state_in(self.place, task).await
    }

    /// The newest state of a task, wherever it is: nothing moves it when it is not needed any more.
    pub(crate) async fn newest_state(&self, task: usize) -> Result<Vec<u8>, String> {
        let first = self.state_in(Place::First, task).await;
        let other = self.state_in(Place::Other, task).await;
        let serial = |state: &Vec<u8>| {
            let state: serde_json::Value = serde_json::from_slice(state).ok()?;
            state["serial"].as_u64()
        };
        match (first, other) {
            (Ok(first), Ok(other)) if serial(&first) >= serial(&other) => Ok(first),
            (_, Ok(other)) => Ok(other),
            (first, Err(_)) => first,
        }
    }

    async fn state_in(&self, place: Place, task: usize) -> Result<Vec<u8>, String> {
        let name = Plan::task(task);
        if let Some(server) = &self.outside.server {
            return server.state(&name);
        }
        let read = |path: PathBuf| std::fs::read(path).map_err(|error| error.to_string());
        if place == Place::Other {
            let states = self.site.path().join(OTHER_STATES);
            return read(states.join(name).join("terraform.tfstate"));
        }
        if self.backend == Backend::Consul {
            let key = format!("consul-terraform-sync/terraform-env:{name}");
            let wanted = self.outside.wanted.lock().await;
            return unpacked(wanted.key(&key).await?).await;
        }
        read(self.site.state_path(&name))
    }
}

/// Undoes the compression that cts asks Terraform for.
async fn unpacked(packed: Vec<u8>) -> Result<Vec<u8>, String> {
    let mut gzip = Command::new("gzip");
    gzip.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut gzip = gzip.spawn().map_err(|error| format!("gzip: {error}"))?;
    let mut input = gzip.stdin.take().unwrap();
    // At the same time: neither may wait for a pipe that is full.
    let (written, output) = tokio::join!(
        async move { input.write_all(&packed).await },
        gzip.wait_with_output()
    );
    written.map_err(|error| error.to_string())?;
    output
        .map(|output| output.stdout)
        .map_err(|error| error.to_string())
}
