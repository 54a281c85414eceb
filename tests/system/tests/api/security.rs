//! The limits that `security` sets for tasks of the API.

use cts_config::file_only_keys;
use cts_tests::task as task_block;
use serde_json::{Value, json};

use crate::api::scene::{MODULE, Scene, creation, task};
use crate::api::wire::Request;

async fn limited(security: &str) -> Scene {
    let block = task_block("lb", MODULE, &["web"], "");
    Scene::with(&format!("{block}security {{\n{security}\n}}\n")).await
}

/// The task can be neither inspected nor created, nor take the place of another one.
async fn refused(scene: &Scene, bad: &Value, text: &str) {
    for query in ["", "?run=now", "?run=inspect"] {
        let message = scene.send(&creation(bad, query)).await.refused(400);
        assert!(message.contains(text), "{query}: {message}");
    }
    let mut other = bad.clone();
    other["name"] = json!("good");
    let replacement = json!({"task": other});
    for query in ["", "?run=now"] {
        let request = Request::new("PUT", &format!("/v1/tasks/good{query}")).json(&replacement);
        let request = request.header("If-Match", "*");
        let message = scene.send(&request).await.refused(400);
        assert!(message.contains(text), "{query}: {message}");
    }
}

#[tokio::test]
async fn module_sources_limit_the_api_and_no_files() {
    let scene = limited("module_sources = [\"./modules/allowed/\", \"acme/\"]").await;
    scene
        .site
        .write("modules/allowed/web/main.tf", cts_tests::RECORDER);
    let good = task("good", "./modules/allowed/web");
    scene.create(&good, "").await.expect(201);
    for module in [
        MODULE,
        "./modules/allowed/../recorder",
        "other/web/any",
        "git::https://git.example/acme/web.git",
        "file:///srv/acme/web",
    ] {
        refused(&scene, &task("bad", module), "security.module_sources").await;
    }
    // The file's task has another module.
    scene.instance.api.wait_for_events("lb", 1).await;
    assert_eq!(scene.names().await, ["lb", "good"]);
    scene.instance.stop().await;
}

#[tokio::test]
async fn no_request_has_a_key_that_only_files_can_set() {
    let scene = Scene::empty().await;
    let keys =
        file_only_keys().chain(["task_env", "environment", "provider", "terraform_provider"]);
    for key in keys {
        for value in [
            json!("1"),
            json!(1),
            json!(true),
            json!({"A": "b"}),
            json!(["a"]),
        ] {
            let mut bad = task("bad", MODULE);
            bad[key] = value;
            for query in ["", "?run=now", "?run=inspect"] {
                let message = scene.send(&creation(&bad, query)).await.refused(400);
                assert!(message.contains(key), "{key}: {message}");
            }
        }
    }
    assert_eq!(scene.names().await, [""; 0]);
    scene.instance.stop().await;
}
