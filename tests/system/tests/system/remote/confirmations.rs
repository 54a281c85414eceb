//! Remote runs that wait for a person.

use cts_testkit::eventually;
use cts_testkit::hcp::Phase;
use cts_tests::DEADLINE;
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
