//! A directory of one test with a module, a task and its attempt.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cts_core::{
    Backend, Digest, EngineKind, HealthStatus, Labels, ModuleInterface, RunInput, ServiceInstance,
    StepTimeouts, TaskDefinition,
};
use cts_terraform::{
    Attempt, ChildEnvironment, EnvironmentSources, Executable, InheritedEnvironment, LineChannel,
    OutputLine, RenderSettings, RootModule, StopPolicy, StopSignal, TaskDirectory, Terraform,
    render_root_module, render_tfvars, required_version,
};
use cts_testkit::fixtures;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::mpsc::Receiver;
use tokio_util::task::TaskTracker;

/// A module that keeps its variable in its state.
pub(crate) const KEEPS_SERVICES: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "kept" {
  input = var.services
}
"#;

/// A module that cannot be planned.
pub(crate) const CANNOT_BE_PLANNED: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "never" {
  lifecycle {
    precondition {
      condition     = length(var.services) > 7
      error_message = "there are too few of them"
    }
  }
}
"#;

/// A module whose apply prints `started` and then takes a minute.
pub(crate) const TAKES_LONG: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "echo started; exec sleep 60"
  }
}
"#;

/// Path of an executable: from `variable`, else from `PATH`.
pub(crate) fn tool(variable: &str, name: &str) -> PathBuf {
    let configured = std::env::var_os(variable).map(PathBuf::from);
    let from_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|directory| directory.join(name))
            .find(|file| file.is_file())
    };
    configured
        .or_else(from_path)
        .unwrap_or_else(|| panic!("set {variable} or put {name} into PATH"))
}

