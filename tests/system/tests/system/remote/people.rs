//! People and other programs that use the same workspace or the same token.

use cts_testkit::hcp::{Phase, Policy};
use cts_tests::Instance;
use serde_json::{Value, json};

use super::super::cancels::cancel;
use super::stage::{Stage, WORKSPACE, newest_run};

/// Waits until the newest run of the task names this reason, by itself or in its remote run, and returns the run.
async fn reason(cts: &Instance, reason: &str) -> Value {
    newest_run(cts, |run| {
        let waits = run["remote_run"]["waiting_for"].as_str();
        let waits = waits.or_else(|| run["waiting_for"].as_str());
        waits.is_some_and(|waits| waits.contains(reason))
    })
    .await
}

async fn succeeded(cts: &Instance) {
    let events = cts.api.wait_for_events("edge", 1).await;
    assert_eq!(events[0]["success"], json!(true), "{events:?}");
}

#[tokio::test]
async fn a_locked_workspace_delays_the_run_and_says_so() {
    let stage = Stage::with_workspace(true).await;
    stage.server.lock(WORKSPACE);
    let cts = stage.start().await;
    reason(&cts, "the workspace is locked").await;
    stage.server.unlock(WORKSPACE);
    stage.recorded(&["web-1"]).await;
    succeeded(&cts).await;
    cts.stop().await;
}

#[tokio::test]
async fn a_run_of_somebody_else_comes_first_and_is_left_alone() {
    let stage = Stage::with_workspace(true).await;
    let main = "resource \"terraform_data\" \"theirs\" {}\n";
    stage
        .server
        .upload_configuration(WORKSPACE, &[("main.tf", main)]);
    stage.server.hold(Phase::Planning);
    let theirs = stage.server.queue_run(WORKSPACE, "by hand");
    let cts = stage.start().await;
    reason(
        &cts,
        &format!("the run {theirs} of the workspace comes first"),
    )
    .await;
    stage.server.release(Phase::Planning);
    stage.recorded(&["web-1"]).await;
    let first = stage.runs().remove(0);
    assert_eq!((first.id, first.phase), (theirs, Phase::Applied));
    succeeded(&cts).await;
    cts.stop().await;
}

#[tokio::test]
async fn a_policy_that_fails_softly_waits_for_its_override() {
    let stage = Stage::with_workspace(true).await;
    stage.server.set_policy(WORKSPACE, Policy::SoftFailed);
    let cts = stage.start().await;
    let run = reason(&cts, "a decision about a failed policy").await;
    assert_eq!(run["status"], "running", "{run}");
    let waiting = stage.reached(Phase::PolicyOverride).await;
    stage.server.override_policy(&waiting);
    stage.recorded(&["web-1"]).await;
    succeeded(&cts).await;
    cts.stop().await;
}

#[tokio::test]
async fn a_revoked_token_delays_a_run_that_goes_on() {
    let stage = Stage::with_workspace(true).await;
    stage.server.hold(Phase::Planning);
    let cts = stage.start().await;
    stage.reached(Phase::Planning).await;
    stage.server.revoke_token();
    reason(&cts, "does not accept the token").await;
    stage.server.accept_token();
    stage.server.release(Phase::Planning);
    stage.recorded(&["web-1"]).await;
    succeeded(&cts).await;
    assert_eq!(stage.runs().len(), 1, "{:?}", stage.runs());
    cts.stop().await;
}

#[tokio::test]
async fn a_cancelled_run_cancels_its_remote_run() {
    let stage = Stage::with_workspace(true).await;
    stage.server.hold(Phase::Planning);
    let cts = stage.start().await;
    stage.reached(Phase::Planning).await;
    let runs = cts.api.get("/v1/runs?task=edge").await;
    let id = runs["runs"][0]["id"].as_str().unwrap();
    let (status, answer) = cancel(&cts, id, None).await;
    assert_eq!(status, 202, "{answer}");
    stage.reached(Phase::Canceled).await;
    stage.server.release(Phase::Planning);
    let events = cts.api.wait_for_events("edge", 1).await;
    let message = events[0]["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("cancelled"), "{message}");
    assert_eq!(stage.runs().len(), 1, "{:?}", stage.runs());
    cts.stop().await;
}
