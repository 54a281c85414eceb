//! Results of `init` for one task serve others of the same shape.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use cts_core::TaskName;
use cts_terraform::{Preparation, RootModule, TRACE_PARENT, Terraform};
use serde_json::Value;

use crate::fixture::{KEEPS_SERVICES, Sandbox, instance, kept_services};

/// A module with a nested module.
const NESTED: &str = r#"
variable "services" {
  type = any
}

module "inner" {
  source   = "./inner"
  services = var.services
}
"#;

async fn nested() -> Sandbox {
    let sandbox = Sandbox::new(NESTED).await;
    let inner = sandbox.path().join("module/inner");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("main.tf"), KEEPS_SERVICES).unwrap();
    sandbox
}

/// Turns the sandbox into another task with this module, and writes its files.
fn become_task(sandbox: &mut Sandbox, name: &str) -> RootModule {
    sandbox.definition.name = TaskName::new(name).unwrap();
    sandbox.definition.description = format!("the task {name}");
    sandbox.definition.working_dir = PathBuf::from("sync-tasks").join(name);
    sandbox.write(vec![instance("a", name)])
}

async fn prepare(sandbox: &Sandbox, root: &RootModule) -> Preparation {
    let (attempt, _lines) = sandbox.attempt();
    sandbox.terraform.prepare(&attempt, root).await.unwrap()
}

fn data_directory(sandbox: &Sandbox) -> PathBuf {
    sandbox.directory().path().join(".terraform")
}

#[tokio::test]
async fn tasks_whose_commands_belong_to_different_spans_share_the_results() {
    let mut sandbox = nested().await;
    let span = |name: &str| vec![(TRACE_PARENT.to_owned(), name.to_owned())];
    sandbox.extra_environment = span("first");
    let first = sandbox.write(Vec::new());
    assert_eq!(prepare(&sandbox, &first).await, Preparation::Validated);
    sandbox.extra_environment = span("second");
    let root = become_task(&mut sandbox, "next");
    assert_eq!(prepare(&sandbox, &root).await, Preparation::Shared);
}

#[tokio::test]
async fn the_next_task_of_a_shape_needs_no_init() {
    let mut sandbox = nested().await;
    let first = sandbox.write(Vec::new());
    assert_eq!(prepare(&sandbox, &first).await, Preparation::Validated);
    for name in ["next", "edge-2"] {
        let root = become_task(&mut sandbox, name);
        assert_eq!(prepare(&sandbox, &root).await, Preparation::Shared);
        assert_eq!(prepare(&sandbox, &root).await, Preparation::Reused);
        let (attempt, _lines) = sandbox.attempt();
        sandbox.terraform.apply(&attempt).await.unwrap();

        let state = sandbox.directory().path().join("terraform.tfstate.d");
        let state = state.join(name).join("terraform.tfstate");
        let state: Value = serde_json::from_slice(&fs::read(state).unwrap()).unwrap();
        let module = &state["resources"][0]["module"];
        assert_eq!(*module, format!("module.{name}.module.inner"));
        let kept = kept_services(&state);
        assert_eq!(kept["a.node.dc1"]["name"], name);
        let manifest = data_directory(&sandbox).join("modules/modules.json");
        let manifest = fs::read_to_string(manifest).unwrap();
        assert!(!manifest.contains("\"edge\""), "{manifest}");
    }
}

#[tokio::test]
async fn tasks_that_come_together_run_one_init() {
    let mut sandbox = nested().await;
    let first = sandbox.write(Vec::new());
    let (attempt, _lines) = sandbox.attempt();
    let next = become_task(&mut sandbox, "next");
    let (other, _lines) = sandbox.attempt();
    let terraform = &sandbox.terraform;
    let (one, other) = tokio::join!(
        terraform.prepare(&attempt, &first),
        terraform.prepare(&other, &next)
    );
    let done = (one.unwrap(), other.unwrap());
    assert_eq!(done, (Preparation::Validated, Preparation::Shared));
}

