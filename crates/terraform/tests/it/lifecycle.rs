use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::UNIX_EPOCH;

use cts_core::{Digest, TaskName};
use cts_terraform::{CommandFailure, Preparation, Step, Terraform};
use serde_json::json;

use crate::fixture::{KEEPS_SERVICES, Sandbox, instance, kept_services};

#[tokio::test]
async fn a_directory_is_initialised_once() {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let root = sandbox.write(vec![instance("a", "x")]);
    let (attempt, _lines) = sandbox.attempt();
    let terraform = &sandbox.terraform;
    assert_eq!(
        terraform.prepare(&attempt, &root).await.unwrap(),
        Preparation::Validated
    );
    assert_eq!(
        terraform.prepare(&attempt, &root).await.unwrap(),
        Preparation::Reused
    );
    terraform.apply(&attempt).await.unwrap();
    assert_eq!(
        terraform.prepare(&attempt, &root).await.unwrap(),
        Preparation::Reused
    );

    fs::remove_dir_all(sandbox.directory().path().join(".terraform")).unwrap();
    assert_eq!(
        terraform.prepare(&attempt, &root).await.unwrap(),
        Preparation::Initialised
    );

    Terraform::forget_initialisation(&attempt).unwrap();
    assert_eq!(
        terraform.prepare(&attempt, &root).await.unwrap(),
        Preparation::Initialised
    );

    sandbox.edit_module(&format!("# edited\n{KEEPS_SERVICES}"));
    let root = sandbox.write(vec![instance("a", "x")]);
    let prepared = sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    assert_eq!(prepared, Preparation::Validated);
}

#[tokio::test]
async fn a_module_that_was_valid_for_one_task_is_not_validated_for_the_next() {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let _prepared = sandbox.prepared(Vec::new()).await;

    sandbox.definition.name = TaskName::new("other").unwrap();
    sandbox.definition.working_dir = "sync-tasks/other".into();
    let root = sandbox.write(Vec::new());
    // Nothing is copied into a directory that has a data directory already.
    fs::create_dir(sandbox.directory().path().join(".terraform")).unwrap();
    let (attempt, _lines) = sandbox.attempt();
    let prepared = sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    assert_eq!(prepared, Preparation::Initialised);
    sandbox.terraform.apply(&attempt).await.unwrap();
}

#[tokio::test]
async fn state_is_kept_in_the_workspace_of_the_task() {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let (attempt, _lines) = sandbox.prepared(vec![instance("a", "x")]).await;
    let workspace = sandbox.directory().path().join(".terraform/environment");
    assert_eq!(fs::read_to_string(&workspace).unwrap(), "edge");

    // Another workspace is chosen by hand.
    fs::write(&workspace, "elsewhere").unwrap();
    sandbox.terraform.apply(&attempt).await.unwrap();
    assert!(sandbox.state()["resources"][0].is_object());
    assert!(
        !sandbox
            .directory()
            .path()
            .join("terraform.tfstate.d/elsewhere")
            .exists()
    );
}

#[tokio::test]
async fn plan_tells_whether_there_are_changes() {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let (attempt, _lines) = sandbox.prepared(vec![instance("a", "x")]).await;
    let plan = sandbox.terraform.plan(&attempt).await.unwrap();
    assert!(plan.changes_present);
    assert!(plan.text.contains("1 to add"), "{}", plan.text);
    sandbox.terraform.apply(&attempt).await.unwrap();
    let plan = sandbox.terraform.plan(&attempt).await.unwrap();
    assert!(!plan.changes_present, "{}", plan.text);
}

#[tokio::test]
async fn a_module_without_services_is_named() {
    let sandbox = Sandbox::new("variable \"other\" {\n  default = 1\n}\n").await;
    let root = sandbox.write(Vec::new());
    let (attempt, _lines) = sandbox.attempt();
    let error = sandbox
        .terraform
        .prepare(&attempt, &root)
        .await
        .unwrap_err();
    assert_eq!(error.step, Step::Validate);
    let CommandFailure::Invalid { diagnostics } = &error.failure else {
        panic!("{error}");
    };
    assert!(
        diagnostics.starts_with("Error: Unsupported argument\n\n  on main.tf line "),
        "{diagnostics}"
    );
    assert!(diagnostics.contains("module for task \"edge\" is missing the \"services\" variable"));
    // The failure is not remembered.
    let again = sandbox
        .terraform
        .prepare(&attempt, &root)
        .await
        .unwrap_err();
    assert_eq!(again.step, Step::Validate);
}

#[tokio::test]
async fn an_apply_that_asks_for_init_gets_it_next_time() {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let root = sandbox.write(Vec::new());
    let (attempt, _lines) = sandbox.attempt();
    sandbox.terraform.prepare(&attempt, &root).await.unwrap();

    // The module needs a nested module, and its digest does not show the change.
    let nested = sandbox.path().join("module/nested");
    fs::create_dir(&nested).unwrap();
    fs::write(nested.join("main.tf"), "").unwrap();
    let digest = sandbox.definition.module_digest;
    sandbox.edit_module(&format!(
        "{KEEPS_SERVICES}\nmodule \"nested\" {{\n  source = \"./nested\"\n}}\n"
    ));
    sandbox.definition.module_digest = digest;
    assert_eq!(
        sandbox.terraform.prepare(&attempt, &root).await.unwrap(),
        Preparation::Reused
    );
    let error = sandbox.terraform.apply(&attempt).await.unwrap_err();
    assert!(error.needs_initialisation(), "{error}");

    assert_ne!(
        sandbox.terraform.prepare(&attempt, &root).await.unwrap(),
        Preparation::Reused
    );
    sandbox.terraform.apply(&attempt).await.unwrap();
}

