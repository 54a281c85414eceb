//! Each call as the server sees it.

use cts_hcp_terraform::{
    NewRun, NewStateVersion, RunVariable, Server, VariableCategory, VariableDraft, WorkspaceDraft,
};
use cts_testkit::ScriptedAnswer;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::{TOKEN, scripted};

/// Method, path and body of the one request of a call, whose answer has these attributes.
async fn sent<T>(attributes: Value, call: impl AsyncFnOnce(&Server) -> T) -> (String, Value) {
    let answer = json!({ "data": { "id": "x-1", "type": "x", "attributes": attributes } });
    let (http, server) = scripted([ScriptedAnswer::Json(200, answer)]).await;
    call(&server).await;
    let requests = http.requests();
    let [_discovery, request] = &requests[..] else {
        unreachable!("{requests:?}");
    };
    assert_eq!(
        request.header("authorization").unwrap(),
        format!("Bearer {TOKEN}")
    );
    assert_eq!(request.header("accept"), Some("application/vnd.api+json"));
    let kind = request.header("content-type");
    let is_post = request.line.starts_with("POST ");
    assert_eq!(kind.is_some(), is_post || !request.body.is_empty());
    assert!(kind.is_none_or(|kind| kind == "application/vnd.api+json"));
    let body = match request.body.as_str() {
        "" => Value::Null,
        body => serde_json::from_str(body).unwrap(),
    };
    (request.line.replace("/api/v2", ""), body)
}

fn tag(name: &str) -> Value {
    json!({ "type": "tags", "attributes": { "name": name } })
}

#[tokio::test]
async fn workspaces_are_created_and_changed_with_what_the_draft_has() {
    let workspace = json!({ "name": "web" });
    let draft = WorkspaceDraft {
        name: Some("web".to_owned()),
        execution_mode: Some("agent"),
        agent_pool_id: Some("apool-1".to_owned()),
        auto_apply: Some(true),
        structured_run_output_enabled: Some(false),
        tags: vec!["source:cts".to_owned()],
        ..WorkspaceDraft::default()
    };
    let create = async |server: &Server| server.create_workspace("acme", &draft).await.unwrap();
    let (line, body) = sent(workspace.clone(), create).await;
    assert_eq!(line, "POST /organizations/acme/workspaces");
    let expected = json!({ "data": {
        "type": "workspaces",
        "attributes": {
            "name": "web", "execution-mode": "agent", "agent-pool-id": "apool-1", "auto-apply": true,
            "structured-run-output-enabled": false,
            "setting-overwrites": { "execution-mode": true, "agent-pool": true },
        },
        "relationships": { "tags": { "data": [tag("source:cts")] } },
    } });
    assert_eq!(body, expected);
    let draft = WorkspaceDraft {
        terraform_version: Some("1.9.8".to_owned()),
        ..WorkspaceDraft::default()
    };
    let update = async |server: &Server| server.update_workspace("ws-1", &draft).await.unwrap();
    let (line, body) = sent(workspace, update).await;
    assert_eq!(line, "PATCH /workspaces/ws-1");
    let attributes = json!({ "terraform-version": "1.9.8" });
    assert_eq!(
        body,
        json!({ "data": { "type": "workspaces", "attributes": attributes } })
    );
}

#[tokio::test]
async fn workspaces_are_locked_and_deleted() {
    let workspace = json!({ "name": "web" });
    let lock = async |server: &Server| server.lock_workspace("ws-1", "moving").await.unwrap();
    let (line, body) = sent(workspace.clone(), lock).await;
    assert_eq!(
        (&*line, body),
        (
            "POST /workspaces/ws-1/actions/lock",
            json!({ "reason": "moving" })
        )
    );
    let unlock = async |server: &Server| server.unlock_workspace("ws-1").await.unwrap();
    assert_eq!(
        sent(workspace, unlock).await.0,
        "POST /workspaces/ws-1/actions/unlock"
    );
    let safe = async |server: &Server| server.safe_delete_workspace("ws-1").await.unwrap();
    assert_eq!(
        sent(json!({}), safe).await.0,
        "POST /workspaces/ws-1/actions/safe-delete"
    );
}

