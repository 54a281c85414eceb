//! Workspaces: found, created, changed, locked and deleted.

use reqwest::Method;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::document::{Related, Resource, document, or_default};
use crate::error::ApiError;
use crate::resources::tags::named_tags;
use crate::server::Server;
use crate::word::Word;

pub type Workspace = Resource<WorkspaceAttributes, WorkspaceRelations>;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WorkspaceAttributes {
    /// Name, unique in the organization.
    pub name: String,
    execution_mode: Option<Word>,
    agent_pool_id: Option<String>,
    /// Version of Terraform, or a constraint.
    pub terraform_version: Option<String>,
    /// Directory of the root module in the archive.
    #[serde(default, deserialize_with = "or_default")]
    pub working_directory: String,
    /// Whether it is locked. A locked workspace leaves its runs in `pending`.
    #[serde(rename = "locked", default, deserialize_with = "or_default")]
    pub is_locked: bool,
    /// The connection to a version control system.
    pub vcs_repo: Option<IgnoredAny>,
    /// Flat tags.
    #[serde(default, deserialize_with = "or_default")]
    pub tag_names: Vec<String>,
    /// Name of the program that created it, by its own words.
    pub source_name: Option<String>,
    /// Resources in its state.
    pub resource_count: Option<u64>,
    /// Rights of the token.
    #[serde(default, deserialize_with = "or_default")]
    pub permissions: Permissions,
}

/// Rights of the token on a workspace; `None` where the server does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Permissions {
    /// Whether the token may change variables.
    pub can_update_variable: Option<bool>,
    /// Whether the token may create runs.
    pub can_queue_run: Option<bool>,
}

/// Objects that a workspace is related to. Not every server names the newest versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct WorkspaceRelations {
    agent_pool: Related,
    pub project: Related,
    /// Holder of its lock.
    pub locked_by: Related,
    pub current_run: Related,
    /// The newest configuration version.
    pub current_configuration_version: Related,
    /// The newest state version.
    pub current_state_version: Related,
}

impl Workspace {
    /// Where its runs are executed, such as `remote`, `agent` or `local`.
    pub fn execution_mode(&self) -> &str {
        self.execution_mode.as_ref().map_or("remote", Word::as_str)
    }

    pub fn agent_pool_id(&self) -> Option<&str> {
        let pool = self.relationships.agent_pool.id();
        pool.or(self.agent_pool_id.as_deref())
    }

    /// Whether a run holds the lock, as long as it is the current one.
    pub fn is_locked_by_run(&self) -> bool {
        let holder = self.relationships.locked_by.0.as_ref();
        holder.is_some_and(|holder| holder.kind == "runs")
    }
}

/// Settings to give to a workspace; `None` leaves a setting as it is, or to the server's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct WorkspaceDraft {
    pub name: Option<String>,
    pub description: Option<String>,
    /// Where runs are executed. Beats the default of organization and project.
    pub execution_mode: Option<&'static str>,
    /// Id of the agent pool, for the mode `agent`.
    pub agent_pool_id: Option<String>,
    /// Whether plans are applied without confirmation.
    pub auto_apply: Option<bool>,
    /// Whether the first configuration version starts a run.
    pub queue_all_runs: Option<bool>,
    /// Version of Terraform, exact everywhere, or a constraint on some servers.
    pub terraform_version: Option<String>,
    /// Directory of the root module in the archive.
    pub working_directory: Option<String>,
    /// Whether logs are lines of JSON.
    pub structured_run_output_enabled: Option<bool>,
    /// Name of the creating program.
    pub source_name: Option<String>,
    /// Flat tags of a workspace that is created. Some servers ignore them.
    #[serde(skip)]
    pub tags: Vec<String>,
}

impl WorkspaceDraft {
    fn document(&self) -> Value {
        let mut attributes = json!(self);
        if let Some(settings) = attributes.as_object_mut() {
            settings.retain(|_name, value| !value.is_null());
        }
        if self.execution_mode.is_some() {
            let mut overwrites = json!({ "execution-mode": true });
            if self.agent_pool_id.is_some() {
                overwrites["agent-pool"] = json!(true);
            }
            attributes["setting-overwrites"] = overwrites;
        }
        let mut document = document("workspaces", attributes);
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
}
