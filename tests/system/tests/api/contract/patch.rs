//! docs/rest.md#updating-a-task: reasons for which a `PATCH` is refused, and how loosely it is read.

use serde_json::json;

use super::three_tasks;
use crate::api::row::{Body, Row, check, legacy_error, new_error};
use crate::api::wire::Request;

fn patch(target: &str, body: &str) -> Request {
    Request::new("PATCH", &format!("/v1/tasks/{target}")).body(body)
}

fn queries() -> Vec<Row> {
    let on = r#"{"enabled":true}"#;
    let bad = [
        "?run=",
        "?run",
        "?run=later",
        "?run=now&run=now",
        "?run=x&run=now",
    ];
    let mut rows: Vec<Row> = bad
        .into_iter()
        .map(|query| patch(&format!("pool{query}"), on).gives(400, legacy_error("run")))
        .collect();
    // An enabled task stays as it is; a name is compared letter by letter.
    for query in ["", "?Run=x", "?run=%zz"] {
        rows.push(patch(&format!("pool{query}"), on).gives(200, Body::Legacy(json!({}))));
    }
    rows
}

/// Path, query, body, the task.
fn order() -> Vec<Row> {
    let unknown = "a task with name 'nobody' does not exist or has not been initialized yet";
    vec![
        patch("a/b?run=x", "{").gives(400, legacy_error("'/v1/tasks/a/b'")),
        patch("nobody?run=x", "{").gives(400, legacy_error("run")),
        patch("nobody", "{").gives(400, legacy_error("")),
        patch("nobody", "{}").gives(400, legacy_error("enabled")),
        patch("nobody", r#"{"enabled":true}"#).gives(404, new_error(unknown)),
        patch("nobody?run=inspect", r#"{"enabled":false}"#).gives(404, new_error(unknown)),
    ]
}

/// Reads a body loosely, like the original (`services/gateway/src/request/update_body.rs`). An inspection leaves the
/// task enabled.
fn conversions() -> Vec<Row> {
    let nothing = json!({"inspect": {"changes_present": false, "plan": ""}});
    vec![
        patch("pool", "[]").gives(400, legacy_error("")),
        patch("pool", r#"{"eNaBlEd":"T"}"#).gives(200, Body::Legacy(json!({}))),
        patch("pool?run=InSpEcT", r#"{"enabled":0}"#).gives(200, Body::Legacy(nothing)),
        // If a key is repeated, its last value counts; the content type does not matter.
        patch("pool", r#"{"enabled":"x","enabled":true}"#)
            .header("Content-Type", "text/plain")
            .gives(200, Body::Legacy(json!({}))),
    ]
}

#[tokio::test]
async fn every_request_gets_the_documented_answer() {
    let scene = three_tasks().await;
    for rows in [queries(), order(), conversions()] {
        check(&scene, &rows).await;
    }
    let status = scene.instance.api.task_status("pool").await;
    assert_eq!(status["enabled"], true);
    assert_eq!(status["events"].as_array().map(Vec::len), Some(1));
    scene.instance.stop().await;
}