#[tokio::test]
async fn variables_and_tags_have_their_documents() {
    let draft = VariableDraft {
        key: "services",
        value: SecretString::from("{}"),
        category: VariableCategory::Terraform,
        is_hcl: true,
        is_sensitive: true,
        description: "managed",
    };
    assert!(!format!("{draft:?}").contains("{}"));
    let variable = json!({ "key": "services", "value": null, "category": "policy-set" });
    let update = async |server: &Server| {
        let updated = server
            .update_variable("ws-1", "var-1", &draft)
            .await
            .unwrap();
        assert_eq!(updated.category, VariableCategory::Other);
    };
    let (line, body) = sent(variable, update).await;
    assert_eq!(line, "PATCH /workspaces/ws-1/vars/var-1");
    let expected = json!({ "data": { "type": "vars", "id": "var-1", "attributes": {
        "key": "services", "value": "{}", "category": "terraform", "hcl": true, "sensitive": true,
        "description": "managed",
    } } });
    assert_eq!(body, expected);
    let remove = async |server: &Server| server.remove_tags("ws-1", &["a", "b"]).await.unwrap();
    let (line, body) = sent(json!({}), remove).await;
    assert_eq!(line, "DELETE /workspaces/ws-1/relationships/tags");
    assert_eq!(body, json!({ "data": [tag("a"), tag("b")] }));
}

#[tokio::test]
async fn a_run_names_workspace_and_configuration_and_leaves_auto_apply_to_the_workspace() {
    let variables = [RunVariable {
        key: "services".to_owned(),
        value: SecretString::from("{ a = 1 }"),
    }];
    let new = NewRun {
        workspace_id: "ws-1",
        configuration_version_id: "cv-1",
        message: "web: changed [uuid]",
        plan_only: true,
        is_destroy: false,
        variables: &variables,
    };
    assert!(!format!("{new:?}").contains("a = 1"));
    let create = async |server: &Server| server.create_run(&new).await.unwrap();
    let (line, body) = sent(json!({ "status": "pending" }), create).await;
    assert_eq!(line, "POST /runs");
    let expected = json!({ "data": {
        "type": "runs",
        "attributes": {
            "message": "web: changed [uuid]", "plan-only": true, "is-destroy": false,
            "variables": [{ "key": "services", "value": "{ a = 1 }" }],
        },
        "relationships": {
            "workspace": { "data": { "type": "workspaces", "id": "ws-1" } },
            "configuration-version":
                { "data": { "type": "configuration-versions", "id": "cv-1" } },
        },
    } });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_configuration_version_starts_no_run_and_a_state_has_its_digest() {
    let create = async |server: &Server| {
        let created = server.create_configuration_version("ws-1", false).await;
        created.unwrap();
    };
    let (line, body) = sent(json!({ "status": "pending" }), create).await;
    assert_eq!(line, "POST /workspaces/ws-1/configuration-versions");
    assert_eq!(
        body["data"]["attributes"],
        json!({ "auto-queue-runs": false, "speculative": false })
    );
    let state = NewStateVersion {
        state: b"hello",
        serial: 7,
        lineage: "l-1",
        force: false,
    };
    let create = async |server: &Server| server.create_state_version("ws-1", state).await.unwrap();
    let (line, body) = sent(json!({ "serial": 7 }), create).await;
    assert_eq!(line, "POST /workspaces/ws-1/state-versions");
    let expected = json!({
        "serial": 7, "lineage": "l-1", "md5": "5d41402abc4b2a76b9719d911017c592",
        "state": "aGVsbG8=", "force": false,
    });
    assert_eq!(body["data"]["attributes"], expected);
}
