//! Runs that only check.

use cts_proto::run::v1::RunKind;
use cts_proto::run::v1::complete_run_request::Outcome;

use crate::stage::Stage;

const KEEPS: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "kept" {
  input = var.services
}
"#;

/// A module that does not declare the variable that every task gives its module.
const TAKES_NO_SERVICES: &str = r#"
resource "terraform_data" "kept" {
}
"#;

#[tokio::test]
async fn a_check_initialises_validates_and_renders_and_applies_nothing() {
    let mut stage = Stage::new(KEEPS).await;
    stage.strings.grant(RunKind::Check, stage.input());
    let outcome = stage.strings.outcome().await;
    assert!(matches!(outcome, Outcome::Checked(_)), "{outcome:?}");
    let log = stage.strings.log();
    assert!(
        log.contains("Terraform has been successfully initialized"),
        "{log}"
    );
    assert!(!log.contains("Plan:"), "{log}");
    assert!(!stage.state().exists());
    assert!(stage.file("terraform.tfvars").exists());
}

#[tokio::test]
async fn a_check_of_a_module_that_cannot_be_used_fails() {
    let mut stage = Stage::new(TAKES_NO_SERVICES).await;
    stage.strings.grant(RunKind::Check, stage.input());
    let outcome = stage.strings.outcome().await;
    let Outcome::Failed(failed) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(failed.error.contains("services"), "{}", failed.error);
}
