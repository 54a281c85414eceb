//! Requests that are refused, with their answers.

use cts_testkit::hcp::{HcpSettings, Phase, Right};
use serde_json::json;

use crate::client::Session;

#[tokio::test]
async fn a_missing_right_hides_the_object() {
    let attributes = json!({"auto-apply": true});
    let mut session = Session::with_workspace(HcpSettings::default(), attributes).await;
    session.server.queue_run("web", "m");
    session.reached(Phase::Applied).await;
    session
        .table("GET /workspaces/{ws}/current-state-version -> 200")
        .await;
    let rights = [Right::ManageWorkspaces, Right::ReadStates];
    session.server.take_rights(&rights);
    let rows = r#"
POST /organizations/acme/workspaces workspaces {"name": "n"} -> 404 error not found
PATCH /workspaces/{ws} workspaces {} -> 404 error not found
POST /workspaces/{ws}/relationships/tags {"data": []} -> 404 error not found
GET /workspaces/{ws}/current-state-version -> 404 error not found
GET /workspaces/{ws} -> 200 attributes {"permissions": {"can-update": false, "can-queue-run": true}}"#;
    session.table(rows).await;
    session.server.revoke_token();
    session
        .table("GET /workspaces/{ws} -> 401 error unauthorized")
        .await;
}

#[tokio::test]
async fn actions_need_the_right_state() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    let locks = "
POST /workspaces/{ws}/actions/unlock -> 409 error conflict
POST /workspaces/{ws}/actions/force-unlock -> 409 error conflict
POST /workspaces/{ws}/actions/lock -> 200
POST /workspaces/{ws}/actions/lock -> 409 error conflict
POST /workspaces/{ws}/actions/safe-delete -> 409 error conflict
POST /workspaces/{ws}/actions/unlock -> 200";
    session.table(locks).await;
    session.server.lock("web");
    session
        .table("POST /workspaces/{ws}/actions/unlock -> 409 error conflict")
        .await;
    session.server.unlock("web");
    session.table("POST /runs run {} -> 201 as run").await;
    session.confirmable().await;
    let waiting = "
POST /workspaces/{ws}/actions/lock -> 409 error conflict
POST /workspaces/{ws}/actions/unlock -> 409 error conflict
POST /runs/{run}/actions/cancel -> 409
POST /runs/{run}/actions/force-cancel -> 409
POST /runs/{run}/actions/apply -> 202";
    session.table(waiting).await;
    session.reached(Phase::Applied).await;
    let ended = "
POST /runs/{run}/actions/cancel -> 409
POST /runs/{run}/actions/discard -> 409
POST /runs/{run}/actions/apply -> 409
POST /workspaces/{ws}/actions/safe-delete -> 409";
    session.table(ended).await;
}
