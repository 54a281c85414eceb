//! Results of policies, from both kinds of checks.

use cts_hcp_terraform::PolicyResult;
use cts_testkit::ScriptedAnswer;
use serde_json::{Value, json};

use crate::{json_answer, scripted};

fn list(id: &str, attributes: &Value) -> ScriptedAnswer {
    json_answer(json!({ "data": [{ "id": id, "type": "x", "attributes": attributes }] }))
}

fn result(name: &str, status: &str) -> PolicyResult {
    PolicyResult {
        name: name.to_owned(),
        status: status.to_owned(),
    }
}

#[tokio::test]
async fn checks_and_evaluations_are_read_together() {
    let check = json!({ "status": "soft_failed", "result": { "soft-failed": 1, "sentinel": {
        "data": { "set": { "policies": [
            { "policy": "set/tags", "result": false, "allowed-failure": true },
            { "policy": { "name": "set/cost" }, "result": true },
            { "odd": 1 },
        ] } } } } });
    let outcomes = json!({ "outcomes": [
        { "policy_name": "opa/ports", "status": "failed", "enforcement_level": "mandatory" },
        { "policy_name": null, "status": "passed\n" },
    ] });
    let script = [
        list("polchk-1", &check),
        list("ts-1", &json!({ "status": "awaiting_override" })),
        list("poleval-1", &json!({ "status": "failed" })),
        list("psout-1", &outcomes),
    ];
    let (http, server) = scripted(script).await;
    assert_eq!(
        server.policy_results("run-1").await.unwrap(),
        [
            result("set/tags", "failed"),
            result("set/cost", "passed"),
            result("opa/ports", "failed"),
            result("", "passed"),
        ]
    );
    let requests = http.lines();
    assert!(
        requests[4].starts_with("GET /api/v2/policy-evaluations/poleval-1/policy-set-outcomes")
    );
}

#[tokio::test]
async fn a_check_without_names_is_one_result_and_missing_routes_are_none() {
    let missing = ScriptedAnswer::Json(404, json!({}));
    let check = json!({ "status": "hard_failed", "result": null });
    let script = [
        list("polchk-1", &check),
        missing.clone(),
        missing.clone(),
        missing,
    ];
    let (_http, server) = scripted(script).await;
    let results = server.policy_results("run-1").await.unwrap();
    assert_eq!(results, [result("polchk-1", "hard_failed")]);
    assert!(server.policy_results("run-1").await.unwrap().is_empty());
}
