//! Runs: created, read, listed for adoption, and acted on.

use std::collections::BTreeMap;

use reqwest::Method;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::document::{Linkage, Resource, document, id_of, relation};
use crate::error::ApiError;
use crate::pages::LARGEST_PAGE;
use crate::run_phase::RunPhase;
use crate::run_status::RunStatus;
use crate::server::Server;

/// A run, as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Resource<Attributes, Relationships>")]
pub struct Run {
    /// Id, `run-…`.
    pub id: String,
    /// Status.
    pub status: RunStatus,
    /// Message of its creator.
    pub message: String,
    /// Whether it only plans.
    pub is_plan_only: bool,
    /// Whether it destroys all resources.
    pub is_destroy: bool,
    /// Whether its plan is applied without confirmation.
    pub auto_apply: bool,
    /// Whether the plan has changes; `None` before the plan.
    pub has_changes: Option<bool>,
    /// Possible actions.
    pub actions: RunActions,
    /// Rights of the token.
    pub permissions: RunPermissions,
    /// Time from which it may be cancelled by force, after it was cancelled.
    pub force_cancel_available_at: Option<String>,
    /// Time of its creation.
    pub created_at: Option<String>,
    /// Times by names such as `planned-at`.
    pub status_timestamps: BTreeMap<String, String>,
    /// Id of its workspace.
    pub workspace_id: Option<String>,
    /// Id of its configuration version.
    pub configuration_version_id: Option<String>,
    /// Id of its plan.
    pub plan_id: Option<String>,
    /// Id of its apply.
    pub apply_id: Option<String>,
}

/// Actions that the state of a run allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct RunActions {
    /// Whether it can be cancelled.
    pub is_cancelable: bool,
    /// Whether its plan can be confirmed.
    pub is_confirmable: bool,
    /// Whether it can be discarded.
    pub is_discardable: bool,
    /// Whether it can be cancelled by force.
    pub is_force_cancelable: bool,
}

/// Rights of the token on a run; `None` where the server does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct RunPermissions {
    /// Whether the token may confirm.
    pub can_apply: Option<bool>,
    /// Whether the token may cancel.
    pub can_cancel: Option<bool>,
    /// Whether the token may discard.
    pub can_discard: Option<bool>,
    /// Whether the token may cancel by force.
    pub can_force_cancel: Option<bool>,
    /// Whether the token may override failed policies.
    pub can_override_policy_check: Option<bool>,
}

/// A run to create.
#[derive(Debug, Clone)]
pub struct NewRun<'a> {
    /// Workspace.
    pub workspace_id: &'a str,
    /// Configuration version. Without it the server would take the newest one.
    pub configuration_version_id: &'a str,
    /// Message, by which [`Server::run_with_message`] finds the run.
    pub message: &'a str,
    /// Whether it only plans.
    pub is_plan_only: bool,
    /// Whether it destroys all resources.
    pub is_destroy: bool,
    /// Whether the plan is applied without confirmation; `None` leaves that to the workspace.
    pub auto_apply: Option<bool>,
    /// Values for this run, which win over those of the workspace.
    pub variables: &'a [RunVariable],
}

