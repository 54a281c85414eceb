//! Tasks as declared.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::buffer::{BufferPeriod, BufferSetting};
use crate::capability::Requirement;
use crate::condition::{Condition, ModuleInput};
use crate::deletion::OnDelete;
use crate::digest::Digest;
use crate::guard::ShrinkLimit;
use crate::identity::TaskName;
use crate::provider::ProviderId;
use crate::timeouts::TaskTimeouts;

/// Where a task was declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskOrigin {
    /// In a configuration file; follows the file at every start.
    Config,
    /// Over the API; stays until it is deleted there.
    Api,
}

impl TaskOrigin {
    /// The stored spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Api => "api",
        }
    }
}

/// A task with everything that is known of it before it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// Definition that its runs depend on.
    pub definition: TaskDefinition,
    /// Whether changes run it.
    pub enabled: bool,
    /// Buffer period as written, for answers that show the task.
    pub buffer_setting: Option<BufferSetting>,
    /// Buffer period in force.
    pub buffer_period: BufferPeriod,
    /// Whether an input equal to the last applied one is skipped; an extension of cts, default true.
    pub skip_unchanged: bool,
    /// Whether a failed run is tried again later without a change; an extension of cts, default true.
    pub retry_failed: bool,
    /// Capabilities that a worker must have.
    #[serde(default)]
    pub requirement: Requirement,
    /// How long the steps of its runs may take, if the task sets it; an extension of cts.
    #[serde(default, skip_serializing_if = "TaskTimeouts::is_empty")]
    pub timeouts: TaskTimeouts,
    /// Instances that the task may lose without an operator's consent; an extension of cts, by default all.
    #[serde(default, skip_serializing_if = "ShrinkLimit::is_empty")]
    pub guard: ShrinkLimit,
    /// Concurrency group: at most one task of a group applies at a time; an extension of cts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency_group: Option<String>,
    /// Treatment of its infrastructure when it is deleted over the API; an extension of cts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_delete: OnDelete,
}

impl TaskSpec {
    /// The task's name.
    pub fn name(&self) -> &TaskName {
        &self.definition.name
    }
}

/// The part of a task that its runs depend on; a change of it is a new input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskDefinition {
    /// Unique name.
    pub name: TaskName,
    /// Free text, shown in the generated files.
    pub description: String,
    /// Module source as configured.
    pub module: String,
    /// Module source as Terraform gets it: a local path made absolute, else as configured.
    pub module_source: String,
    /// Digest of a local module's files, so that an edited module is a new input.
    pub module_digest: Option<Digest>,
    /// The packed local module, where workers do not share the directory that it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<BundleReference>,
    /// Version of a registry module; empty for the newest.
    pub version: String,
    /// Providers, at most one per provider name.
    pub providers: Vec<ProviderId>,
    /// Names of the webhooks that are notified of its applies, in their order; an extension of cts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub webhooks: Vec<String>,
    /// How its runs are applied; an extension of cts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub plan: PlanMode,
    /// Names of the module outputs that its runs report, in their order; an extension of cts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Condition that triggers the task.
    pub condition: Condition,
    /// Inputs of the module in addition to the condition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub module_inputs: Vec<ModuleInput>,
    /// Entries of the deprecated `services` list, for answers that show it; what they mean is in
    /// `condition` or `module_inputs` already.
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

/// Default values are not written, so that inputs of tasks without them stay the same.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How the runs of a task are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanMode {
    /// By one command, which plans for itself.
    #[default]
    Direct,
    /// By a plan that is made first, and applied as it is or not at all.
    Saved,
}

impl PlanMode {
    /// The spelling in configurations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Saved => "saved",
        }
    }
}

#[cfg(test)]
impl TaskDefinition {
    /// Makes a task for tests in which nothing else matters.
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
            webhooks: Vec::new(),
            plan: PlanMode::Direct,
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
    /// Where runs happen.
    pub execution: CloudExecution,
    /// Exact version of Terraform; `None` keeps that of the workspace.
    pub terraform_version: Option<String>,
    /// Whether a version that does not fit is raised to the nearest that does.
    pub auto_upgrade_tf_version: bool,
}

impl Default for CloudWorkspace {
    /// Defaults that count without a setting.
    fn default() -> Self {
        Self {
            execution: CloudExecution::default(),
            terraform_version: None,
            auto_upgrade_tf_version: true,
        }
    }
}

/// Where the runs of a workspace happen.
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
