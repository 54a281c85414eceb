//! Workspaces that a person has renamed, with a token that may not read states: only their ids show it.

use cts_testkit::eventually;
use cts_testkit::hcp::Right;
use cts_tests::DEADLINE;
use reqwest::Method;
use serde_json::json;

use super::stage::{Stage, WORKSPACE};

const KEPT: &str = "kept-by-a-person";

/// A task that is applied in its workspace, which is then renamed. Returns the id of the workspace.
async fn renamed(stage: &Stage) -> String {
    stage.server.take_rights(&[Right::ReadStates]);
    stage.configure_tasks(
        "",
        &cts_tests::task(
            "edge",
            "./modules/edge",
            &["web"],
            "on_delete = \"destroy\"",
        ),
    );
    stage.register("web-1").await;
    let cts = stage.start().await;
    cts.api.wait_for_events("edge", 1).await;
    cts.stop().await;
    let id = stage.server.workspace(WORKSPACE)["id"]
        .as_str()
        .unwrap()
        .to_owned();
    stage
        .server
        .update_workspace(WORKSPACE, json!({ "name": KEPT }));
    id
}

/// Waits for a run with an error, and returns the error.
async fn error(cts: &cts_tests::Instance) -> String {
    eventually(DEADLINE, async || {
        let runs = cts.api.get("/v1/runs?task=edge").await;
        let mut all = runs["runs"].as_array().unwrap().iter();
        let error = all.find_map(|run| run["error"].as_str());
        error.map(str::to_owned).ok_or_else(|| runs.to_string())
    })
    .await
}

#[tokio::test]
async fn a_destruction_does_not_begin_in_another_workspace_than_the_known_one() {
    for is_replaced in [false, true] {
        let stage = Stage::new().await;
        let id = renamed(&stage).await;
        if is_replaced {
            let attributes = json!({ "auto-apply": true, "execution-mode": "remote" });
            stage.server.create_workspace(WORKSPACE, attributes);
            stage.server.tag(WORKSPACE, "source:cts");
        }
        let workspaces = stage.server.workspaces();
        let cts = stage.start().await;
        let (status, answer) = cts.api.send(Method::DELETE, "/v1/tasks/edge", None).await;
        assert_eq!(status, 202, "{answer}");
        let message = error(&cts).await;
        for part in [&id, KEPT, WORKSPACE, "Nothing was destroyed", "-retain"] {
            assert!(message.contains(part), "{message}");
        }
        if is_replaced {
            let other = stage.server.workspace(WORKSPACE)["id"].to_string();
            assert!(message.contains(other.trim_matches('"')), "{message}");
            assert!(stage.runs().is_empty(), "{:?}", stage.runs());
        }
        assert_eq!(stage.server.workspaces(), workspaces);
        // With its name back, the workspace is the one in which the task is destroyed.
        if is_replaced {
            stage.server.delete_workspace(WORKSPACE);
        }
        stage
            .server
            .update_workspace(KEPT, json!({ "name": WORKSPACE }));
        eventually(DEADLINE, async || {
            match cts.api.ask("/v1/tasks/edge").await {
                Ok((404, _body)) => Ok(()),
                answer => Err(format!("{answer:?}")),
            }
        })
        .await;
        assert_eq!(stage.server.workspace(WORKSPACE)["id"], id);
        stage.recorded(&[]).await;
        cts.stop().await;
    }
}

#[tokio::test]
async fn an_apply_does_not_make_everything_again_beside_a_renamed_workspace() {
    let stage = Stage::new().await;
    let id = renamed(&stage).await;
    let cts = stage.start().await;
    stage.register("web-2").await;
    let message = error(&cts).await;
    for part in [&id, KEPT, WORKSPACE, "Nothing was applied"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!stage.server.workspaces().contains(&WORKSPACE.to_owned()));
    stage
        .server
        .update_workspace(KEPT, json!({ "name": WORKSPACE }));
    stage.register("web-3").await;
    stage.recorded(&["web-1", "web-2", "web-3"]).await;
    cts.stop().await;
}
