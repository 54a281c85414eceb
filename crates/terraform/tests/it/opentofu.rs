//! Tests with a real `OpenTofu`.

use std::fs;

use cts_core::EngineKind;
use cts_terraform::Preparation;
use cts_testkit::tofu_path;

use crate::fixture::{KEEPS_SERVICES, Sandbox, instance};

async fn sandbox() -> Sandbox {
    Sandbox::with_engine(EngineKind::OpenTofu, tofu_path(), KEEPS_SERVICES).await
}

#[tokio::test]
async fn a_task_is_prepared_applied_and_planned() {
    let sandbox = sandbox().await;
    let (attempt, _lines) = sandbox.prepared(vec![instance("a", "x")]).await;
    let plan = sandbox.terraform.plan(&attempt).await.unwrap();
    assert!(plan.changes_present);
    assert!(plan.text.contains("Plan: 1 to add"), "{}", plan.text);
    sandbox.terraform.apply(&attempt).await.unwrap();
    let state = sandbox.state().to_string();
    assert!(state.contains("terraform_data"), "{state}");
    let plan = sandbox.terraform.plan(&attempt).await.unwrap();
    assert!(!plan.changes_present);
}

#[tokio::test]
async fn understands_that_opentofu_needs_initialisation() {
    let mut sandbox = sandbox().await;
    let root = sandbox.write(vec![instance("a", "x")]);
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
    let error = sandbox.terraform.apply(&attempt).await.unwrap_err();
    assert!(error.needs_initialisation(), "{error}");
    let again = sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    assert_ne!(again, Preparation::Reused);
    sandbox.terraform.apply(&attempt).await.unwrap();
}
