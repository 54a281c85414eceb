//! Workspaces: found, created, changed, locked and deleted.

use reqwest::Method;
use serde::Serialize;
use serde_json::{Value, json};

use crate::document::{document, relation};
use crate::error::ApiError;
use crate::server::Server;
use crate::tags::named_tags;
use crate::workspace_attributes::{ExecutionMode, Workspace};

/// Settings to give to a workspace; `None` leaves a setting as it is, or to the server's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct WorkspaceDraft {
    /// Name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where runs are executed. Beats the default of organization and project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_mode: Option<ExecutionMode>,
    /// Id of the agent pool, for the mode `agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_pool_id: Option<String>,
    /// Whether plans are applied without confirmation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_apply: Option<bool>,
    /// Whether the first configuration version starts a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_all_runs: Option<bool>,
    /// Version of Terraform, exact everywhere, or a constraint on some servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terraform_version: Option<String>,
    /// Directory of the root module in the archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    /// Whether logs are lines of JSON.
    #[serde(
        rename = "structured-run-output-enabled",
        skip_serializing_if = "Option::is_none"
    )]
    pub structured_run_output: Option<bool>,
    /// Name of the creating program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_name: Option<String>,
    /// Page of the creating program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_url: Option<String>,
    /// Id of the project.
    #[serde(skip)]
    pub project_id: Option<String>,
    /// Flat tags of a workspace that is created. Some servers ignore them.
    #[serde(skip)]
    pub tags: Vec<String>,
}

impl WorkspaceDraft {
    fn document(&self) -> Value {
        let mut document = document("workspaces", self);
        if self.execution_mode.is_some() {
            let mut overwrites = json!({ "execution-mode": true });
            if self.agent_pool_id.is_some() {
                overwrites["agent-pool"] = json!(true);
            }
            document["data"]["attributes"]["setting-overwrites"] = overwrites;
        }
        if let Some(project) = &self.project_id {
            document["data"]["relationships"]["project"] = relation("projects", project);
        }
        if !self.tags.is_empty() {
            document["data"]["relationships"]["tags"] = named_tags(&self.tags);
        }
        document
    }
}

impl Server {
    /// Finds a workspace by its name; `None` if it does not exist, or is not visible with this token.
    pub async fn workspace_named(
        &self,
        organization: &str,
        name: &str,
    ) -> Result<Option<Workspace>, ApiError> {
        let path = ["organizations", organization, "workspaces", name];
        ApiError::missing(self.get(&path).await)
    }

    /// Reads a workspace.
    pub async fn workspace(&self, id: &str) -> Result<Workspace, ApiError> {
        self.get(&["workspaces", id]).await
    }

    /// Creates a workspace. After [`ApiError::OutcomeUnknown`], [`Server::workspace_named`] shows whether it
    /// exists; a name that is taken is [`ApiError::Invalid`].
    pub async fn create_workspace(
        &self,
        organization: &str,
        workspace: &WorkspaceDraft,
    ) -> Result<Workspace, ApiError> {
        let path = ["organizations", organization, "workspaces"];
        self.create(&path, &workspace.document()).await
    }

    /// Changes the settings that the draft has.
    pub async fn update_workspace(
        &self,
        id: &str,
        workspace: &WorkspaceDraft,
    ) -> Result<Workspace, ApiError> {
        self.update(&["workspaces", id], &workspace.document())
            .await
    }

    /// Deletes a workspace, even if it manages resources. [`ApiError::NotFound`] may mean that an earlier
    /// try has deleted it.
    pub async fn delete_workspace(&self, id: &str) -> Result<(), ApiError> {
        let request = self.request(Method::DELETE, &["workspaces", id])?;
        self.order(request).await
    }

    /// Deletes a workspace that manages no resources; [`ApiError::Conflict`] if it does.
    pub async fn safe_delete_workspace(&self, id: &str) -> Result<(), ApiError> {
        let path = ["workspaces", id, "actions", "safe-delete"];
        self.order(self.request(Method::POST, &path)?).await
    }

    /// Locks a workspace for the token's user; [`ApiError::Conflict`] if it is locked.
    pub async fn lock_workspace(&self, id: &str, reason: &str) -> Result<Workspace, ApiError> {
        let path = ["workspaces", id, "actions", "lock"];
        self.create(&path, &json!({ "reason": reason })).await
    }

    /// Unlocks a workspace that the token's user has locked; [`ApiError::Conflict`] if it is not locked, or by
    /// others.
    pub async fn unlock_workspace(&self, id: &str) -> Result<Workspace, ApiError> {
        let path = ["workspaces", id, "actions", "unlock"];
        self.create(&path, &json!({})).await
    }

    /// Unlocks a workspace that others have locked.
    pub async fn force_unlock_workspace(&self, id: &str) -> Result<Workspace, ApiError> {
        let path = ["workspaces", id, "actions", "force-unlock"];
        self.create(&path, &json!({})).await
    }
}
