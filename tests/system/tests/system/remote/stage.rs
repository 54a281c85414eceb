//! A stub of HCP Terraform, Consul, and a configuration that uses both.

use cts_testkit::hcp::{HcpSettings, Phase, RunRecord};
use cts_testkit::{ConsulAgent, HcpServer, eventually};
use cts_tests::{DEADLINE, Instance, RECORDER, RemoteServer, Site, start_stub, task};
use serde_json::{Value, json};

/// The workspace of the task `edge`.
pub(crate) const WORKSPACE: &str = "cts-edge";

pub(crate) struct Stage {
    pub(crate) server: HcpServer,
    pub(crate) consul: ConsulAgent,
    pub(crate) site: Site,
}

impl Stage {
    /// A server with the real Terraform, and a task `edge` that records its services there.
    pub(crate) async fn new() -> Self {
        Self::with(|_settings| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut HcpSettings)) -> Self {
        let site = Site::new();
        let server = start_stub(site.path(), change).await;
        let consul = ConsulAgent::start().await;
        site.write("modules/edge/main.tf", RECORDER);
        let stage = Self {
            server,
            consul,
            site,
        };
        stage.configure("");
        stage
    }

    /// Writes the configuration with this in the driver block.
    pub(crate) fn configure(&self, driver: &str) {
        let edge = task("edge", "./modules/edge", &["web"], "");
        self.configure_tasks(driver, &edge);
    }

    pub(crate) fn configure_tasks(&self, driver: &str, tasks: &str) {
        let driver = self.driver(driver);
        self.site
            .write_configuration(&self.consul.address(), &driver, tasks);
    }

    pub(crate) fn driver(&self, more: &str) -> String {
        RemoteServer::of_stub(&self.server, self.site.path()).driver(more)
    }

    /// Makes the workspace of the task, as one of cts, and registers a service.
    pub(crate) async fn with_workspace(auto_apply: bool) -> Self {
        let stage = Self::new().await;
        let attributes = json!({ "auto-apply": auto_apply, "execution-mode": "remote" });
        stage.server.create_workspace(WORKSPACE, attributes);
        stage.server.tag(WORKSPACE, "source:cts");
        stage.register("web-1").await;
        stage
    }

    pub(crate) async fn register(&self, id: &str) {
        self.consul.register_service("web", id, 1, &[], &[]).await;
    }

    pub(crate) async fn start(&self) -> Instance {
        Instance::start(&self.site).await
    }

    /// Waits until the newest run of the workspace has this status.
    pub(crate) async fn reached(&self, phase: Phase) -> String {
        self.server.reached(WORKSPACE, phase, DEADLINE).await
    }

    pub(crate) fn runs(&self) -> Vec<RunRecord> {
        self.server.runs(WORKSPACE)
    }

    /// Waits until the state of the workspace has exactly the instances with these ids.
    pub(crate) async fn recorded(&self, ids: &[&str]) {
        eventually(DEADLINE, async || {
            let state = self.server.state(WORKSPACE).unwrap_or_default();
            let found = recorded(&state);
            if found == ids {
                Ok(())
            } else {
                Err(format!("{found:?}, not {ids:?}; {:?}", self.runs()))
            }
        })
        .await;
    }
}

/// Waits until the newest run of the task fits, and returns it.
pub(crate) async fn newest_run(cts: &Instance, fits: impl Fn(&Value) -> bool) -> Value {
    eventually(DEADLINE, async || {
        let runs = cts.api.get("/v1/runs?task=edge").await;
        let run = &runs["runs"][0];
        if fits(run) {
            Ok(run.clone())
        } else {
            Err(runs.to_string())
        }
    })
    .await
}

/// Whether the reason of a run's wait begins so.
pub(crate) fn waits_for(run: &Value, reason: &str) -> bool {
    let waits = run["waiting_for"].as_str();
    waits.is_some_and(|waits| waits.starts_with(reason))
}

/// Ids of the instances that a state has recorded.
fn recorded(state: &Value) -> Vec<String> {
    let text = state.to_string();
    match cts_tests::recorded_services(text.as_bytes()) {
        Ok(services) => cts_tests::ids_of(&services),
        Err(_none) => Vec::new(),
    }
}
