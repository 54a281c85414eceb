//! Runs that destroy the resources of a task, and their plans.

use std::path::Path;

use cts_proto::run::v1::RunKind;

use crate::stage::Stage;

/// A module that writes a file while it exists, and removes the file when it is destroyed.
const WRITES: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "file" {
  input = abspath("${path.root}/made.txt")

  provisioner "local-exec" {
    command = "echo made > ${self.input}"
  }

  provisioner "local-exec" {
    when    = destroy
    command = "rm ${self.input}"
  }
}
"#;

async fn applied(stage: &mut Stage) {
    stage.strings.grant(RunKind::Apply, stage.input());
    stage.strings.applied().await;
    assert!(stage.file("made.txt").exists());
}

fn resources(state: &Path) -> usize {
    let state = std::fs::read_to_string(state).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    state["resources"].as_array().unwrap().len()
}

#[tokio::test]
async fn applied_resources_are_destroyed() {
    let mut stage = Stage::new(WRITES).await;
    applied(&mut stage).await;
    assert_eq!(resources(&stage.state()), 1);
    // Twice, as after a death whose report was lost.
    for _ in 0..2 {
        stage.strings.grant(RunKind::Destroy, stage.input());
        stage.strings.destroyed().await;
        assert!(!stage.file("made.txt").exists());
        assert_eq!(resources(&stage.state()), 0);
    }
}

#[tokio::test]
async fn a_destruction_is_planned_and_nothing_is_destroyed() {
    let mut stage = Stage::new(WRITES).await;
    applied(&mut stage).await;
    let state = std::fs::read(stage.state()).unwrap();
    stage.strings.grant(RunKind::DestroyPlan, stage.input());
    let plan = stage.strings.planned().await;
    assert!(plan.changes_present);
    assert!(plan.text.contains("1 to destroy"), "{}", plan.text);
    assert_eq!(std::fs::read(stage.state()).unwrap(), state);
    assert!(stage.file("made.txt").exists());
}
