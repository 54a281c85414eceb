//! A worker with everything around it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cts_consul::{ConsulClient, ConsulSettings};
use cts_core::settings::SettingsBlocks;
use cts_core::{
    Backend, Capabilities, Condition, Digest, EngineKind, FileDefinition, FrozenInput,
    StepTimeouts, TaskDefinition, TaskName, WorkerId, WorkerRecord,
};
use cts_handlers::{Handlers, Pace};
use cts_rpc::memory_transport;
use cts_runtime::SystemClock;
use cts_telemetry::Signals;
use cts_terraform::{Executable, InheritedEnvironment, RenderSettings, StopPolicy, Terraform};
use cts_worker::{Dependencies, Driver, Options, ShutdownTokens, ValueSources, Worker};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::played_scheduler::{Conduct, Strings, played_scheduler};

/// A secret of the configuration.
pub(crate) const SECRET: &str = "token-of-the-stage";

/// A module that keeps the services that it gets.
pub(crate) const KEEPS: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "kept" {
  input = var.services
}
"#;

pub(crate) struct Stage {
    pub(crate) strings: Strings,
    pub(crate) shutdown: ShutdownTokens,
    root: TempDir,
    _parts: JoinSet<()>,
}

impl Stage {
    /// A worker, and a module for its only task.
    pub(crate) async fn new(module: &str) -> Self {
        Self::configured(module, |_options| {}).await
    }

    /// Like [`Self::new`], with a scheduler that behaves like this from the beginning.
    pub(crate) async fn with_conduct(module: &str, conduct: impl FnOnce(&mut Conduct)) -> Self {
        let engine = (EngineKind::Terraform, terraform_path());
        Self::played(engine, module, |_options| {}, conduct).await
    }

    /// Like [`Self::new`], with other options.
    pub(crate) async fn configured(module: &str, configure: impl FnOnce(&mut Options)) -> Self {
        let engine = (EngineKind::Terraform, terraform_path());
        Self::played(engine, module, configure, |_conduct| {}).await
    }

    /// Like [`Self::new`], with the executable of another engine.
    pub(crate) async fn with_engine(engine: EngineKind, path: PathBuf, module: &str) -> Self {
        Self::played((engine, path), module, |_options| {}, |_conduct| {}).await
    }

    /// Like [`Self::configured`], with this engine, and with a scheduler that behaves like this from the beginning.
    pub(crate) async fn played(
        (engine, path): (EngineKind, PathBuf),
        module: &str,
        configure: impl FnOnce(&mut Options),
        conduct: impl FnOnce(&mut Conduct),
    ) -> Self {
        let root = TempDir::new().unwrap();
        fs::create_dir(root.path().join("module")).unwrap();
        fs::write(root.path().join("module/main.tf"), module).unwrap();
        let environment = environment(root.path());
        let executable = Executable::at(engine, path, &environment, root.path());
        let executable = executable.await.unwrap();
        let (scheduler, strings) = played_scheduler();
        strings.conduct(conduct);
        let (listener, channel) = memory_transport();
        let shutdown = ShutdownTokens {
            drain: CancellationToken::new(),
            stop: CancellationToken::new(),
        };
        let mut options = options(root.path(), &environment, &executable);
        configure(&mut options);
        let terraform = Arc::new(Terraform::new(executable, TaskTracker::new()));
        let worker = Worker::new(
            options,
            Dependencies {
                scheduler: channel,
                driver: Driver::Terraform(terraform),
                bundles: None,
                guard: None,
                values: ValueSources {
                    environment: BTreeMap::from([
                        ("HOOK_PATH".to_owned(), "path-of-the-stage".to_owned()),
                        ("HOOK_SECRET".to_owned(), "secret-of-the-stage".to_owned()),
                    ]),
                    consul: ConsulClient::new(&ConsulSettings::default()).unwrap(),
                    vault: None,
                },
                handlers: Handlers::new(Pace::default(), Arc::new(SystemClock)),
                console: None,
                signals: Signals::off(),
            },
        );
        let mut parts = JoinSet::new();
        let served = scheduler
            .endpoints()
            .serve_memory(listener, std::future::pending::<()>());
        parts.spawn(async { served.await.unwrap() });
        let work = worker.run(shutdown.clone());
        parts.spawn(async { work.await.unwrap() });
        Self {
            strings,
            shutdown,
            root,
            _parts: parts,
        }
    }

