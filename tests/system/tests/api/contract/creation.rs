//! Sections 9 and 11: reasons for which a `POST` is refused after its schema, whatever its query.

use serde_json::json;

use super::three_tasks;
use crate::api::row::{Body, Row, check, new_error};
use crate::api::scene::{MODULE, creation, task};

/// Both are 400, whatever the query, and are checked before the faults of a task (`texts.rs`).
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
    check(&scene, &early_rows()).await;
    assert_eq!(
        scene.names().await,
        ["pool", "sick", "idle"],
        "none was made"
    );
    scene.instance.stop().await;
}
