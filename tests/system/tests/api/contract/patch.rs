//! docs/rest.md#updating-a-task: reasons for which a `PATCH` is refused, and how loosely it is read.

use serde_json::json;

use super::three_tasks;
use crate::api::row::{Body, Row, check, legacy_error, new_error};
use crate::api::wire::Request;

fn patch(target: &str, body: &str) -> Request {
    Request::new("PATCH", &format!("/v1/tasks/{target}")).body(body)
}

/// Bodies that say nothing, or too much.
fn bad_bodies() -> Vec<Row> {
    let missing = ["null", "{}", r#"{"enabled":null}"#, r#"{"Enabled":null}"#];
    let others = [
        ("", ""),
        (" ", ""),
        ("{", ""),
        ("[]", ""),
        ("true", ""),
        ("\"enabled\"", ""),
        (r#"{"enabled":true} x"#, ""),
        (r#"{"enabled":true}{}"#, ""),
        (r#"{"enabled":"yes"}"#, ""),
        (r#"{"enabled":"TrUe"}"#, ""),
        (r#"{"enabled":" true"}"#, ""),
        (r#"{"enabled":[]}"#, ""),
        (r#"{"enabled":{}}"#, ""),
        (r#"{"enabled":true,"zeta":1,"alpha":2}"#, "alpha, zeta"),
        (r#"{"enabled":true,"Enabled":true}"#, "nabled"),
        (r#"{"name":"pool"}"#, "name"),
    ];
    let missing = missing.into_iter().map(|body| (body, "enabled"));
    let bodies = missing.chain(others);
    bodies
        .map(|(body, part)| patch("pool", body).gives(400, legacy_error(part)))
        .collect()
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

/// Values that count as true and as false, on a disabled task that an inspection leaves disabled, and an
/// enabled one that an absent query leaves enabled.
fn conversions() -> Vec<Row> {
    let on = [
        "true", "1", "2", "-1", "0.5", "\"1\"", "\"t\"", "\"T\"", "\"TRUE\"", "\"true\"",
        "\"True\"",
    ];
    let off = [
        "false",
        "0",
        "\"0\"",
        "\"f\"",
        "\"F\"",
        "\"FALSE\"",
        "\"false\"",
        "\"False\"",
        "\"\"",
    ];
    let on = on.into_iter().map(|value| {
        let body = format!("{{\"eNaBlEd\":{value}}}");
        patch("pool", &body).gives(200, Body::Legacy(json!({})))
    });
    let nothing = json!({"inspect": {"changes_present": false, "plan": ""}});
    let off = off.into_iter().map(move |value| {
        let body = format!("{{\"enabled\":{value}}}");
        patch("pool?run=InSpEcT", &body).gives(200, Body::Legacy(nothing.clone()))
    });
    // If a key is repeated, its last value counts; the content type does not matter.
    let last = patch("pool", r#"{"enabled":"x","enabled":true}"#)
        .header("Content-Type", "text/plain")
        .gives(200, Body::Legacy(json!({})));
    on.chain(off).chain([last]).collect()
}

#[tokio::test]
async fn every_request_gets_the_documented_answer() {
    let scene = three_tasks().await;
    for rows in [bad_bodies(), queries(), order(), conversions()] {
        check(&scene, &rows).await;
    }
    let status = scene.instance.api.task_status("pool").await;
    assert_eq!(status["enabled"], true);
    assert_eq!(status["events"].as_array().map(Vec::len), Some(1));
    scene.instance.stop().await;
}
