//! Parts of a worker: its settings, its dependencies, and the tokens that end it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cts_bundle::BundleCache;
use cts_core::settings::{ClusterKey, SettingsBlocks};
use cts_core::{Backend, Registration, StepTimeouts, TaskName, WorkerRecord};
use cts_handlers::{Handlers, WebhookSettings};
use cts_telemetry::Signals;
use cts_terraform::guard::Guard;
use cts_terraform::{
    InheritedEnvironment, OutputSink, RenderSettings, StateOrigin, StopPolicy, Terraform,
};
use secrecy::{ExposeSecret, SecretString};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::remote_driver::RemoteDriver;
use crate::values::{ValueSources, texts_of};

/// Settings of a worker.
#[derive(Clone)]
pub struct Options {
    /// Registration of the worker, with its number of slots, at least one.
    pub record: WorkerRecord,
    /// Random bytes by which this life of the process owns the id of the record.
    pub registration: Registration,
    /// Directory that relative task directories are relative to. No other worker may use it.
    pub working_dir: PathBuf,
    /// Whether the worker keeps a journal in that directory. By the journal the worker vouches for tasks after a
    /// failover of the database.
    pub keeps_journal: bool,
    /// Whether an attempt waits until its entry in the journal is on the disk. A database on another machine may lose
    /// confirmed commits; a database on this machine loses them only together with the journal, and then trusts no
    /// input.
    pub syncs_journal: bool,
    /// Whether no other worker can take the runs of this worker: then it takes runs also while its own check fails.
    pub is_alone: bool,
    /// The environment of cts that Terraform inherits.
    pub environment: InheritedEnvironment,
    /// Environment by which Terraform exports its own spans; empty if Terraform exports none.
    pub tracing_environment: Vec<(String, String)>,
    /// Environment that the state backend needs on top; may hold a token.
    pub backend_environment: Vec<(String, String)>,
    /// The previous backend of the states, if configured; states are moved from there.
    pub previous_backend: Option<Backend>,
    /// Additional environment of a backend `consul`, also of a backend from which states are moved; may hold a token.
    pub consul_environment: Vec<(String, String)>,
    /// Whether the backend is the Consul that dynamic values are read from, with its default address and
    /// credentials, so that states can be read there without Terraform.
    pub states_in_own_consul: bool,
    /// Time after which a state that seems lost or older is read once more, before a run is refused.
    pub second_look: Duration,
    /// How long `plan` and `apply` wait for the lock of the state, if that is configured.
    pub lock_timeout: Option<Duration>,
    /// Whether Terraform writes its trace into the task directory.
    pub persist_log: bool,
    /// Whether to release the lock of a state that a lost attempt at the same task has left.
    pub release_lost_locks: bool,
    /// How Terraform is stopped.
    pub stop: StopPolicy,
    /// How long each step of Terraform may take, unless a task overrides that.
    pub timeouts: StepTimeouts,
    /// How long runs may continue after the order to drain; then they are interrupted.
    pub drain_timeout: Duration,
    /// Settings of generated root modules: driver, backend and providers.
    pub render: Arc<RenderSettings>,
    /// Backend and provider blocks, whose digests the worker reports.
    pub settings: SettingsBlocks,
    /// The keys for these digests, several while keys are rotated. Without a key the worker gets the key of
    /// the cluster from the scheduler.
    pub keys: Vec<ClusterKey>,
    /// The webhooks that tasks may name.
    pub webhooks: Vec<WebhookSettings>,
    /// Further secrets of the configuration, which no output of a run may show: tokens and passwords.
    pub secrets: Vec<SecretString>,
}

impl Options {
    /// All secrets of the configuration that are equal for every run.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let mut credentials = Vec::new();
        let backends = [Some(&self.render.backend), self.previous_backend.as_ref()];
        for credential in backends
            .into_iter()
            .flatten()
            .flat_map(Backend::credentials)
        {
            texts_of(credential, &mut credentials);
        }
        let secrets = self.secrets.iter().map(ExposeSecret::expose_secret);
        secrets.chain(credentials)
    }
}

impl Options {
    /// A backend as the place of a task's state, with the environment that reading it needs.
    pub(crate) fn origin(&self, backend: Backend, workspace: TaskName) -> StateOrigin {
        StateOrigin {
            environment: match &*backend.kind {
                "consul" => self.consul_environment.clone(),
                _ => Vec::new(),
            },
            workspace,
            backend,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("record", &self.record)
            .field("working_dir", &self.working_dir)
            .field("render", &self.render)
            .finish_non_exhaustive()
    }
}

/// How a worker makes its runs: the driver of the configuration.
#[derive(Debug, Clone)]
pub enum Driver {
    /// `driver "terraform"`: with Terraform of this machine.
    Terraform(Arc<Terraform>),
    /// `driver "terraform-cloud"`: on a server of HCP Terraform.
    Remote(Arc<RemoteDriver>),
}

/// Dependencies of a worker.
#[derive(Clone)]
pub struct Dependencies {
    pub scheduler: Channel,
    /// How runs are made.
    pub driver: Driver,
    /// The cache of unpacked module bundles; without it modules are used in place.
    pub bundles: Option<Arc<BundleCache>>,
    /// Stops Terraform if this process cannot; without a guard no other worker gets its runs.
    pub guard: Option<Guard>,
    /// Sources of the dynamic values of providers.
    pub values: ValueSources,
    /// The handlers after a successful apply.
    pub handlers: Handlers,
    /// Shows Terraform's output live, in addition to the log.
    pub console: Option<Arc<dyn OutputSink>>,
    /// Records metrics and traces.
    pub signals: Signals,
}

impl fmt::Debug for Dependencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dependencies")
            .field("driver", &self.driver)
            .finish_non_exhaustive()
    }
}

/// How a worker is ended.
#[derive(Debug, Clone)]
pub struct ShutdownTokens {
    /// Take no new run, finish those at work, and end. The worker cancels this itself when the scheduler
    /// wants it to drain.
    pub drain: CancellationToken,
    /// Interrupt the runs at work gently, and end.
    pub stop: CancellationToken,
}
