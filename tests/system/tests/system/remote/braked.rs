//! Remote runs while the brake of the fleet is set (docs/runs.md#the-brake-of-the-fleet).

use cts_testkit::eventually;
use cts_tests::{DEADLINE, Instance, met, task};
use serde_json::Value;

use super::stage::{Stage, WORKSPACE, newest_run, waits_for};

const BRAKE: &str =
    "fleet_max_shrink {\n  share = \"20%\"\n  within = \"10m\"\n  at_least = 2\n}\n";

const INSTANCES: [&str; 10] = [
    "web-0", "web-1", "web-2", "web-3", "web-4", "web-5", "web-6", "web-7", "web-8", "web-9",
];

async fn brake_is_set(cts: &Instance) -> Value {
    eventually(DEADLINE, async || {
        let brake = cts.api.get("/v1/brake").await;
        let is_set = brake["set"] == true && brake["lost"] == 4;
        is_set.then(|| brake.clone()).ok_or(brake)
    })
    .await
}

#[tokio::test]
async fn a_remote_run_that_waits_is_named_and_left_alone_and_no_further_one_is_requested() {
    let stage = Stage::with_workspace(false).await;
    for id in INSTANCES {
        stage.register(id).await;
    }
    // The brake is set while the last losses are in the buffer period.
    let more = "buffer_period { min = \"3s\" }";
    let edge = task("edge", "./modules/edge", &["web"], more);
    stage.configure_tasks("", &format!("{BRAKE}{edge}"));
    let cts = stage.start().await;
    let first = stage.server.confirmable(WORKSPACE, DEADLINE).await;
    stage.server.confirm(&first);
    stage.recorded(&INSTANCES).await;
    newest_run(&cts, |run| run["status"] == "succeeded").await;

    stage.consul.deregister(INSTANCES[9]).await;
    let remote = stage.server.confirmable(WORKSPACE, DEADLINE).await;
    assert_ne!(remote, first);
    let waits = "a confirmation of the remote run: https://";
    newest_run(&cts, |run| waits_for(run, waits)).await;
    let runs = stage.runs().len();
    for id in &INSTANCES[6..9] {
        stage.consul.deregister(id).await;
    }
    let brake = brake_is_set(&cts).await;
    let leased = &brake["leased"][0];
    assert_eq!(leased["task_name"], "edge", "{brake}");
    assert_eq!(leased["to_confirm"], true, "{brake}");
    let address = leased["address"].as_str().unwrap();
    assert!(address.ends_with(&remote), "{brake}");
    eventually(DEADLINE, async || {
        let brake = cts.api.get("/v1/brake").await;
        met(brake["held"] == 1, brake.to_string())
    })
    .await;
    assert_eq!(stage.runs().len(), runs, "{:?}", stage.runs());
    for action in ["discard", "cancel", "apply"] {
        let path = format!("/runs/{remote}/actions/{action}");
        assert_eq!(stage.server.count("POST", &path), 0, "{action}");
    }

    // A person confirms it on the server, and then lets the rest go.
    stage.server.confirm(&remote);
    stage.recorded(&INSTANCES[..9]).await;
    assert_eq!(stage.runs().len(), runs, "{:?}", stage.runs());
    let (status, released) = cts.api.send(reqwest::Method::POST, "/v1/brake", None).await;
    assert_eq!(status, 200, "{released}");
    let last = stage.server.confirmable(WORKSPACE, DEADLINE).await;
    stage.server.confirm(&last);
    stage.recorded(&INSTANCES[..6]).await;
    cts.stop().await;
}
