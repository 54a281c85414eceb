//! The bodies of successes, to the byte.

use std::sync::Arc;

use crate::stage::Stage;
use crate::tasks::three_tasks;

#[tokio::test]
async fn bodies_have_the_order_and_the_texts_of_the_reference() {
    let stage = Stage::start(three_tasks()).await;
    let paths = [
        ("overall_status", "/v1/status"),
        ("task_statuses", "/v1/status/tasks"),
        (
            "task_statuses_with_events",
            "/v1/status/tasks?include=events",
        ),
        ("task_status", "/v1/status/tasks/fw-sync?include=events"),
        ("tasks", "/v1/tasks"),
        ("task", "/v1/tasks/edge-lb"),
    ];
    for (name, path) in paths {
        let answer = stage.ask("GET", path).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        // A line break after each member keeps the differences of snapshots readable.
        let text = answer.body.replace(",\"", ",\n\"").replace("},{", "},\n{");
        insta::assert_snapshot!(name, text);
    }
}

#[tokio::test]
async fn a_connection_serves_many_requests() {
    let stage = Stage::start(three_tasks()).await;
    let get = "GET /v1/health HTTP/1.1\r\nHost: a\r\n";
    let answers = stage
        .send(&format!("{get}\r\n{get}Connection: close\r\n\r\n"))
        .await;
    let both = format!("{answers:?}");
    assert_eq!(both.matches("{}").count(), 2, "{both}");
    assert_eq!(answers.header("Connection"), None, "{both}");
}

#[tokio::test]
async fn states_are_asked_for_again_only_when_they_may_have_changed() {
    let tasks = three_tasks();
    let (version, asked) = (Arc::clone(&tasks.version), Arc::clone(&tasks.arrivals));
    let stage = Stage::start(tasks).await;
    let ask = async |path: &str| stage.ask("GET", path).await.body;
    let first = ask("/v1/status/tasks").await;
    assert_eq!(ask("/v1/status/tasks").await, first);
    assert_eq!(asked.available_permits(), 2, "without versions always");

    *version.lock().unwrap() = Some("1".to_owned());
    for _ in 0..3 {
        assert_eq!(ask("/v1/status/tasks").await, first);
    }
    assert_eq!(asked.available_permits(), 3);
    let failed = ask("/v1/status/tasks?status=errored").await;
    assert_ne!(failed, first);
    assert_eq!(ask("/v1/status/tasks?status=errored").await, failed);
    assert_eq!(asked.available_permits(), 4, "each page for itself");

    *version.lock().unwrap() = Some("2".to_owned());
    assert_eq!(ask("/v1/status/tasks").await, first);
    assert_eq!(ask("/v1/status/tasks").await, first);
    assert_eq!(asked.available_permits(), 5);
}
