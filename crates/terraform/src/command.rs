//! Arguments and environment of the commands (docs/terraform.md#commands, #the-environment-of-terraform).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use cts_core::{ProviderBlock, StepTimeouts, TaskDefinition, TaskName};
use semver::Version;

use crate::directory::TaskDirectory;
use crate::inherited::InheritedEnvironment;
use crate::trace_log;

/// Set in every Terraform process to the absolute task directory, so that processes that outlive their cts
/// can be recognised.
pub const TASK_DIRECTORY_MARKER: &str = "CTS_TASK_DIR";

/// Set in every Terraform process of a worker that has a guard to the id of this worker's life, so that the
/// guard touches no processes of other workers.
pub const WORKER_MARKER: &str = "CTS_WORKER";

/// Variables that only cts controls: a `task_env` cannot set them.
const FORCED: [&str; 4] = [
    "TF_IN_AUTOMATION",
    "TF_WORKSPACE",
    TASK_DIRECTORY_MARKER,
    WORKER_MARKER,
];

/// Variables from which Terraform reads further arguments of `apply` and `plan`.
const FURTHER_ARGUMENTS: [&str; 2] = ["TF_CLI_ARGS_apply", "TF_CLI_ARGS_plan"];

/// How long they wait for the lock of the state where a worker may replace a killed worker: longer than
/// Consul keeps the lock of the dead (ARCHITECTURE.md#7-data). A `task_env` can override this.
const LOCK_TIMEOUT: &str = "-lock-timeout=60s";

/// First version without the flags that plugins once needed.
const PLUGIN_FLAGS_UNTIL: Version = Version::new(0, 15, 0);

/// A Terraform command that runs in a task directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// `terraform init`, with the choice of the workspace.
    Init,
    /// `terraform validate`.
    Validate,
    /// `terraform plan`.
    Plan,
    /// `terraform apply`.
    Apply,
    /// `terraform force-unlock`.
    Unlock,
    /// `terraform providers schema`.
    Schemas,
    /// `terraform output`.
    Output,
    /// `terraform workspace list`.
    Workspaces,
    /// `terraform state pull`.
    PullState,
    /// `terraform state push`.
    PushState,
}

impl Step {
    /// The arguments of this command that are always the same.
    pub(crate) fn arguments(self, version: &Version) -> Vec<&'static str> {
        match self {
            Self::Init => {
                let mut arguments = vec![
                    "init",
                    "-no-color",
                    "-reconfigure",
                    "-input=false",
                    "-backend=true",
                    "-get=true",
                    "-upgrade=false",
                ];
                if *version < PLUGIN_FLAGS_UNTIL {
                    arguments.extend([
                        "-lock-timeout=0s",
                        "-lock=true",
                        "-get-plugins=true",
                        "-verify-plugins=true",
                    ]);
                }
                arguments
            }
            Self::Validate => vec!["validate", "-no-color", "-json"],
            // Without `-lock-timeout=0s`, which is the default and could not be overridden.
            Self::Plan => vec![
                "plan",
                "-no-color",
                "-input=false",
                "-detailed-exitcode",
                "-lock=true",
            ],
            Self::Apply => vec![
                "apply",
                "-no-color",
                "-auto-approve",
                "-input=false",
                "-lock=true",
            ],
            Self::Unlock => vec!["force-unlock", "-force"],
            Self::Schemas => vec!["providers", "schema", "-no-color", "-json"],
            Self::Output => vec!["output", "-no-color", "-json"],
            Self::Workspaces => vec!["workspace", "list", "-no-color"],
            Self::PullState => vec!["state", "pull", "-no-color"],
            Self::PushState => vec!["state", "push", "-no-color", "-lock=true", LOCK_TIMEOUT],
        }
    }
}

/// Settings of a configuration for `plan` and `apply`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// Operations at once.
    pub parallelism: u32,
    /// Whether the state is brought up to date with reality first.
    pub refresh: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            parallelism: 10,
            refresh: true,
        }
    }
}

impl Tuning {
    /// The arguments of a command that these settings add.
    pub(crate) fn arguments(self, step: Step) -> Vec<String> {
        let Self {
            parallelism,
            refresh,
        } = self;
        match step {
            Step::Plan | Step::Apply => vec![
                format!("-parallelism={parallelism}"),
                format!("-refresh={refresh}"),
            ],
            _ => Vec::new(),
        }
    }
}

impl Step {
    /// How long this step may take, and the key of that limit in a configuration.
    pub(crate) const fn timeout(self, timeouts: &StepTimeouts) -> (Duration, &'static str) {
        match self {
            Self::Plan => (timeouts.plan, "plan_timeout"),
            Self::Apply => (timeouts.apply, "apply_timeout"),
            _ => (timeouts.init, "init_timeout"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Init => "init",
            Self::Validate => "validate",
            Self::Plan => "plan",
            Self::Apply => "apply",
            Self::Unlock => "unlock",
            Self::Schemas => "providers-schema",
            Self::Output => "output",
            Self::Workspaces => "workspace-list",
            Self::PullState => "state-pull",
            Self::PushState => "state-push",
        })
    }
}

