//! The view that a test has of a server.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::caller::Caller;
use super::faults::path_matches;
use super::model::StageName;
use super::{HcpRequest, HcpServer, Phase, upload};
use crate::eventually::eventually;

/// A run as the server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// Identifier.
    pub id: String,
    /// Configuration version.
    pub configuration: String,
    /// Status.
    pub phase: Phase,
    /// Message.
    pub message: String,
    /// Whether it only plans.
    pub plan_only: bool,
    /// Whether it waits for a confirmation.
    pub confirmable: bool,
    /// Names and texts of its own variables.
    pub variables: Vec<(String, String)>,
}

/// A variable of a workspace, with the value even of a sensitive one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableRecord {
    /// Identifier.
    pub id: String,
    /// Name.
    pub key: String,
    /// Value.
    pub value: String,
    /// Description.
    pub description: String,
    /// For the environment instead of Terraform.
    pub environment: bool,
    /// The value is in the language of Terraform.
    pub hcl: bool,
    /// Hidden from clients.
    pub sensitive: bool,
}

impl HcpServer {
    /// All requests so far.
    pub fn requests(&self) -> Vec<HcpRequest> {
        self.shared.requests.lock().clone()
    }

    /// Number of requests with this method and a path like this ([`Fault::status`](super::Fault::status)).
    pub fn count(&self, method: &str, path: &str) -> usize {
        let requests = self.shared.requests.lock();
        let matching = requests.iter().filter(|request| {
            (method == "*" || request.method == method) && path_matches(path, &request.path)
        });
        matching.count()
    }

    /// Forgets all requests so far.
    pub fn forget_requests(&self) {
        self.shared.requests.lock().clear();
    }

    /// Names of all workspaces.
    pub fn workspaces(&self) -> Vec<String> {
        self.shared.read(|model| {
            let workspaces = model.workspaces.iter();
            workspaces
                .map(|workspace| workspace.name().to_owned())
                .collect()
        })
    }

    /// The document of a workspace, null if it does not exist.
    pub fn workspace(&self, name: &str) -> Value {
        self.shared.read(|model| {
            let workspace = model.workspace_named(name);
            workspace
                .map(|known| known.document(model, &Caller::person()))
                .unwrap_or_default()
        })
    }

    /// Variables of a workspace.
    pub fn variables(&self, workspace: &str) -> Vec<VariableRecord> {
        self.shared.read(|model| {
            let variables = model
                .workspace_named(workspace)
                .map(|known| &known.variables);
            let record = |variable: &super::model::Variable| VariableRecord {
                id: variable.id.clone(),
                key: variable.key.clone(),
                value: variable.value.clone(),
                description: variable.description.clone(),
                environment: variable.environment,
                hcl: variable.hcl,
                sensitive: variable.sensitive,
            };
            variables.into_iter().flatten().map(record).collect()
        })
    }

    /// Runs of a workspace, the oldest first.
    pub fn runs(&self, workspace: &str) -> Vec<RunRecord> {
        self.shared.read(|model| {
            let Some(workspace) = model.workspace_named(workspace) else {
                return Vec::new();
            };
            let runs = model
                .runs
                .iter()
                .filter(|run| run.workspace == workspace.id);
            let record = |run: &super::model::Run| RunRecord {
                id: run.id.clone(),
                configuration: run.configuration.clone(),
                phase: run.status,
                message: run.message.clone(),
                plan_only: run.plan_only,
                confirmable: run.confirmable,
                variables: run.variables.clone(),
            };
            runs.map(record).collect()
        })
    }

    /// Waits until the newest run of a workspace has this status, and returns its identifier. Panics after the deadline.
    pub async fn reached(&self, workspace: &str, phase: Phase, deadline: Duration) -> String {
        eventually(deadline, async || match self.runs(workspace).pop() {
            Some(run) if run.phase == phase => Ok(run.id),
            other => Err(format!("{other:?}")),
        })
        .await
    }

    /// Waits until the newest run of a workspace waits for a confirmation, and returns its identifier. Panics after the
    /// deadline.
    pub async fn confirmable(&self, workspace: &str, deadline: Duration) -> String {
        eventually(deadline, async || match self.runs(workspace).pop() {
            Some(run) if run.confirmable => Ok(run.id),
            other => Err(format!("{other:?}")),
        })
        .await
    }

    /// Log of a run's plan, without its marks.
    pub fn plan_log(&self, run: &str) -> String {
        self.log(run, StageName::Plan)
    }

    /// Log of a run's apply, without its marks.
    pub fn apply_log(&self, run: &str) -> String {
        self.log(run, StageName::Apply)
    }

    fn log(&self, run: &str, name: StageName) -> String {
        let run = self.shared.read(|model| model.run(run).cloned());
        let log = run.map(|mut run| std::mem::take(&mut run.stage(name).log));
        let log = String::from_utf8_lossy(&log.unwrap_or_default()).into_owned();
        log.trim_matches(['\u{2}', '\u{3}']).to_owned()
    }

    /// The current state of a workspace.
    pub fn state(&self, workspace: &str) -> Option<Value> {
        self.shared.read(|model| {
            let workspace = model.workspace_named(workspace)?;
            let state = model.current_state(&workspace.id)?;
            serde_json::from_slice(&state.content).ok()
        })
    }

    /// Identifiers of a workspace's configuration versions, the oldest first.
    pub fn configurations(&self, workspace: &str) -> Vec<String> {
        self.shared.read(|model| {
            let Some(workspace) = model.workspace_named(workspace) else {
                return Vec::new();
            };
            let known = model.configurations.iter();
            let known = known.filter(|known| known.workspace == workspace.id);
            known.map(|known| known.id.clone()).collect()
        })
    }

    /// Whether only runs that plan may use a configuration version.
    pub fn is_speculative(&self, configuration: &str) -> bool {
        self.shared.read(|model| {
            let known = model.configuration(configuration);
            known.is_some_and(|known| known.speculative)
        })
    }

    /// Names and contents of the files of a configuration version.
    pub fn configuration_files(&self, id: &str) -> BTreeMap<String, String> {
        let content = self
            .shared
            .read(|model| Some(model.configuration(id)?.content.clone()));
        upload::files(&content.unwrap_or_default())
    }
}
