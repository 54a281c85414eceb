//! Environment of the commands (docs/terraform.md#the-environment-of-terraform).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use cts_core::{ProviderBlock, TaskDefinition, TaskName};

use crate::directory::TaskDirectory;
use crate::inherited::InheritedEnvironment;
use crate::markers::{TASK_DIRECTORY_MARKER, WORKER_MARKER};
use crate::step::LOCK_TIMEOUT;
use crate::trace_log;

/// Variable with the span that spans of Terraform are parts of. The value of the variable belongs to one attempt.
pub const TRACE_PARENT: &str = "TRACEPARENT";

/// Variables that only cts controls: a `task_env` cannot set them.
const FORCED: [&str; 4] = [
    "TF_IN_AUTOMATION",
    "TF_WORKSPACE",
    TASK_DIRECTORY_MARKER,
    WORKER_MARKER,
];

/// Variables from which Terraform reads further arguments of `apply` and `plan`.
const FURTHER_ARGUMENTS: [&str; 2] = ["TF_CLI_ARGS_apply", "TF_CLI_ARGS_plan"];

/// Sources of the environment of a task's processes, weakest first.
#[derive(Clone, Copy)]
pub struct EnvironmentSources<'a> {
    /// The part of the environment of cts itself that the processes inherit.
    pub inherited: &'a InheritedEnvironment,
    /// Settings by which Terraform exports spans of its own, with [`TRACE_PARENT`].
    pub tracing: &'a [(String, String)],
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
    /// modules would overwrite each other: each task gets a subdirectory with its name there.
    pub fn new(
        sources: EnvironmentSources<'_>,
        task: &TaskName,
        directory: &TaskDirectory,
    ) -> Self {
        let mut variables = sources.inherited.variables().clone();
        for (name, value) in sources
            .tracing
            .iter()
            .chain(sources.backend)
            .chain(sources.task_env)
        {
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

/// Whether the path can lead out of its base directory.
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

/// The `task_env` of `definition`'s providers in the order in which the task names the providers, so that later values
/// win (docs/configuration.md#driver-terraform).
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
