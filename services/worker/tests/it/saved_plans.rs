//! Applies of saved plans.

use cts_core::PlanMode;
use cts_proto::run::v1::RunKind;

use crate::stage::{SECRET, Stage};

const KEEPS: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "kept" {
  input = "<token-of-the-stage>"
}
"#;

#[tokio::test]
async fn a_saved_plan_is_what_is_applied_and_its_file_goes() {
    let mut stage = Stage::new(KEEPS).await;
    let saved = stage.input_of(|definition| definition.file_definition.plan = PlanMode::Saved);
    stage.strings.grant(RunKind::Apply, saved);
    stage.strings.applied().await;
    let log = stage.strings.log();
    assert!(log.contains("Plan: 1 to add"), "{log}");
    assert!(log.contains("Apply complete! Resources: 1 added"), "{log}");
    assert!(!log.contains(SECRET), "{log}");
    let details = stage.strings.details();
    assert_eq!(details.resources.map(|resources| resources.added), Some(1));
    assert_eq!(details.changes.len(), 1);
    let phases = details.phases.unwrap();
    assert!(phases.plan.is_some() && phases.apply.is_some());
    assert!(stage.state().exists());
    assert!(!stage.file("saved.tfplan").exists());
    assert_eq!(stage.strings.conduct(|conduct| conduct.permits.len()), 0);
}
