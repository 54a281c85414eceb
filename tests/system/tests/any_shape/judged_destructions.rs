//! The state judges whether a destruction has succeeded (docs/terraform.md#whose-state-it-is).

use std::fs;

use cts_tests::Instance;
use serde_json::{Value, json};

use crate::system::destructions::{Stage, delete, destroyed_task, until_gone};
use crate::system::states::halting::{HALTING, HaltingTerraform};
use crate::system::states::state_moves::pg;

/// The resources in the state of the task.
pub(crate) fn resources(stage: &Stage) -> Value {
    let state = fs::read(stage.site.state_path("made")).unwrap();
    let state: Value = serde_json::from_slice(&state).unwrap();
    state["resources"].clone()
}

/// Terraform has destroyed everything when cts and all that it has started are killed: before cts learns of that, or
/// while it looks at the state.
#[tokio::test]
async fn a_destruction_whose_result_was_lost_is_not_repeated() {
    for (is_local, command) in [(true, "*-destroy*"), (false, "*/made state pull*")] {
        let stage = Stage::without_configuration().await;
        let terraform = HaltingTerraform::install(&stage.site);
        let backend = if is_local {
            stage.site.shared_backend()
        } else {
            pg().await
        };
        stage.configure(&format!("{HALTING}\n  {backend}"), &destroyed_task());
        let cts = Instance::start(&stage.site).await;
        cts.api.wait_for_events("made", 1).await;
        terraform.halt_after(command);
        delete(&cts.api).await;
        terraform.halted().await;
        assert_eq!((stage.file("made").exists(), stage.begun()), (false, 1));
        let task = cts.api.get("/v1/tasks/made").await;
        assert_eq!(
            task["task"]["name"], "made",
            "it is reported already: {task}"
        );
        cts.kill().await;
        stage.site.kill_terraform().await;
        terraform.go_on();

        let cts = Instance::start(&stage.site).await;
        until_gone(&cts.api, "made").await;
        let runs = cts.api.get("/v1/runs?task=made&limit=1").await;
        let run = &runs["runs"][0];
        let seen = (run["kind"].as_str(), run["status"].as_str());
        assert_eq!(seen, (Some("destroy"), Some("succeeded")), "{run}");
        assert_eq!(cts.api.get("/v1/tasks").await["tasks"], json!([]));
        cts.stop().await;
        stage.site.wait_until_quiet().await;
        assert_eq!((stage.file("made").exists(), stage.begun()), (false, 1));
        if is_local {
            assert_eq!(resources(&stage), json!([]));
        }
    }
}
