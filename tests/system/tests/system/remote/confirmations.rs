//! Remote runs that wait for a person.

use cts_testkit::eventually;
use cts_testkit::hcp::{Phase, Policy};
use cts_tests::{DEADLINE, task};
use reqwest::Method;
use serde_json::json;

use super::stage::{Stage, WORKSPACE, newest_run, waits_for};

#[tokio::test]
async fn a_confirmed_run_is_applied_and_a_waiting_one_says_so() {
    let stage = Stage::with_workspace(false).await;
    let cts = stage.start().await;
    let waiting = stage.server.confirmable(WORKSPACE, DEADLINE).await;
    newest_run(&cts, |run| {
        waits_for(run, "a confirmation of the remote run: https://")
    })
    .await;
    stage.server.confirm(&waiting);
    stage.recorded(&["web-1"]).await;
    let events = cts.api.wait_for_events("edge", 1).await;
    assert_eq!(events[0]["success"], json!(true));
    newest_run(&cts, |run| run["details"]["phases_ms"]["wait"].is_u64()).await;
    cts.stop().await;
}

/// Costs are estimated, policies are checked, and a status has a name that is not known.
#[tokio::test]
async fn every_status_is_followed_and_a_run_that_waits_leaves_its_slot_to_others() {
    let stage = Stage::with_workspace(false).await;
    let edge = task("edge", "./modules/edge", &["web"], "");
    let tasks = format!("{edge}worker {{ slots = 1 }}\n");
    stage.configure_tasks("", &tasks);
    stage.server.estimate_costs(WORKSPACE, true);
    stage.server.set_policy(WORKSPACE, Policy::Passed);
    stage.server.rename_status(Phase::Planned, "levitating");
    stage.server.hold(Phase::Planned);
    let cts = stage.start().await;
    newest_run(&cts, |run| run["remote_run"]["status"] == "levitating").await;
    stage.server.release(Phase::Planned);
    let waiting = stage.server.confirmable(WORKSPACE, DEADLINE).await;
    stage.reached(Phase::PolicyChecked).await;
    newest_run(&cts, |run| {
        waits_for(run, "a confirmation of the remote run: https://")
    })
    .await;
    let core = json!({ "task": {
        "name": "core", "module": "./modules/edge", "condition": { "services": { "names": ["web"] } },
    } });
    let (status, answer) = cts
        .api
        .send(Method::POST, "/v1/tasks?run=now", Some(core))
        .await;
    assert_eq!(status, 201, "{answer}");
    assert!(stage.server.state("cts-core").is_some());
    stage.server.confirm(&waiting);
    stage.recorded(&["web-1"]).await;
    let events = cts.api.wait_for_events("edge", 1).await;
    assert_eq!(events[0]["success"], json!(true));
    let text = events[0].to_string();
    assert!(text.contains(&format!("/runs/{waiting}")), "{text}");
    cts.stop().await;
}

#[tokio::test]
async fn a_newer_input_discards_the_run_that_waits_and_no_other() {
    let stage = Stage::with_workspace(false).await;
    let cts = stage.start().await;
    let first = stage.server.confirmable(WORKSPACE, DEADLINE).await;
    stage.register("web-2").await;
    let second = eventually(DEADLINE, async || {
        let runs = stage.runs();
        match runs.as_slice() {
            [one, two] if one.phase == Phase::Discarded && two.confirmable => Ok(two.id.clone()),
            _ => Err(format!("{runs:?}")),
        }
    })
    .await;
    assert_ne!(first, second);
    stage.server.confirm(&second);
    stage.recorded(&["web-1", "web-2"]).await;
    let events = cts.api.wait_for_events("edge", 1).await;
    assert_eq!(
        events.len(),
        1,
        "the discarded run has no event: {events:?}"
    );
    cts.stop().await;
}
