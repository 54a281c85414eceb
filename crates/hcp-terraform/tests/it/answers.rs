//! Objects, as servers show them.

use cts_hcp_terraform::{Approval, RunPhase, RunVariable};
use cts_testkit::ScriptedAnswer;
use serde_json::{Value, json};

use crate::{json_answer, run, scripted};

fn linkage(kind: &str, id: &str) -> Value {
    json!({ "data": { "type": kind, "id": id }, "links": { "related": "/x" } })
}

#[tokio::test]
async fn a_workspace_is_read_with_its_relations_and_rights() {
    let full = json!({ "data": { "id": "ws-1", "type": "workspaces", "attributes": {
            "name": "web", "execution-mode": "agent", "auto-apply": true, "locked": true,
            "vcs-repo": { "identifier": "a/b" }, "tag-names": ["source:cts"], "description": null,
            "terraform-version": "~> 1.9.0", "permissions": { "can-queue-run": true, "can-update": false },
            "unknown": [1] },
        "relationships": {
            "agent-pool": linkage("agent-pools", "apool-1"), "project": linkage("projects", "prj-1"),
            "locked-by": linkage("users", "user-1"), "current-run": { "data": null },
            "current-configuration-version": linkage("configuration-versions", "cv-1") } } });
    let small = json!({ "data": { "id": "ws-2", "type": "workspaces", "attributes": {
        "name": "web", "execution-mode": "moon", "agent-pool-id": "apool-2", "vcs-repo": null } } });
    let nulls = json!({ "data": { "id": "ws-3", "type": "workspaces", "attributes": {
            "name": "web", "execution-mode": null, "locked": null, "tag-names": null, "permissions": null },
        "relationships": { "agent-pool": null, "locked-by": linkage("runs", "run-1") } } });
    let (_http, server) = scripted([full, small, nulls].map(json_answer)).await;
    let workspace = server
        .workspace_named("acme", "web")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(workspace.execution_mode(), "agent");
    assert_eq!(workspace.agent_pool_id(), Some("apool-1"));
    let relations = &workspace.relationships;
    assert_eq!(relations.project.id(), Some("prj-1"));
    assert_eq!(relations.current_run.id(), None);
    assert_eq!(relations.current_configuration_version.id(), Some("cv-1"));
    assert_eq!(relations.locked_by.id(), Some("user-1"));
    assert!(workspace.is_locked && !workspace.is_locked_by_run());
    assert!(workspace.vcs_repo.is_some());
    assert_eq!(workspace.permissions.can_queue_run, Some(true));
    assert_eq!(workspace.permissions.can_update_variable, None);
    let workspace = server.workspace("ws-2").await.unwrap();
    assert_eq!(workspace.execution_mode(), "moon");
    assert_eq!(workspace.agent_pool_id(), Some("apool-2"));
    assert!(workspace.vcs_repo.is_none());
    let workspace = server.workspace("ws-3").await.unwrap();
    assert_eq!(workspace.execution_mode(), "remote");
    assert!(workspace.is_locked_by_run());
}

#[tokio::test]
async fn a_run_is_read_with_actions_and_an_unknown_status_keeps_its_text() {
    let full = json!({ "data": { "id": "run-1", "type": "runs", "attributes": {
            "status": "planned", "has-changes": true, "message": null, "plan-only": false,
            "actions": { "is-confirmable": true, "is-discardable": true } },
        "relationships": { "plan": linkage("plans", "plan-1"), "apply": linkage("applies", "apply-1"),
            "workspace": linkage("workspaces", "ws-1"), "created-by": { "data": [1] } } } });
    let unknown = json!({ "data": run("run-2", "levitating", "m") });
    let hostile = format!("a\nb{}", "c".repeat(1000));
    let hostile = json!({ "data": run("run-3", &hostile, "m") });
    let (_http, server) = scripted([full, unknown, hostile].map(json_answer)).await;
    let run = server.run("run-1").await.unwrap();
    assert_eq!(run.phase(), RunPhase::NeedsPerson(Approval::Confirmation));
    let relations = &run.relationships;
    assert_eq!(
        (relations.plan.id(), relations.apply.id()),
        (Some("plan-1"), Some("apply-1"))
    );
    assert!(run.actions.is_discardable && !run.actions.is_cancelable);
    let run = server.run("run-2").await.unwrap();
    assert_eq!(run.status.as_str(), "levitating");
    assert_eq!(run.phase(), RunPhase::Unknown);
    let run = server.run("run-3").await.unwrap();
    assert!(run.status.as_str().starts_with("a\\nbccc"), "{run:?}");
    assert!(run.status.as_str().len() < 80, "{run:?}");
}

#[tokio::test]
async fn a_run_shows_whether_it_has_taken_its_own_values() {
    let with = |variables: Value| {
        json!({ "data": { "id": "run-1", "type": "runs", "attributes": {
            "status": "pending", "variables": variables } } })
    };
    let shown = [
        json!([{ "key": "zone", "value": "\"a\"\n" }, { "key": "other", "value": "1" }]),
        json!([{ "key": "zone", "value": "\"b\"" }]),
        json!([]),
        json!({ "zone": [1] }),
        Value::Null,
    ];
    let (_http, server) = scripted(shown.map(with).map(json_answer)).await;
    let given = [RunVariable {
        key: "zone".to_owned(),
        value: "\"a\"".into(),
    }];
    for expected in [true, false, false, false, false] {
        let run = server.run("run-1").await.unwrap();
        assert_eq!(run.has_taken(&given), expected, "{run:?}");
        assert!(run.has_taken(&[]));
    }
}

#[tokio::test]
async fn configuration_versions_and_states_are_read() {
    let version = json!({ "id": "cv-1", "type": "x", "attributes": {
        "status": "errored", "error-message": "no main.tf", "source": "tfe-api" } });
    let state = json!({ "data": { "id": "sv-1", "type": "state-versions", "attributes": {
            "serial": 9, "size": 10, "hosted-state-download-url": "/signed/state" },
        "relationships": { "run": linkage("runs", "run-1") } } });
    let content = ScriptedAnswer::Text(200, "application/json", "{\"serial\":9}".to_owned());
    let script = [
        json_answer(json!({ "data": version })),
        json_answer(state),
        content,
    ];
    let (http, server) = scripted(script).await;
    let version = server.configuration_version("cv-1").await.unwrap();
    assert_eq!(version.status.as_str(), "errored");
    assert_eq!(version.error_message.as_deref(), Some("no main.tf"));
    let state = server.current_state_version("ws-1").await.unwrap().unwrap();
    let url = state.attributes.hosted_state_download_url.unwrap();
    assert_eq!(
        server.download_state(&url).await.unwrap(),
        b"{\"serial\":9}"
    );
    assert_eq!(http.requests()[3].header("authorization"), None);
}
