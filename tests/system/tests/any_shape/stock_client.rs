//! Requests of the original's command line and what it needs of answers, point by point
//! (docs/rest.md#what-the-originals-client-needs).

use cts_tests::task as block;
use serde_json::json;

use crate::api::row::request_id;
use crate::api::scene::{MODULE, Scene, task};
use crate::api::wire::Request;

fn patch(query: &str, body: &str) -> Request {
    // 1: a capital E, and no content type.
    Request::new("PATCH", &format!("/v1/tasks/pool{query}"))
        .header("User-Agent", "Go-http-client/1.1")
        .header("Accept-Encoding", "gzip")
        .body(body)
}

#[tokio::test]
async fn the_original_is_served_as_it_expects() {
    let scene = Scene::with(&block("pool", MODULE, &["web"], "enabled = false")).await;

    // 8: an inspection has the member `inspect`.
    let seen = scene
        .send(&patch("?run=inspect", "{\"Enabled\":true}"))
        .await
        .expect(200);
    assert_eq!(seen["inspect"]["changes_present"], true);
    assert!(seen["inspect"]["plan"].is_string());
    let done = scene.send(&patch("?run=now", "{\"Enabled\":true}")).await;
    assert_eq!(done.expect(200), json!({}));
    assert!(scene.instance.api.is_enabled("pool").await);
    let done = scene.send(&patch("", "{\"Enabled\":false}")).await;
    assert_eq!(done.expect(200), json!({}));
    assert!(!scene.instance.api.is_enabled("pool").await);

    // 9: errors of PATCH have bodies that are JSON.
    for (query, body) in [
        ("?run=x", "{\"Enabled\":true}"),
        ("", "{\"Enabled\":null}"),
        ("", ""),
    ] {
        let answer = scene.send(&patch(query, body)).await;
        assert!(
            answer.status >= 400 && !answer.message().is_empty(),
            "{answer}"
        );
    }

    // 2 and 3: nulls for maps without content, the content type, and variables.
    let mut wanted = task("made", MODULE);
    wanted["condition"]["services"]["cts_user_defined_meta"] = json!(null);
    wanted["variables"] = json!({});
    let post = |query: &str, task: &serde_json::Value| {
        Request::new("POST", &format!("/v1/tasks{query}"))
            .header("User-Agent", "Go-http-client/1.1")
            .json(&json!({"task": task}))
    };
    // 4, 6 and 7: exact statuses, a content type with "json", a plan and a task.
    let inspected = scene.send(&post("?run=inspect", &wanted)).await;
    assert_eq!(inspected.header("Content-Type"), Some("application/json"));
    let inspected = inspected.expect(200);
    request_id(&inspected).unwrap();
    assert!(inspected["run"]["plan"].is_string() && inspected["task"].is_object());
    let created = scene.send(&post("?run=now", &wanted)).await;
    assert_eq!(created.header("Content-Type"), Some("application/json"));
    let created = created.expect(201);
    request_id(&created).unwrap();
    assert_eq!(created["task"]["name"], "made");

    // 2 again: both nulls pass the schema and are not why the request is refused.
    let catalog = json!({
        "name": "pool", "module": MODULE, "variables": {},
        "condition": {"catalog_services": {
            "regexp": "^web$", "node_meta": null, "use_as_module_input": true,
        }},
        "module_input": {"services": {"names": ["api"], "cts_user_defined_meta": null}},
    });
    let message = scene.send(&post("?run=now", &catalog)).await.refused(400);
    assert!(message.contains("already exists"), "{message}");

    // 5: the content type of errors is exact, also of validation errors.
    for (task, query) in [
        (json!({}), ""),
        (task("pool", MODULE), ""),
        (task("x", ""), "?run=now"),
    ] {
        let answer = scene.send(&post(query, &task)).await;
        assert!(answer.status >= 400, "{answer}");
        assert_eq!(answer.header("Content-Type"), Some("application/json"));
        request_id(&answer.json()).unwrap();
    }
    let list = scene.ask("GET", "/v1/tasks").await;
    assert_eq!(list.header("Content-Type"), Some("application/json"));
    request_id(&list.expect(200)).unwrap();
    scene.instance.stop().await;
}
