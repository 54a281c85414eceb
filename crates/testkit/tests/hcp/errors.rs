//! Requests that are refused, with their answers.

use cts_testkit::hcp::{Flavour, HcpSettings, Phase, Right};
use serde_json::json;

use crate::client::Session;

async fn session(flavour: Flavour) -> Session {
    let settings = HcpSettings {
        flavour,
        ..HcpSettings::default()
    };
    Session::with_workspace(settings, json!({})).await
}

#[tokio::test]
async fn unknown_objects_are_not_found() {
    let mut session = session(Flavour::Hcp).await;
    let rows = "
GET /nothing -> 404 error not found
GET /organizations/other/workspaces -> 404 error not found
GET /organizations/acme/workspaces/none -> 404 error not found
GET /projects/none -> 404 error not found
GET /agent-pools/none -> 404 error not found
GET /workspaces/none -> 404 error not found
GET /workspaces/none/vars -> 404 error not found
GET /workspaces/{ws}/nothing -> 404 error not found
GET /workspaces/{ws}/current-state-version -> 404 error not found
PATCH /workspaces/{ws}/vars/none vars {} -> 404 error not found
DELETE /workspaces/{ws}/vars/none -> 404 error not found
GET /configuration-versions/none -> 404 error not found
GET /configuration-versions/none/download -> 404 error not found
GET /runs/none -> 404 error not found
GET /runs/none/plan -> 404 error not found
GET /runs/none/apply -> 404 error not found
GET /runs/none/policy-checks -> 404 error not found
GET /runs/none/task-stages -> 404 error not found
POST /runs/none/actions/apply -> 404 error not found
POST /runs/none/actions/discard -> 404 error not found
POST /runs/none/actions/cancel -> 404 error not found
POST /runs/none/actions/force-cancel -> 404 error not found
GET /plans/none -> 404 error not found
GET /plans/none/json-output -> 404 error not found
GET /applies/none -> 404 error not found
GET /policy-checks/none -> 404 error not found
GET /policy-checks/none/output -> 404 error not found
POST /policy-checks/none/actions/override -> 404 error not found
GET /state-versions/none -> 404 error not found
GET /state-versions/none/hosted_state -> 404 error not found";
    session.table(rows).await;
}

#[tokio::test]
async fn missing_rights_are_hidden_or_named() {
    let rows = [
        (Right::Read, "GET /workspaces/{ws}"),
        (
            Right::ManageWorkspaces,
            r#"POST /organizations/acme/workspaces workspaces {"name": "n"}"#,
        ),
        (
            Right::ManageWorkspaces,
            "PATCH /workspaces/{ws} workspaces {}",
        ),
        (
            Right::ManageWorkspaces,
            r#"POST /workspaces/{ws}/relationships/tags {"data": []}"#,
        ),
        (Right::DeleteWorkspaces, "DELETE /workspaces/{ws}"),
        (
            Right::DeleteWorkspaces,
            "POST /workspaces/{ws}/actions/safe-delete",
        ),
        (Right::Lock, "POST /workspaces/{ws}/actions/lock"),
        (Right::Variables, "GET /workspaces/{ws}/vars"),
        (Right::QueueRuns, "POST /runs run {}"),
        (Right::QueueRuns, "POST /runs/none/actions/cancel"),
        (
            Right::QueueRuns,
            "POST /workspaces/{ws}/configuration-versions configuration-versions {}",
        ),
        (Right::ApplyRuns, "POST /runs/none/actions/apply"),
        (
            Right::OverridePolicies,
            "POST /policy-checks/none/actions/override",
        ),
        (Right::ReadStates, "GET /state-versions/none"),
        (
            Right::WriteStates,
            "POST /workspaces/{ws}/state-versions state-versions {}",
        ),
    ];
    for (flavour, status) in [(Flavour::Hcp, 404), (Flavour::Otf, 403)] {
        let mut session = session(flavour).await;
        for (right, request) in rows {
            session.server.take_rights(&[right]);
            session.table(&format!("{request} -> {status}")).await;
        }
        session.server.take_rights(&[Right::QueueRuns]);
        let shown = r#"
GET /workspaces/{ws} -> 200 attributes {"permissions": {"can-queue-run": false, "can-update-variable": true}}"#;
        session.table(shown).await;
    }
}

#[tokio::test]
async fn a_revoked_token_is_refused_until_another_takes_its_place() {
    let mut session = session(Flavour::Hcp).await;
    session.server.revoke_token();
    session
        .table("GET /workspaces/{ws} -> 401 error unauthorized")
        .await;
    session.server.accept_token();
    session.table("GET /workspaces/{ws} -> 200").await;
    let old = session.server.token();
    assert_ne!(session.server.replace_token(), old);
    session.table("GET /workspaces/{ws} -> 200").await;
    let ping = format!("{}ping", session.server.api_address());
    let request = session.client.get(ping).bearer_auth(old);
    assert_eq!(request.send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn actions_need_the_right_state() {
    for (flavour, refused) in [(Flavour::Hcp, 409), (Flavour::Otf, 500)] {
        let mut session = session(flavour).await;
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
        let waiting = format!(
            "POST /workspaces/{{ws}}/actions/lock -> 409 error conflict\n\
             POST /workspaces/{{ws}}/actions/unlock -> 409 error conflict\n\
             POST /runs/{{run}}/actions/cancel -> 409\n\
             POST /runs/{{run}}/actions/force-cancel -> {refused}\n\
             POST /runs/{{run}}/actions/apply -> 202"
        );
        session.table(&waiting).await;
        session.reached(Phase::Applied).await;
        let ended = format!(
            "POST /runs/{{run}}/actions/cancel -> 409\n\
             POST /runs/{{run}}/actions/discard -> {refused}\n\
             POST /runs/{{run}}/actions/apply -> {refused}\n\
             POST /workspaces/{{ws}}/actions/safe-delete -> 409"
        );
        session.table(&ended).await;
    }
}
