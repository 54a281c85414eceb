//! Sections 9 and 11: reasons for which a `POST` is refused after its schema. The status depends on the query.

use serde_json::{Value, json};

use super::three_tasks;
use crate::api::row::{Body, Row, check, new_error};
use crate::api::scene::{MODULE, creation, task};

/// Changes that make a good task named `fresh` a bad one, each with a part of the error text.
fn bad_tasks() -> Vec<(Value, &'static str)> {
    let with = |member: &str, value: Value| {
        let mut task = task("fresh", MODULE);
        task[member] = value;
        task
    };
    vec![
        (with("name", json!("")), "name"),
        (with("name", json!("1st")), "1st"),
        (with("name", json!("a b")), "a b"),
        (with("name", json!("a/b")), "a/b"),
        (with("module", json!("")), "module"),
        (with("providers", json!(["local", "local.second"])), "local"),
        (with("condition", json!({"services": {}})), "names"),
        (
            with("condition", json!({"services": {"names": []}})),
            "names",
        ),
        (
            with("condition", json!({"services": {"names": ["web", ""]}})),
            "",
        ),
        (
            with("condition", json!({"services": {"regexp": "("}})),
            "regexp",
        ),
        (
            with("condition", json!({"catalog_services": {"regexp": "("}})),
            "",
        ),
        (with("condition", json!({"consul_kv": {"path": ""}})), ""),
        (
            with("condition", json!({"schedule": {"cron": "never"}})),
            "",
        ),
        (
            with("module_input", json!({"services": {"names": ["api"]}})),
            "services",
        ),
        (with("buffer_period", json!({"min": "-1s"})), ""),
        (
            with("terraform_version", json!("1.5.0")),
            "terraform_version",
        ),
        (
            with(
                "terraform_cloud_workspace",
                json!({"execution_mode": "remote"}),
            ),
            "terraform_cloud_workspace",
        ),
        (with("variables", json!({"a": "unquoted"})), ""),
        (with("variables", json!({"a": "{"})), ""),
    ]
}

fn semantic_rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (task, part) in bad_tasks() {
        for (query, status) in [("", 500), ("?run=now", 500), ("?run=inspect", 400)] {
            rows.push(creation(&task, query).gives(status, new_error(part)));
        }
    }
    rows
}

/// Both are 400, whatever the query, and are checked before the faults of the rows above.
fn early_rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for query in ["", "?run=now", "?run=inspect"] {
        for name in ["pool", "sick", "idle"] {
            let exists = || Body::NewError(vec![name.to_owned(), "already exists".to_owned()]);
            rows.push(creation(&task(name, MODULE), query).gives(400, exists()));
            let mut bad = task(name, "");
            bad["condition"] = json!({"services": {}});
            rows.push(creation(&bad, query).gives(400, exists()));
            bad["buffer_period"] = json!({"min": "soon"});
            rows.push(creation(&bad, query).gives(400, exists()));
        }
        for text in ["soon", "5", "1d", "s", "1 s"] {
            let mut task = task("fresh", MODULE);
            task["buffer_period"] = json!({"max": text});
            rows.push(creation(&task, query).gives(400, new_error(text)));
        }
    }
    rows
}

#[tokio::test]
async fn every_request_gets_the_documented_answer() {
    let scene = three_tasks().await;
    check(&scene, &semantic_rows()).await;
    check(&scene, &early_rows()).await;
    assert_eq!(
        scene.names().await,
        ["pool", "sick", "idle"],
        "none was made"
    );
    scene.instance.stop().await;
}
