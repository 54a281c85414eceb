//! Runs: created, read, listed for adoption, and acted on.

use reqwest::Method;
use serde::Serialize;
use serde_json::{Value, json};

use crate::document::{document, relation};
use crate::error::ApiError;
use crate::resources::run::Run;
use crate::resources::run_variable::RunVariable;
use crate::server::Server;

/// A run to create. The workspace decides whether the plan is applied without confirmation: an operator may have
/// switched that off.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct NewRun<'a> {
    #[serde(skip)]
    pub workspace_id: &'a str,
    /// Configuration version. Without it the server would take the newest one.
    #[serde(skip)]
    pub configuration_version_id: &'a str,
    /// Message, by which [`Server::run_with_message`] finds the run.
    pub message: &'a str,
    pub plan_only: bool,
    /// Whether it destroys all resources.
    pub is_destroy: bool,
    /// Values for this run, which win over those of the workspace.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub variables: &'a [RunVariable],
}

impl NewRun<'_> {
    fn document(&self) -> Value {
        let mut document = document("runs", self);
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

    /// Finds the newest run of a workspace whose message contains `part`, such as a unique id: among the newest
    /// 100 runs, then by the search of servers that have one. Servers allow 30 such requests a *minute*. A run that
    /// was created a moment ago may not be listed yet.
    pub async fn run_with_message(
        &self,
        workspace_id: &str,
        part: &str,
    ) -> Result<Option<Run>, ApiError> {
        let path = ["workspaces", workspace_id, "runs"];
        let has_part = |run: &Run| run.message.contains(part);
        let (runs, next) = self.page::<Run>(&path, &[], 1).await?;
        let found = runs.into_iter().find(has_part);
        if found.is_some() || next.is_none() {
            return Ok(found);
        }
        let search = [("search[basic]", part)];
        let (runs, _next) = self.page::<Run>(&path, &search, 1).await?;
        Ok(runs.into_iter().find(has_part))
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
