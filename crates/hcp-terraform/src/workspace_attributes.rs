//! Workspaces, as they are read.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::{Linkage, Resource, id_of};
use crate::text_enum::text_enum;

text_enum! {
    /// Where the runs of a workspace are executed.
    ExecutionMode {
        Remote = "remote",
        Agent = "agent",
        Local = "local",
    }
}

impl Serialize for ExecutionMode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A workspace, as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Resource<Attributes, Relationships>")]
pub struct Workspace {
    /// Id, `ws-…`.
    pub id: String,
    /// Name, unique in the organization.
    pub name: String,
    /// Description.
    pub description: String,
    /// Where its runs are executed.
    pub execution_mode: ExecutionMode,
    /// Id of the agent pool.
    pub agent_pool_id: Option<String>,
    /// Whether plans are applied without confirmation.
    pub auto_apply: bool,
    /// Version of Terraform, or a constraint.
    pub terraform_version: Option<String>,
    /// Directory of the root module in the archive.
    pub working_directory: String,
    /// Whether logs are lines of JSON.
    pub structured_run_output: Option<bool>,
    /// Whether it is locked. A locked workspace leaves its runs in `pending`.
    pub is_locked: bool,
    /// Type and id of the holder of the lock, such as `users` and `user-…`.
    pub locked_by: Option<(String, String)>,
    /// Whether it is connected to a version control system.
    pub has_vcs: bool,
    /// Flat tags.
    pub tag_names: Vec<String>,
    /// Name of the program that created it, by its own words.
    pub source_name: Option<String>,
    /// Resources in its state.
    pub resource_count: Option<u64>,
    /// Rights of the token.
    pub permissions: Permissions,
    /// Id of the project.
    pub project_id: Option<String>,
    /// Id of the run that is current.
    pub current_run_id: Option<String>,
    /// Id of the newest configuration version; not every server says it.
    pub current_configuration_version_id: Option<String>,
    /// Id of the newest state version; not every server says it.
    pub current_state_version_id: Option<String>,
}

impl Workspace {
    /// Whether a run holds the lock, as long as it is the current one.
    pub fn is_locked_by_run(&self) -> bool {
        let holder = self.locked_by.as_ref();
        holder.is_some_and(|(kind, _id)| kind == "runs")
    }
}

/// Rights of the token on a workspace; `None` where the server does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[expect(clippy::struct_field_names, reason = "names of the API")]
pub struct Permissions {
    /// Whether the token may change settings.
    pub can_update: Option<bool>,
    /// Whether the token may change variables.
    pub can_update_variable: Option<bool>,
    /// Whether the token may create runs.
    pub can_queue_run: Option<bool>,
    /// Whether the token may create runs that apply.
    pub can_queue_apply: Option<bool>,
    /// Whether the token may create runs that destroy.
    pub can_queue_destroy: Option<bool>,
    /// Whether the token may lock.
    pub can_lock: Option<bool>,
    /// Whether the token may unlock.
    pub can_unlock: Option<bool>,
    /// Whether the token may take the lock from others.
    pub can_force_unlock: Option<bool>,
    /// Whether the token may read states.
    pub can_read_state_versions: Option<bool>,
    /// Whether the token may store states.
    pub can_create_state_versions: Option<bool>,
    /// Whether the token may delete the workspace with its resources in it.
    pub can_force_delete: Option<bool>,
    /// Whether the token may delete the workspace.
    pub can_destroy: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Attributes {
    name: String,
    description: Option<String>,
    execution_mode: Option<ExecutionMode>,
    agent_pool_id: Option<String>,
    auto_apply: Option<bool>,
    terraform_version: Option<String>,
    working_directory: Option<String>,
    structured_run_output_enabled: Option<bool>,
    locked: Option<bool>,
    vcs_repo: Option<Value>,
    tag_names: Option<Vec<String>>,
    source_name: Option<String>,
    resource_count: Option<u64>,
    permissions: Option<Permissions>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct Relationships {
    agent_pool: Option<Linkage>,
    project: Option<Linkage>,
    locked_by: Option<Linkage>,
    current_run: Option<Linkage>,
    current_configuration_version: Option<Linkage>,
    current_state_version: Option<Linkage>,
}

impl From<Resource<Attributes, Relationships>> for Workspace {
    fn from(resource: Resource<Attributes, Relationships>) -> Self {
        let workspace = resource.attributes;
        let relations = resource.relationships.unwrap_or_default();
        Self {
            id: resource.id,
            name: workspace.name,
            description: workspace.description.unwrap_or_default(),
            execution_mode: workspace.execution_mode.unwrap_or(ExecutionMode::Remote),
            agent_pool_id: id_of(relations.agent_pool).or(workspace.agent_pool_id),
            auto_apply: workspace.auto_apply.unwrap_or_default(),
            terraform_version: workspace.terraform_version,
            working_directory: workspace.working_directory.unwrap_or_default(),
            structured_run_output: workspace.structured_run_output_enabled,
            is_locked: workspace.locked.unwrap_or_default(),
            locked_by: relations.locked_by.and_then(Linkage::into_identifier),
            has_vcs: workspace.vcs_repo.is_some(),
            tag_names: workspace.tag_names.unwrap_or_default(),
            source_name: workspace.source_name,
            resource_count: workspace.resource_count,
            permissions: workspace.permissions.unwrap_or_default(),
            project_id: id_of(relations.project),
            current_run_id: id_of(relations.current_run),
            current_configuration_version_id: id_of(relations.current_configuration_version),
            current_state_version_id: id_of(relations.current_state_version),
        }
    }
}
