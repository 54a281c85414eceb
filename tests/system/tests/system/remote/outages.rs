//! A server that is away, refuses the token, or loses an answer.

use cts_testkit::hcp::{Fault, Phase};
use serde_json::json;

use super::stage::{Stage, newest_run, waits_for};

#[tokio::test]
async fn a_server_that_goes_away_delays_a_run_and_loses_nothing() {
    let stage = Stage::new().await;
    stage.register("web-1").await;
    stage.server.hold(Phase::Planning);
    let cts = stage.start().await;
    stage.reached(Phase::Planning).await;
    stage.server.go_down().await;
    stage.server.release(Phase::Planning);
    stage.reached(Phase::Applied).await;
    stage.server.come_up().await;
    let events = cts.api.wait_for_events("edge", 1).await;
    assert_eq!(events[0]["success"], json!(true), "{events:?}");
    assert_eq!(stage.runs().len(), 1);
    cts.stop().await;
}

#[tokio::test]
async fn a_run_waits_for_a_server_that_is_away_at_the_start() {
    let stage = Stage::new().await;
    stage.register("web-1").await;
    stage.server.go_down().await;
    let cts = stage.start().await;
    newest_run(&cts, |run| waits_for(run, "the server of its workspace: ")).await;
    stage.server.come_up().await;
    stage.recorded(&["web-1"]).await;
    let events = cts.api.wait_for_events("edge", 1).await;
    assert_eq!(events[0]["success"], json!(true), "{events:?}");
    cts.stop().await;
}

#[tokio::test]
async fn a_lost_answer_makes_no_second_run() {
    let stage = Stage::new().await;
    stage.register("web-1").await;
    stage.server.fault(Fault::lose_answer("POST", "/runs"));
    let cts = stage.start().await;
    stage.recorded(&["web-1"]).await;
    cts.api.wait_for_events("edge", 1).await;
    assert_eq!(stage.runs().len(), 1, "{:?}", stage.runs());
    cts.stop().await;
}
