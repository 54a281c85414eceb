//! Tasks as declared.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::buffer::{BufferPeriod, BufferSetting};
use crate::capability::Requirement;
use crate::identity::TaskName;
use crate::input::Digest;
use crate::provider::ProviderId;
use crate::view::ServiceView;

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
    /// What a run depends on.
    pub definition: TaskDefinition,
    /// Whether changes run it.
    pub enabled: bool,
    /// Buffer period as written, for answers that show the task.
    pub buffer_setting: Option<BufferSetting>,
    /// Buffer period in force.
    pub buffer_period: BufferPeriod,
    /// Whether an input equal to the last applied one is skipped; ours, default true.
    pub skip_unchanged: bool,
    /// Whether a failed run is tried again later without a change; ours, default true.
    pub retry_failed: bool,
    /// What a worker must be able to do.
    #[serde(default)]
    pub requirement: Requirement,
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
    /// What triggers the task.
    pub condition: Condition,
    /// Values of the module's own variables, evaluated.
    pub variables: BTreeMap<String, Value>,
    /// Directory of the generated root module: relative to the working directory of who runs
    /// Terraform, or absolute.
    pub working_dir: PathBuf,
}

/// Names a packed local module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleReference {
    /// Hash of its content.
    pub hash: Digest,
    /// Directory of the module inside the bundle.
    pub module: PathBuf,
}

/// What triggers a task (spec/config.md 13).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Instances of services chosen by name.
    Services(ServicesCondition),
}

/// `condition "services"` (spec/config.md 13.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServicesCondition {
    /// Names as configured, at least one, none empty.
    pub names: Vec<String>,
    /// Datacenter, empty for the agent's own.
    pub datacenter: String,
    /// Consul Enterprise namespace, may be empty.
    pub namespace: String,
    /// Consul filter expression as configured, may be empty.
    pub filter: String,
    /// Copied into every instance that the module gets.
    pub cts_user_defined_meta: BTreeMap<String, String>,
    /// Whether the module gets the instances; if not, changes still run it.
    pub use_as_module_input: bool,
}

impl Condition {
    /// The views that must have given a full snapshot before the task can run, in module order:
    /// names sorted bytewise (spec/runtime-watch.md 1.9), each once.
    pub fn views(&self) -> Vec<ServiceView> {
        match self {
            Self::Services(services) => {
                let mut names = services.names.clone();
                names.sort_unstable();
                names.dedup();
                names
                    .into_iter()
                    .map(|name| ServiceView {
                        name,
                        datacenter: services.datacenter.clone(),
                        namespace: services.namespace.clone(),
                        filter: services.filter.trim_matches('\n').to_owned(),
                    })
                    .collect()
            }
        }
    }
}