/// The path of Terraform.
pub(crate) fn terraform_path() -> PathBuf {
    tool("CTS_TEST_TERRAFORM", "terraform")
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

/// An instance whose texts all come from `text`.
pub(crate) fn instance(id: &str, text: &str) -> ServiceInstance {
    let map = Labels::from_iter([("key".to_owned(), text.to_owned())]);
    ServiceInstance {
        id: id.to_owned(),
        name: text.to_owned(),
        kind: text.to_owned(),
        address: text.to_owned(),
        port: 80,
        meta: map.clone(),
        tags: vec![text.to_owned()],
        namespace: String::new(),
        status: HealthStatus::Passing,
        node: "node".into(),
        node_id: text.to_owned(),
        node_address: text.to_owned(),
        node_datacenter: "dc1".into(),
        node_tagged_addresses: map.clone(),
        node_meta: map,
        ports: Vec::new(),
    }
}

/// The directory and settings of one test; its files are removed when it is dropped.
pub(crate) struct Sandbox {
    root: TempDir,
    pub(crate) terraform: Terraform,
    pub(crate) supervisors: TaskTracker,
    pub(crate) definition: TaskDefinition,
    pub(crate) settings: RenderSettings,
    pub(crate) module: ModuleInterface,
    pub(crate) extra_environment: Vec<(String, String)>,
    pub(crate) worker: Option<String>,
}

impl Sandbox {
    /// A task `edge` with this module and the local backend.
    pub(crate) async fn new(module: &str) -> Self {
        Self::with_engine(EngineKind::Terraform, terraform_path(), module).await
    }

    /// Like [`Self::new`], with the executable of an engine.
    pub(crate) async fn with_engine(engine: EngineKind, path: PathBuf, module: &str) -> Self {
        let root = TempDir::new().unwrap();
        let module_directory = root.path().join("module");
        fs::create_dir(&module_directory).unwrap();
        fs::write(module_directory.join("main.tf"), module).unwrap();
        let environment = clean_environment(root.path());
        let executable = Executable::at(engine, path, &environment, root.path()).await;
        let executable = executable.unwrap();
        let supervisors = TaskTracker::new();
        Self {
            settings: RenderSettings {
                required_version: required_version(engine, executable.version()),
                engine: executable.engine(),
                terraform_version: executable.version().clone(),
                required_providers: Map::new(),
                backend: Backend {
                    kind: "local".into(),
                    arguments: Map::new(),
                },
                providers: Vec::new(),
            },
            module: ModuleInterface::default(),
            definition: TaskDefinition {
                description: "a test".into(),
                module: "./module".into(),
                module_source: module_directory.to_str().unwrap().to_owned(),
                module_digest: Some(Digest::of(module.as_bytes())),
                working_dir: PathBuf::from("sync-tasks/edge"),
                ..fixtures::definition("edge", &["web"])
            },
            terraform: Terraform::new(executable, supervisors.clone()),
            supervisors,
            extra_environment: Vec::new(),
            worker: None,
            root,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn directory(&self) -> TaskDirectory {
        TaskDirectory::new(&self.definition.working_dir, self.root.path())
    }

    pub(crate) fn environment(&self) -> ChildEnvironment {
        let sources = EnvironmentSources {
            inherited: &InheritedEnvironment::of(&clean_environment(self.root.path())),
            tracing: &[],
            backend: &self.extra_environment,
            task_env: &[],
            lock_timeout: None,
            persist_log: false,
            worker: self.worker.as_deref(),
        };
        ChildEnvironment::new(sources, &self.definition.name, &self.directory())
    }

    /// A new attempt and its output.
    pub(crate) fn attempt(&self) -> (Attempt, Receiver<OutputLine>) {
        let (output, lines) = LineChannel::new(1024);
        let attempt = Attempt {
            task: self.definition.name.clone(),
            directory: self.directory(),
            environment: self.environment(),
            output: Arc::new(output),
            stop: StopSignal::new(StopPolicy::default()),
            timeouts: StepTimeouts::default(),
        };
        (attempt, lines)
    }

    /// A new attempt whose files are written and whose directory is prepared, and its output.
    pub(crate) async fn prepared(
        &self,
        services: Vec<ServiceInstance>,
    ) -> (Attempt, Receiver<OutputLine>) {
        let root = self.write(services);
        let (attempt, lines) = self.attempt();
        self.terraform.prepare(&attempt, &root).await.unwrap();
        (attempt, lines)
    }

    /// Writes all files.
    pub(crate) fn write(&self, services: Vec<ServiceInstance>) -> RootModule {
        let root = render_root_module(&self.definition, &self.settings, &self.module).unwrap();
        let input = RunInput {
            services: services.into_iter().map(Arc::new).collect(),
            ..RunInput::without_data(self.definition.clone(), Digest::of(b""))
        };
        self.directory().write_root(&root).unwrap();
        self.directory()
            .write_tfvars(&render_tfvars(&input, &self.module))
            .unwrap();
        root
    }

    /// The state of the task with the local backend.
    pub(crate) fn state(&self) -> Value {
        let file = self
            .directory()
            .path()
            .join("terraform.tfstate.d/edge/terraform.tfstate");
        serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
    }

    /// Replaces the module's only file.
    pub(crate) fn edit_module(&mut self, module: &str) {
        fs::write(self.root.path().join("module/main.tf"), module).unwrap();
        self.definition.module_digest = Some(Digest::of(module.as_bytes()));
    }

    /// Uses the local backend with its states in `directory`.
    pub(crate) fn keep_state_in(&mut self, directory: &str) {
        self.settings.backend.arguments = object(json!({ "workspace_dir": directory }));
    }
}

/// Only those variables of the tests' environment that are needed to start programs.
pub(crate) fn clean_environment(home: &Path) -> BTreeMap<OsString, OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    BTreeMap::from([
        ("PATH".into(), path),
        ("HOME".into(), home.into()),
        ("CHECKPOINT_DISABLE".into(), "1".into()),
    ])
}

/// Checks that the generated files are as `terraform fmt` would have them, which checks .tf and .tfvars
/// files, not templates.
pub(crate) async fn is_formatted(sandbox: &Sandbox) {
    let output = Command::new(terraform_path())
        .args(["fmt", "-check", "-diff", "-no-color"])
        .current_dir(sandbox.directory().path())
        .env_clear()
        .envs(clean_environment(sandbox.path()))
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{error}");
}

/// The value that the module of [`KEEPS_SERVICES`] got.
pub(crate) fn kept_services(state: &Value) -> Value {
    state["resources"][0]["instances"][0]["attributes"]["input"]["value"].clone()
}

/// Waits for a line that contains `text`.
pub(crate) async fn wait_for(lines: &mut Receiver<OutputLine>, text: &str) {
    while let Some(line) = lines.recv().await {
        if line.text.contains(text) {
            return;
        }
    }
    panic!("the output ended without {text:?}");
}