#[tokio::test]
async fn files_are_private_and_touched_only_when_they_differ() {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    sandbox.definition.variables.insert("size".into(), 1.into());
    sandbox.write(Vec::new());
    let directory = sandbox.directory().path().to_owned();
    let mode = |name: &str| {
        fs::metadata(directory.join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode("main.tf") & !0o640, 0);
    assert_eq!(mode("terraform.tfvars") & !0o640, 0);
    assert_eq!(mode(".") & !0o750, 0);
    assert_eq!(mode("..") & !0o750, 0);

    let files = ["main.tf", "terraform.tfvars"];
    for name in files {
        let file = fs::File::options().write(true).open(directory.join(name));
        file.unwrap().set_modified(UNIX_EPOCH).unwrap();
    }
    let touched = || {
        files.map(|name| {
            let modified = fs::metadata(directory.join(name)).unwrap().modified();
            modified.unwrap() != UNIX_EPOCH
        })
    };
    sandbox.write(Vec::new());
    assert_eq!(touched(), [false, false]);
    sandbox.write(vec![instance("a", "x")]);
    assert_eq!(touched(), [false, true]);

    sandbox.definition.variables.clear();
    fs::write(directory.join("variables.auto.tfvars"), "mine = 1\n").unwrap();
    sandbox.write(Vec::new());
    assert!(!directory.join("variables.module.tf").exists());
    assert!(directory.join("variables.auto.tfvars").exists());
}

#[tokio::test]
async fn a_module_in_place_may_call_what_is_beside_it() {
    let mut sandbox = Sandbox::new("").await;
    let shared = sandbox.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("main.tf"), KEEPS_SERVICES).unwrap();
    sandbox.edit_module(
        r#"
variable "services" {
  type = any
}

module "shared" {
  source   = "../shared"
  services = var.services
}
"#,
    );
    // The source that the configuration gives for a module whose calls leave its directory.
    sandbox.definition.module_source = format!("{}//module", sandbox.path().display());
    let root = sandbox.write(vec![instance("a", "x")]);
    let (attempt, _lines) = sandbox.attempt();
    let terraform = &sandbox.terraform;
    terraform.prepare(&attempt, &root).await.unwrap();
    terraform.apply(&attempt).await.unwrap();
    assert_eq!(kept_services(&sandbox.state())["a.node.dc1"]["port"], 80);

    // Terraform must have linked the directory that holds both, not copied it: an edited module works without
    // another initialisation, and the task directories may be below it.
    let edited = format!("{KEEPS_SERVICES}\noutput \"edited\" {{\n  value = true\n}}\n");
    fs::write(shared.join("main.tf"), edited).unwrap();
    sandbox.definition.module_digest = Some(Digest::of(b"edited"));
    let root = sandbox.write(vec![instance("a", "y")]);
    let prepared = sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    assert_eq!(prepared, Preparation::Validated);
    sandbox.terraform.apply(&attempt).await.unwrap();
    assert_eq!(kept_services(&sandbox.state())["a.node.dc1"]["name"], "y");
}

#[tokio::test]
async fn files_of_terraform_that_are_torn_are_made_anew() {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let root = sandbox.write(vec![instance("a", "x")]);
    let (attempt, _lines) = sandbox.attempt();
    let terraform = &sandbox.terraform;
    terraform.prepare(&attempt, &root).await.unwrap();
    terraform.apply(&attempt).await.unwrap();
    let directory = sandbox.directory();
    for file in [
        ".terraform/terraform.tfstate",
        ".terraform/modules/modules.json",
        ".terraform.lock.hcl",
    ] {
        for torn in ["", "{\"ver", "\0\0\0"] {
            // Terraform fills an empty lock file, and reports mistakes in one to its user.
            if file == ".terraform.lock.hcl" && torn != "\0\0\0" {
                continue;
            }
            fs::write(directory.path().join(file), torn).unwrap();
            let prepared = terraform.prepare(&attempt, &root).await.unwrap();
            assert_eq!(prepared, Preparation::Initialised, "{file} {torn:?}");
            let again = terraform.prepare(&attempt, &root).await.unwrap();
            assert_eq!(again, Preparation::Reused, "{file} {torn:?}");
        }
    }
    let plan = terraform.plan(&attempt).await.unwrap();
    assert!(!plan.changes_present, "{}", plan.text);
}

#[tokio::test]
async fn a_token_in_the_source_of_a_module_is_for_nobody_else_to_read() {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    sandbox.write(Vec::new());
    let mode = |file: &str| {
        let path = sandbox.directory().path().join(file);
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!([mode(""), mode("main.tf")], [0o750, 0o640]);
    sandbox.definition.module_source = "git::https://a-token@127.0.0.1/x.git".into();
    sandbox.write(Vec::new());
    let mode = |file: &str| {
        let path = sandbox.directory().path().join(file);
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!([mode(""), mode("main.tf")], [0o700, 0o600]);
}

#[tokio::test]
async fn variables_with_a_hidden_part_are_for_nobody_else_to_read() {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    for (conf, expected) in [
        (json!({"region": "eu"}), 0o640),
        (json!({"region": "eu", "list": [{"api_token": "t"}]}), 0o600),
        (json!(["https://user:password@localhost"]), 0o600),
    ] {
        sandbox.definition.variables = [("conf".to_owned(), conf)].into();
        sandbox.write(Vec::new());
        let path = sandbox.directory().path().join("variables.auto.tfvars");
        let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, expected);
    }
}
