//! The state judges whether a destruction has succeeded (docs/terraform.md#whose-state-it-is).

use std::fs;

use cts_testkit::eventually;
use cts_tests::{DEADLINE, Instance};
use serde_json::{Value, json};

use crate::system::destructions::{Stage, delete, destroyed_task, until_gone};
use crate::system::halting::{HALTING, HaltingTerraform};
use crate::system::state_moves::pg;

/// Lineage of a state that was made elsewhere.
const FOREIGN: &str = "11111111-2222-3333-4444-555555555555";

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

/// Changes the file of the state and removes the task directory, checks that the destruction of the task fails with
/// these texts, and gives it up.
async fn is_given_up(texts: &[&str], change: impl Fn(&Stage)) {
    let stage = Stage::without_configuration().await;
    stage.configure(&stage.site.shared_backend(), &destroyed_task());
    let cts = Instance::start(&stage.site).await;
    cts.api.wait_for_events("made", 1).await;
    cts.stop().await;
    fs::remove_dir_all(stage.site.work().join("made")).unwrap();
    change(&stage);
    let cts = Instance::start(&stage.site).await;
    delete(&cts.api).await;
    let error = eventually(DEADLINE, async || {
        let runs = cts.api.get("/v1/runs?task=made&limit=1").await;
        let run = &runs["runs"][0];
        let error = run["error"]
            .as_str()
            .filter(|_error| run["kind"] == "destroy");
        // A worker that is starved of time may lose the run before.
        let error = error.filter(|error| error.contains(texts[0]));
        error.map(str::to_owned).ok_or_else(|| runs.clone())
    })
    .await;
    for text in texts.iter().copied().chain([
        "\"local\", workspace made",
        "`cts task delete -retain made`",
    ]) {
        assert!(error.contains(text), "{text}: {error}");
    }
    let task = cts.api.get("/v1/tasks/made").await;
    assert_eq!(task["task"]["name"], "made", "{task}");

    let address = format!("-http-addr=http://{}", cts.api.address());
    let command = [
        "task",
        "delete",
        "-retain",
        "-auto-approve",
        &address,
        "made",
    ];
    let exit = stage.site.run("cts", &command, "delete.log").wait().await;
    exit.assert_code(0);
    until_gone(&cts.api, "made").await;
    cts.stop().await;
    assert_eq!((stage.file("made").exists(), stage.begun()), (true, 0));
}

#[tokio::test]
async fn a_destruction_without_the_state_fails_until_it_is_given_up() {
    let remove = |stage: &Stage| fs::remove_file(stage.site.state_path("made")).unwrap();
    let nowhere = [
        "the task's state is not there, and it is not known where it was before",
        "Nothing was destroyed",
    ];
    is_given_up(&nowhere, remove).await;
}

#[tokio::test]
async fn a_destruction_with_the_state_of_something_else_fails_until_it_is_given_up() {
    let refused = [FOREIGN, "Nothing was destroyed"];
    is_given_up(&refused, |stage| {
        let path = stage.site.state_path("made");
        let mut state: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        state["lineage"] = FOREIGN.into();
        // A later serial: a first state without resources would count as no state.
        state["serial"] = 3.into();
        fs::write(&path, state.to_string()).unwrap();
    })
    .await;
}
