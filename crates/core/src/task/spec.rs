//! Tasks as declared.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::engine::capability::Requirement;
use crate::engine::provider::ProviderId;
use crate::spelled;
use crate::task::approval_rule::ApprovalRule;
use crate::task::buffer::{BufferPeriod, BufferSetting};
use crate::task::deletion::OnDelete;
use crate::task::file_settings::{FileDefinition, FileSettings};
use crate::view::condition::{Condition, ModuleInput};
use crate::words::digest::Digest;
use crate::words::identity::TaskName;

spelled! {
    /// Where a task was declared.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum TaskOrigin {
        /// In a configuration file; follows the file at every start.
        Config = "config",
        /// Over the API; stays until it is deleted over the API.
        Api = "api",
    }
}

/// A task with everything that is known before it runs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TaskSpec {
    /// Definition that its runs depend on.
    pub definition: TaskDefinition,
    /// Whether changes run it.
    pub enabled: bool,
    /// Buffer period as written, for answers that show the task.
    pub buffer_setting: Option<BufferSetting>,
    /// Buffer period in force.
    pub buffer_period: BufferPeriod,
    /// Settings that only files can set.
    #[serde(flatten)]
    pub file_settings: FileSettings,
    /// Capabilities that a worker needs.
    #[serde(default)]
    pub requirement: Requirement,
    /// Treatment of its infrastructure when it is deleted over the API; an extension of cts.
    #[serde(default)]
    pub on_delete: OnDelete,
    /// Rule of an API declaration that is stricter than that of the files; an extension of cts. A new declaration in a
    /// file keeps it.
    #[serde(default)]
    pub api_approval: Option<ApprovalRule>,
}

/// Serializes the members in the order in which every version stores them: digests over this form decide whether a
/// declaration has changed.
impl Serialize for TaskSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Stored<'a> {
            definition: &'a TaskDefinition,
            enabled: &'a bool,
            buffer_setting: &'a Option<BufferSetting>,
            buffer_period: &'a BufferPeriod,
            skip_unchanged: &'a bool,
            retry_failed: &'a bool,
            requirement: &'a Requirement,
            #[serde(flatten)]
            file_settings: &'a FileSettings,
            #[serde(skip_serializing_if = "Option::is_none")]
            on_delete: Option<&'a OnDelete>,
            #[serde(skip_serializing_if = "Option::is_none")]
            api_approval: &'a Option<ApprovalRule>,
        }
        let Self {
            definition,
            enabled,
            buffer_setting,
            buffer_period,
            file_settings,
            requirement,
            on_delete,
            api_approval,
        } = self;
        let stored = Stored {
            definition,
            enabled,
            buffer_setting,
            buffer_period,
            skip_unchanged: &file_settings.skip_unchanged,
            retry_failed: &file_settings.retry_failed,
            requirement,
            file_settings,
            on_delete: Some(on_delete).filter(|on_delete| !on_delete.is_retain()),
            api_approval,
        };
        stored.serialize(serializer)
    }
}

impl TaskSpec {
    /// The task's name.
    pub fn name(&self) -> &TaskName {
        &self.definition.name
    }

    /// Returns this API declaration as the replacement of `before`. Settings without a member in the API stay the
    /// same, most importantly the directory, which may contain local state.
    #[must_use]
    pub fn in_place_of(mut self, before: &Self) -> Self {
        self.file_settings.clone_from(&before.file_settings);
        let (own, kept) = (&mut self.definition, &before.definition);
        own.file_definition.clone_from(&kept.file_definition);
        own.working_dir.clone_from(&kept.working_dir);
        self
    }
}

/// The part of a task that its runs depend on; a change of this part is a new input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskDefinition {
    /// Unique name.
    pub name: TaskName,
    /// Free text, shown in the generated files.
    pub description: String,
    /// Module source as configured.
    pub module: String,
    /// Module source as passed to Terraform: a local path made absolute, else as configured.
    pub module_source: String,
    /// Digest of a local module's files, so that an edited module is a new input.
    pub module_digest: Option<Digest>,
    /// The packed local module, if workers do not share its directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<BundleReference>,
    /// Version of a registry module; empty for the newest.
    pub version: String,
    /// Providers, at most one per provider name.
    pub providers: Vec<ProviderId>,
    /// Settings that only files can set.
    #[serde(flatten)]
    pub file_definition: FileDefinition,
    /// Names of the module outputs that its runs report, in their order; an extension of cts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Condition that triggers the task.
    pub condition: Condition,
    /// Inputs of the module in addition to the condition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub module_inputs: Vec<ModuleInput>,
    /// Entries of the deprecated `services` list, for answers that show the list; their meaning is already in
    /// `condition` or `module_inputs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
    /// `terraform_cloud_workspace`, for the driver of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<CloudWorkspace>,
    /// Values of the module's own variables, evaluated.
    pub variables: BTreeMap<String, Value>,
    /// Directory of the generated root module: relative to the working directory of the process that runs
    /// Terraform, or absolute.
    pub working_dir: PathBuf,
}

#[cfg(test)]
impl TaskDefinition {
    /// Makes a task for tests that depend only on these arguments.
    pub(crate) fn sample(condition: Condition, module_inputs: Vec<ModuleInput>) -> Self {
        Self {
            module_inputs,
            services: Vec::new(),
            workspace: None,
            name: TaskName::new("t").expect("it is a name"),
            description: String::new(),
            module: "./m".into(),
            module_source: "/m".into(),
            module_digest: None,
            bundle: None,
            version: String::new(),
            providers: Vec::new(),
            file_definition: FileDefinition::default(),
            outputs: Vec::new(),
            condition,
            variables: BTreeMap::new(),
            working_dir: "/w".into(),
        }
    }
}

/// Names a packed local module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleReference {
    /// Hash of its content.
    pub hash: Digest,
    /// Directory of the module inside the bundle.
    pub module: PathBuf,
}

/// `terraform_cloud_workspace` of a task (`docs/configuration.md#terraform_cloud_workspace`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudWorkspace {
    /// Location of the runs.
    pub execution: CloudExecution,
    /// Exact version of Terraform; `None` keeps that of the workspace.
    pub terraform_version: Option<String>,
    /// Whether an incompatible version is raised to the nearest compatible version.
    pub auto_upgrade_tf_version: bool,
}

impl Default for CloudWorkspace {
    /// Defaults without a setting.
    fn default() -> Self {
        Self {
            execution: CloudExecution::default(),
            terraform_version: None,
            auto_upgrade_tf_version: true,
        }
    }
}

/// Location of the runs of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CloudExecution {
    /// On machines of the platform.
    #[default]
    Remote,
    /// On an agent of the pool with this id.
    AgentPoolId(String),
    /// On an agent of the pool with this name.
    AgentPoolName(String),
}

#[cfg(test)]
mod tests;