#[tokio::test]
async fn init_runs_again_in_initialised_directories() {
    let mut sandbox = nested().await;
    let first = sandbox.write(Vec::new());
    prepare(&sandbox, &first).await;
    for (name, file) in [("next", ".terraform/x"), ("third", ".terraform.lock.hcl")] {
        let root = become_task(&mut sandbox, name);
        let file = sandbox.directory().path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
        assert_eq!(prepare(&sandbox, &root).await, Preparation::Initialised);
    }
}

#[tokio::test]
async fn another_environment_or_backend_or_module_is_another_shape() {
    let mut sandbox = nested().await;
    let first = sandbox.write(Vec::new());
    prepare(&sandbox, &first).await;

    let root = become_task(&mut sandbox, "environment");
    let variable = ("LB_LOG".to_owned(), "warn".to_owned());
    sandbox.extra_environment = vec![variable];
    assert_eq!(prepare(&sandbox, &root).await, Preparation::Initialised);
    sandbox.extra_environment.clear();

    sandbox.edit_module(&format!("# edited\n{NESTED}"));
    let root = become_task(&mut sandbox, "module");
    assert_eq!(prepare(&sandbox, &root).await, Preparation::Validated);

    sandbox.keep_state_in("elsewhere");
    let root = become_task(&mut sandbox, "backend");
    assert_eq!(prepare(&sandbox, &root).await, Preparation::Validated);
}

#[tokio::test]
async fn a_source_that_is_gone_or_must_be_initialised_again_is_none() {
    let mut sandbox = nested().await;
    let first = sandbox.write(Vec::new());
    prepare(&sandbox, &first).await;
    let (attempt, _lines) = sandbox.attempt();
    Terraform::forget_initialisation(&attempt).unwrap();
    let root = become_task(&mut sandbox, "next");
    assert_eq!(prepare(&sandbox, &root).await, Preparation::Initialised);
    fs::remove_dir_all(data_directory(&sandbox)).unwrap();
    let root = become_task(&mut sandbox, "third");
    assert_eq!(prepare(&sandbox, &root).await, Preparation::Initialised);
}

#[tokio::test]
async fn a_copy_shares_executables_and_nothing_else() {
    let mut sandbox = nested().await;
    let first = sandbox.write(Vec::new());
    prepare(&sandbox, &first).await;
    let provider = Path::new("providers/example/lb/1.0.0/linux_amd64");
    let source = data_directory(&sandbox);
    fs::create_dir_all(source.join(provider)).unwrap();
    for (name, mode) in [("terraform-provider-lb", 0o755), ("README", 0o644)] {
        let file = source.join(provider).join(name);
        fs::write(&file, name).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::write(sandbox.directory().path().join(".terraform.lock.hcl"), "#").unwrap();

    let root = become_task(&mut sandbox, "next");
    // The rest of a copy that a kill has interrupted.
    let staged = sandbox.directory().path().join(".terraform.cts-new");
    fs::create_dir_all(staged.join("modules")).unwrap();
    assert_eq!(prepare(&sandbox, &root).await, Preparation::Shared);
    assert!(!staged.exists());
    let copy = data_directory(&sandbox);
    let inode = |file: PathBuf| fs::metadata(file).unwrap().ino();
    let shares = |name: &str| inode(source.join(name)) == inode(copy.join(name));
    let file = |name: &str| provider.join(name).to_str().unwrap().to_owned();
    assert!(shares(&file("terraform-provider-lb")));
    assert!(!shares(&file("README")) && !shares("terraform.tfstate"));
    assert!(!shares("modules/modules.json"));
    let lock = sandbox.directory().path().join(".terraform.lock.hcl");
    assert_eq!(fs::read_to_string(lock).unwrap(), "#");
}

#[tokio::test]
async fn another_lock_file_wants_another_init() {
    let sandbox = nested().await;
    let root = sandbox.write(Vec::new());
    prepare(&sandbox, &root).await;
    let lock = sandbox.directory().path().join(".terraform.lock.hcl");
    fs::write(&lock, "# by hand\n").unwrap();
    assert_eq!(prepare(&sandbox, &root).await, Preparation::Initialised);
    assert_eq!(prepare(&sandbox, &root).await, Preparation::Reused);
    fs::remove_file(&lock).unwrap();
    assert_eq!(prepare(&sandbox, &root).await, Preparation::Initialised);
}
