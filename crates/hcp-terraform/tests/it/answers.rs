//! Objects, as servers show them.

use std::sync::Arc;

use cts_hcp_terraform::{
    Approval, ConfigurationVersionStatus, ExecutionMode, Product, RunPhase, RunStatus, RunVariable,
    Unlimited,
};
use cts_testkit::ScriptedAnswer;
use serde_json::{Value, json};
use wiremock::matchers::path;
use wiremock::{Mock, ResponseTemplate};

use crate::{json_answer, mocked, run, scripted};

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
    let (_http, server) = scripted([full, small].map(json_answer)).await;
    let workspace = server
        .workspace_named("acme", "web")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(workspace.execution_mode, ExecutionMode::Agent);
    assert_eq!(workspace.agent_pool_id.as_deref(), Some("apool-1"));
    assert_eq!(workspace.project_id.as_deref(), Some("prj-1"));
    assert_eq!(workspace.current_run_id, None);
    assert_eq!(
        workspace.current_configuration_version_id.as_deref(),
        Some("cv-1")
    );
    let holder = ("users".to_owned(), "user-1".to_owned());
    assert_eq!(
        (workspace.is_locked, workspace.locked_by),
        (true, Some(holder))
    );
    assert!(workspace.has_vcs && workspace.auto_apply);
    assert_eq!(workspace.permissions.can_queue_run, Some(true));
    assert_eq!(workspace.permissions.can_update, Some(false));
    assert_eq!(workspace.permissions.can_lock, None);
    let workspace = server.workspace("ws-2").await.unwrap();
    assert_eq!(workspace.execution_mode.as_str(), "moon");
    assert_eq!(workspace.agent_pool_id.as_deref(), Some("apool-2"));
    assert!(!workspace.has_vcs);
}

#[tokio::test]
async fn a_run_is_read_with_actions_and_an_unknown_status_keeps_its_text() {
    let full = json!({ "data": { "id": "run-1", "type": "runs", "attributes": {
            "status": "planned", "has-changes": true, "message": null, "plan-only": false,
            "status-timestamps": { "planned-at": "2026-01-01T00:00:00Z", "x": null },
            "actions": { "is-confirmable": true, "is-discardable": true } },
        "relationships": { "plan": linkage("plans", "plan-1"), "apply": linkage("applies", "apply-1"),
            "workspace": linkage("workspaces", "ws-1"), "created-by": { "data": [1] } } } });
    let unknown = json!({ "data": run("run-2", "levitating", "m") });
    let (_http, server) = scripted([full, unknown].map(json_answer)).await;
    let run = server.run("run-1").await.unwrap();
    assert_eq!(run.phase(), RunPhase::NeedsPerson(Approval::Confirmation));
    assert_eq!(
        (run.plan_id.as_deref(), run.apply_id.as_deref()),
        (Some("plan-1"), Some("apply-1"))
    );
    assert_eq!(run.status_timestamps.len(), 1);
    assert!(run.actions.is_discardable && !run.actions.is_cancelable);
    let run = server.run("run-2").await.unwrap();
    assert_eq!(run.status, RunStatus::Other("levitating".to_owned()));
    assert_eq!(run.phase(), RunPhase::Unknown);
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
        json_answer(json!({ "data": [version] })),
        json_answer(state),
        content,
    ];
    let (http, server) = scripted(script).await;
    let versions = server
        .newest_configuration_versions("ws-1", 1)
        .await
        .unwrap();
    assert_eq!(versions[0].status, ConfigurationVersionStatus::Errored);
    assert_eq!(versions[0].error_message.as_deref(), Some("no main.tf"));
    let state = server.current_state_version("ws-1").await.unwrap().unwrap();
    assert_eq!((state.serial, state.run_id.as_deref()), (9, Some("run-1")));
    let url = state.download_url.unwrap();
    assert_eq!(
        server.download_state(&url).await.unwrap(),
        b"{\"serial\":9}"
    );
    assert_eq!(http.requests()[3].header("authorization"), None);
}

#[tokio::test]
async fn a_server_is_recognized_by_its_headers() {
    let (http, server) = mocked(Arc::new(Unlimited)).await;
    let answer = || ResponseTemplate::new(204).insert_header("TFP-API-Version", "2.6");
    let answers = [
        answer()
            .insert_header("TFP-AppName", "HCP Terraform")
            .insert_header("X-RateLimit-Limit", "30"),
        answer().insert_header("X-TFE-Version", "v202208-3"),
        answer(),
    ];
    for answer in answers {
        Mock::given(path("/api/v2/ping"))
            .respond_with(answer)
            .up_to_n_times(1)
            .mount(&http)
            .await;
    }
    let ping = server.ping().await.unwrap();
    assert_eq!(
        (ping.product, ping.rate_limit),
        (Product::HcpTerraform, Some(30))
    );
    assert_eq!(ping.api_version.as_deref(), Some("2.6"));
    let ping = server.ping().await.unwrap();
    assert_eq!(
        (ping.product, ping.release.as_deref()),
        (Product::TerraformEnterprise, Some("v202208-3"))
    );
    let ping = server.ping().await.unwrap();
    assert_eq!((ping.product, ping.rate_limit), (Product::Other, None));
}

#[tokio::test]
async fn features_of_an_organization_are_yes_no_or_not_said() {
    let set = json!({ "data": { "id": "org-1", "type": "entitlement-sets", "attributes": {
        "agents": false, "operations": true, "user-limit": 5 } } });
    let (_http, server) = scripted([json_answer(set)]).await;
    let entitlements = server.entitlements("acme").await.unwrap();
    assert_eq!(entitlements.has("operations"), Some(true));
    assert_eq!(entitlements.has("agents"), Some(false));
    assert_eq!(entitlements.has("user-limit"), None);
}
