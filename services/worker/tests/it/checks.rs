//! Runs that only check.

use cts_proto::run::v1::RunKind;
use cts_testkit::assert_contains;

use crate::stage::{KEEPS, Stage};

/// A module that does not declare the variable that every task gives its module.
const TAKES_NO_SERVICES: &str = r#"
resource "terraform_data" "kept" {
}
"#;

#[tokio::test]
async fn a_check_initialises_validates_and_renders_and_applies_nothing() {
    let mut stage = Stage::new(KEEPS).await;
    stage.strings.grant(RunKind::Check, stage.input());
    stage.strings.checked().await;
    let log = stage.strings.log();
    assert_contains(&log, ["Terraform has been successfully initialized"]);
    assert!(!log.contains("Plan:"), "{log}");
    assert!(!stage.state().exists());
    assert!(stage.file("terraform.tfvars").exists());
}

#[tokio::test]
async fn a_check_of_a_module_that_cannot_be_used_fails() {
    let mut stage = Stage::new(TAKES_NO_SERVICES).await;
    stage.strings.grant(RunKind::Check, stage.input());
    let error = stage.strings.failed().await;
    assert!(error.contains("services"), "{}", error);
}