    /// The worker's directory.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// The only content of the frozen input of the task.
    pub(crate) fn input(&self) -> Vec<u8> {
        self.input_of(|_definition| {})
    }

    /// Like [`Self::input`], for a changed definition of the task.
    pub(crate) fn input_of(&self, change: impl FnOnce(&mut TaskDefinition)) -> Vec<u8> {
        let module = self.root.path().join("module");
        let mut definition = TaskDefinition {
            module_inputs: Vec::new(),
            services: Vec::new(),
            file_definition: FileDefinition::default(),
            outputs: Vec::new(),
            workspace: None,
            name: TaskName::new("edge").unwrap(),
            description: String::new(),
            module: "./module".into(),
            module_source: module.to_str().unwrap().to_owned(),
            module_digest: None,
            bundle: None,
            version: String::new(),
            providers: Vec::new(),
            condition: Condition::NoCondition,
            variables: BTreeMap::new(),
            working_dir: PathBuf::from("sync-tasks/edge"),
        };
        change(&mut definition);
        let input = FrozenInput::for_check_without_data(&definition, Digest::of(b"")).unwrap();
        input.contents[0].bytes.clone()
    }

    /// A file in the task's directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.path().join("sync-tasks/edge").join(name)
    }

    /// The file with the task's state.
    pub(crate) fn state(&self) -> PathBuf {
        self.file("terraform.tfstate.d/edge/terraform.tfstate")
    }
}

fn options(
    root: &Path,
    environment: &BTreeMap<OsString, OsString>,
    executable: &Executable,
) -> Options {
    Options {
        registration: cts_core::Registration::new([7; 32]),
        record: WorkerRecord {
            id: WorkerId::new("worker-1"),
            host: "here".into(),
            version: "0.1.0".into(),
            slots: 1,
            capabilities: Capabilities {
                engines: Vec::new(),
                bundles: false,
            },
            draining: false,
            settings: None,
            problem: None,
        },
        working_dir: root.to_owned(),
        keeps_journal: true,
        syncs_journal: true,
        is_alone: false,
        environment: InheritedEnvironment::of(environment),
        tracing_environment: Vec::new(),
        backend_environment: Vec::new(),
        previous_backend: None,
        consul_environment: Vec::new(),
        states_in_own_consul: false,
        second_look: Duration::from_millis(1),
        lock_timeout: None,
        persist_log: false,
        release_lost_locks: false,
        stop: StopPolicy::default(),
        timeouts: StepTimeouts::default(),
        drain_timeout: std::time::Duration::from_mins(1),
        render: Arc::new(RenderSettings {
            required_version: cts_terraform::SUPPORTED_RANGE.into(),
            engine: executable.engine(),
            terraform_version: executable.version().clone(),
            required_providers: serde_json::Map::new(),
            backend: Backend {
                kind: "local".into(),
                arguments: serde_json::Map::new(),
            },
            providers: Vec::new(),
        }),
        settings: SettingsBlocks::default(),
        keys: Vec::new(),
        webhooks: Vec::new(),
        secrets: vec![SECRET.into()],
    }
}

/// Only those variables of the tests' environment that are needed to start programs.
fn environment(home: &Path) -> BTreeMap<OsString, OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    BTreeMap::from([
        ("PATH".into(), path),
        ("HOME".into(), home.into()),
        ("CHECKPOINT_DISABLE".into(), "1".into()),
    ])
}

pub(crate) fn terraform_path() -> PathBuf {
    let configured = std::env::var_os("CTS_TEST_TERRAFORM").map(PathBuf::from);
    let from_path = || {
        std::env::split_paths(&std::env::var_os("PATH")?)
            .map(|directory| directory.join("terraform"))
            .find(|file| file.is_file())
    };
    configured
        .or_else(from_path)
        .expect("CTS_TEST_TERRAFORM is set, or terraform is in PATH")
}