/// Sources of the environment of a task's processes, weakest first.
#[derive(Clone, Copy)]
pub struct EnvironmentSources<'a> {
    /// The part of the environment of cts itself that the processes inherit.
    pub inherited: &'a InheritedEnvironment,
    /// Settings for the Consul backend (`CONSUL_HTTP_ADDR` and so on).
    pub backend: &'a [(String, String)],
    /// `task_env` of the task's providers, see [`task_env`].
    pub task_env: &'a [(String, String)],
    /// How long `plan` and `apply` wait for the lock of the state; `None` for no longer than necessary.
    pub lock_timeout: Option<Duration>,
    /// Whether Terraform writes its trace log to `terraform.log` in the task directory, unless `task_env`
    /// overrides that.
    pub persist_log: bool,
    /// Id of this life of the worker, if it has a guard. Must not contain a NUL.
    pub worker: Option<&'a str>,
}

impl fmt::Debug for EnvironmentSources<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnvironmentSources")
            .field("persist_log", &self.persist_log)
            .field("worker", &self.worker)
            .finish_non_exhaustive()
    }
}

/// The complete environment of the Terraform processes of one task. Values may be secret, so
/// `Debug` shows the names only.
#[derive(Clone, PartialEq, Eq)]
pub struct ChildEnvironment {
    variables: BTreeMap<OsString, OsString>,
}

impl ChildEnvironment {
    /// Puts the environment of `task` together (docs/terraform.md#the-environment-of-terraform).
    ///
    /// A `TF_DATA_DIR` that may be outside of the task directory would be shared by all tasks, whose workspaces and
    /// modules would overwrite each other: each task gets a subdirectory of its own name in it.
    pub fn new(
        sources: EnvironmentSources<'_>,
        task: &TaskName,
        directory: &TaskDirectory,
    ) -> Self {
        let mut variables = sources.inherited.variables().clone();
        for (name, value) in sources.backend.iter().chain(sources.task_env) {
            variables.insert(name.into(), value.into());
        }
        for name in FORCED {
            variables.remove(OsStr::new(name));
        }

        variables.insert(TASK_DIRECTORY_MARKER.into(), directory.path().into());
        if let Some(worker) = sources.worker {
            variables.insert(WORKER_MARKER.into(), worker.into());
        }
        if sources.worker.is_some() && sources.lock_timeout.is_none() {
            for arguments in FURTHER_ARGUMENTS {
                variables
                    .entry(arguments.into())
                    .or_insert_with(|| LOCK_TIMEOUT.into());
            }
        }
        if let Some(limit) = sources.lock_timeout {
            wait_for_lock(&mut variables, limit);
        }
        variables.insert("TF_IN_AUTOMATION".into(), "1".into());
        if sources.persist_log {
            let mut by_default = |name: &str, value: OsString| {
                variables.entry(name.into()).or_insert(value);
            };
            by_default("TF_LOG", "TRACE".into());
            by_default("TF_LOG_PATH", directory.path().join(trace_log::FILE).into());
        }
        let agent = variables.entry("TF_APPEND_USER_AGENT".into()).or_default();
        if !agent.is_empty() {
            agent.push(" ");
        }
        agent.push(concat!("cts/", env!("CARGO_PKG_VERSION")));
        if let Some(data) = variables.get_mut(OsStr::new("TF_DATA_DIR"))
            && may_be_outside(Path::new(data))
        {
            *data = Path::new(data).join(task.as_str()).into();
        }
        Self { variables }
    }

    /// Every variable.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The environment for this task in a directory of its own, with `others` for variables that are not set.
    pub(crate) fn elsewhere(&self, others: &[(String, String)]) -> Self {
        let mut variables = self.variables.clone();
        variables.remove(OsStr::new("TF_DATA_DIR"));
        for (name, value) in others {
            let value = || value.into();
            variables.entry(name.into()).or_insert_with(value);
        }
        Self { variables }
    }

    /// Returns this environment with `directory` as the data directory, which gets the results of `init`.
    pub(crate) fn with_data_in(&self, directory: &Path) -> Self {
        let mut variables = self.variables.clone();
        variables.insert("TF_DATA_DIR".into(), directory.into());
        Self { variables }
    }

    /// The value of one variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
    }

    /// The directory in which Terraform keeps the results of `init` for `directory`.
    pub fn data_directory(&self, directory: &TaskDirectory) -> PathBuf {
        let configured = self.get("TF_DATA_DIR").filter(|value| !value.is_empty());
        directory
            .path()
            .join(configured.unwrap_or(OsStr::new(".terraform")))
    }
}

impl fmt::Debug for ChildEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

/// Whether the path can lead out of the directory that it is relative to.
fn may_be_outside(path: &Path) -> bool {
    path.is_absolute() || path.components().any(|part| part == Component::ParentDir)
}

/// Puts the time to wait for the lock before the further arguments, which can override it.
fn wait_for_lock(variables: &mut BTreeMap<OsString, OsString>, limit: Duration) {
    for arguments in FURTHER_ARGUMENTS {
        let others = variables.entry(arguments.into()).or_default();
        let mut all = OsString::from(format!("-lock-timeout={}ms", limit.as_millis()));
        if !others.is_empty() {
            all.push(" ");
            all.push(&*others);
        }
        *others = all;
    }
}

/// The `task_env` of `definition`'s providers in the order in which the task names them, so that
/// later ones win (docs/configuration.md#driver-terraform).
pub fn task_env(definition: &TaskDefinition, providers: &[ProviderBlock]) -> Vec<(String, String)> {
    definition
        .providers
        .iter()
        .filter_map(|id| ProviderBlock::select(providers, id))
        .flat_map(|block| &block.task_env)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests;
