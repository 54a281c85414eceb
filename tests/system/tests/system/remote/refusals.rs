//! Workspaces and tokens that cts must not use, and does not.

use cts_testkit::hcp::Right;
use serde_json::json;

use super::stage::{Stage, WORKSPACE};

/// The error of the first event of the task.
async fn refused(stage: &Stage) -> String {
    stage.register("web-1").await;
    let cts = stage.start().await;
    let events = cts.api.wait_for_events("edge", 1).await;
    assert_eq!(events[0]["success"], json!(false));
    let message = events[0]["error"]["message"].as_str().unwrap().to_owned();
    cts.stop().await;
    message
}

#[tokio::test]
async fn a_workspace_of_others_is_left_as_it_is() {
    let stage = Stage::new().await;
    stage
        .server
        .create_workspace(WORKSPACE, json!({ "execution-mode": "remote" }));
    let before = stage.server.workspace(WORKSPACE);
    let message = refused(&stage).await;
    assert!(
        message.contains("does not have the tag \"source:cts\""),
        "{message}"
    );
    assert!(
        message.contains("/app/acme/workspaces/cts-edge"),
        "{message}"
    );
    assert_eq!(stage.server.workspace(WORKSPACE), before);
    assert!(stage.runs().is_empty());
    assert!(stage.server.variables(WORKSPACE).is_empty());
}

#[tokio::test]
async fn a_workspace_of_cts_that_has_lost_its_tag_is_refused_once_it_was_used() {
    let stage = Stage::new().await;
    let attributes = json!({ "execution-mode": "remote", "source-name": "cts" });
    stage.server.create_workspace(WORKSPACE, attributes);
    stage
        .server
        .upload_configuration(WORKSPACE, &[("main.tf", "")]);
    stage.server.queue_run(WORKSPACE, "by hand");
    let message = refused(&stage).await;
    assert!(
        message.contains("does not have the tag \"source:cts\""),
        "{message}"
    );
}

#[tokio::test]
async fn a_token_without_rights_says_which() {
    let stage = Stage::new().await;
    stage.server.take_rights(&[Right::ManageWorkspaces]);
    let message = refused(&stage).await;
    assert!(
        message.contains("has no right to manage its workspaces"),
        "{message}"
    );
}