/// A value for one run.
#[derive(Debug, Clone)]
pub struct RunVariable {
    /// Name of the variable.
    pub key: String,
    /// HCL literal; a string has its quotes.
    pub value: SecretString,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Attributes {
    status: RunStatus,
    message: Option<String>,
    plan_only: Option<bool>,
    is_destroy: Option<bool>,
    auto_apply: Option<bool>,
    has_changes: Option<bool>,
    actions: Option<RunActions>,
    permissions: Option<RunPermissions>,
    force_cancel_available_at: Option<String>,
    created_at: Option<String>,
    status_timestamps: Option<BTreeMap<String, Option<String>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Relationships {
    workspace: Option<Linkage>,
    configuration_version: Option<Linkage>,
    plan: Option<Linkage>,
    apply: Option<Linkage>,
}

impl From<Resource<Attributes, Relationships>> for Run {
    fn from(resource: Resource<Attributes, Relationships>) -> Self {
        let run = resource.attributes;
        let times = run.status_timestamps.unwrap_or_default().into_iter();
        let (workspace, configuration_version, plan, apply) =
            resource
                .relationships
                .map_or((None, None, None, None), |relations| {
                    (
                        relations.workspace,
                        relations.configuration_version,
                        relations.plan,
                        relations.apply,
                    )
                });
        Self {
            id: resource.id,
            status: run.status,
            message: run.message.unwrap_or_default(),
            is_plan_only: run.plan_only.unwrap_or_default(),
            is_destroy: run.is_destroy.unwrap_or_default(),
            auto_apply: run.auto_apply.unwrap_or_default(),
            has_changes: run.has_changes,
            actions: run.actions.unwrap_or_default(),
            permissions: run.permissions.unwrap_or_default(),
            force_cancel_available_at: run.force_cancel_available_at,
            created_at: run.created_at,
            status_timestamps: times
                .filter_map(|(name, time)| Some((name, time?)))
                .collect(),
            workspace_id: id_of(workspace),
            configuration_version_id: id_of(configuration_version),
            plan_id: id_of(plan),
            apply_id: id_of(apply),
        }
    }
}

impl Run {
    /// Where the run is on its way.
    pub const fn phase(&self) -> RunPhase {
        self.status.phase(self.actions.is_confirmable)
    }
}

impl NewRun<'_> {
    fn document(&self) -> Value {
        let variables = self.variables.iter();
        let variables: Vec<_> = variables
            .map(|variable| {
                let value = variable.value.expose_secret();
                json!({ "key": variable.key, "value": value })
            })
            .collect();
        let mut attributes = json!({
            "message": self.message,
            "plan-only": self.is_plan_only,
            "is-destroy": self.is_destroy,
        });
        if let Some(auto_apply) = self.auto_apply {
            attributes["auto-apply"] = json!(auto_apply);
        }
        if !variables.is_empty() {
            attributes["variables"] = json!(variables);
        }
        let mut document = document("runs", attributes);
        document["data"]["relationships"] = json!({
            "workspace": relation("workspaces", self.workspace_id),
            "configuration-version":
                relation("configuration-versions", self.configuration_version_id),
        });
        document
    }
}

impl Server {
    /// Creates a run. After [`ApiError::OutcomeUnknown`], [`Server::run_with_message`] shows whether it exists.
    pub async fn create_run(&self, run: &NewRun<'_>) -> Result<Run, ApiError> {
        self.create(&["runs"], &run.document()).await
    }

    /// Reads a run.
    pub async fn run(&self, id: &str) -> Result<Run, ApiError> {
        self.get(&["runs", id]).await
    }

    /// Lists the newest runs of a workspace, newest first, at most 100. Servers allow 30 such requests a
    /// *minute*: not for following a run.
    pub async fn newest_runs(&self, workspace_id: &str, count: u32) -> Result<Vec<Run>, ApiError> {
        let path = ["workspaces", workspace_id, "runs"];
        let (runs, _next) = self.page(&path, &[], 1, count).await?;
        Ok(runs)
    }

    /// Finds the newest run of a workspace whose message contains `part`, such as a unique id: among the newest
    /// 100 runs, then by the search of servers that have one. Two such requests count as in
    /// [`Server::newest_runs`]. A run that was created a moment ago may not be listed yet.
    pub async fn run_with_message(
        &self,
        workspace_id: &str,
        part: &str,
    ) -> Result<Option<Run>, ApiError> {
        let path = ["workspaces", workspace_id, "runs"];
        let has_part = |run: &Run| run.message.contains(part);
        let (runs, next) = self.page::<Run>(&path, &[], 1, LARGEST_PAGE).await?;
        let found = runs.into_iter().find(has_part);
        if found.is_some() || next.is_none() {
            return Ok(found);
        }
        let search = [("search[basic]", part)];
        let (runs, _next) = self.page::<Run>(&path, &search, 1, LARGEST_PAGE).await?;
        Ok(runs.into_iter().find(has_part))
    }

    /// Confirms the plan of a run.
    pub async fn apply_run(&self, id: &str, comment: &str) -> Result<(), ApiError> {
        self.act(id, "apply", comment).await
    }

    /// Discards a run that waits.
    pub async fn discard_run(&self, id: &str, comment: &str) -> Result<(), ApiError> {
        self.act(id, "discard", comment).await
    }

    /// Cancels a run: its Terraform stops gently.
    pub async fn cancel_run(&self, id: &str, comment: &str) -> Result<(), ApiError> {
        self.act(id, "cancel", comment).await
    }

    /// Ends a run at once that was cancelled some time ago. Its resources may not be in its state.
    pub async fn force_cancel_run(&self, id: &str, comment: &str) -> Result<(), ApiError> {
        self.act(id, "force-cancel", comment).await
    }

    /// A refusal is [`ApiError::Conflict`]. One server answers with status 500 instead, which is
    /// [`ApiError::OutcomeUnknown`]: the run shows what happened.
    async fn act(&self, id: &str, action: &str, comment: &str) -> Result<(), ApiError> {
        let request = self.request(Method::POST, &["runs", id, "actions", action])?;
        self.order(request.with(&json!({ "comment": comment })))
            .await
    }
}
