//! `GET /v1/causes`: what changed in Consul and what came of it. Not in the original.

use cts_testkit::eventually;
use cts_tests::{DEADLINE, task};
use serde_json::{Value, json};

use crate::api::row::{check, new_error};
use crate::api::scene::{MODULE, Scene};
use crate::api::wire::Request;

impl Scene {
    /// Waits for a cause with these lines whose tasks are all in this state; returns the cause.
    async fn wait_for_cause(&self, lines: &Value, tasks: &Value) -> Value {
        eventually(DEADLINE, async || {
            let page = self.ask("GET", "/v1/causes").await.expect(200);
            let causes = page["causes"].as_array().unwrap();
            let found = causes.iter().find(|cause| cause["lines"] == *lines);
            match found {
                Some(cause) if cause["tasks"] == *tasks => Ok(cause.clone()),
                _ => Err(page.to_string()),
            }
        })
        .await
    }
}

#[tokio::test]
async fn a_change_of_consul_is_a_cause_with_its_tasks() {
    let tasks = task("pool", MODULE, &["web"], "")
        + &task("other", MODULE, &["web"], "")
        + &task("idle", MODULE, &["api"], "");
    let scene = Scene::with(&tasks).await;
    for name in ["pool", "other", "idle"] {
        scene.instance.api.wait_for_events(name, 1).await;
    }
    let compared = json!(["since the last applied input"]);
    let all = json!([{"state": "applied", "count": 3, "names": ["idle", "other", "pool"]}]);
    let first = scene.wait_for_cause(&compared, &all).await;

    scene.register("web", "web-77").await;
    let applied = json!([{"state": "applied", "count": 2, "names": ["other", "pool"]}]);
    let cause = scene.wait_for_cause(&json!(["web +1"]), &applied).await;
    let id = cause["id"].as_str().unwrap();
    let page = scene.ask("GET", "/v1/causes?limit=1").await.expect(200);
    assert_eq!(page["causes"], json!([cause]), "the newest first");
    let older = format!("/v1/causes?from={}", page["next"].as_str().unwrap());
    let page = scene.ask("GET", &older).await.expect(200);
    assert_eq!(page["causes"], json!([first]));
    let one = scene
        .ask("GET", &format!("/v1/causes?from={id}&limit=1"))
        .await;
    assert_eq!(one.expect(200)["causes"], json!([cause]));

    // Its runs, an event, and an explanation name the id.
    let path = format!("/v1/runs?cause={id}");
    let runs = scene.ask("GET", &path).await.expect(200);
    let runs = runs["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert!(runs.iter().all(|run| run["cause_ids"] == json!([id])));
    let path = format!("{path}&task=pool");
    let of_pool = scene.ask("GET", &path).await.expect(200);
    assert_eq!(of_pool["runs"].as_array().unwrap().len(), 1);
    let status = scene.ask("GET", "/v1/status/tasks/pool?include=events");
    let status = status.await.expect(200);
    assert_eq!(status["pool"]["events"][0]["cause_ids"], json!([id]));
    let explained = scene.ask("GET", "/v1/tasks/pool/explain").await.expect(200);
    assert_eq!(
        explained["explanation"]["last_run"]["cause_ids"],
        json!([id])
    );

    // A start without a change leads to no run, and is not stored.
    let scene = scene.restart().await;
    let page = scene.ask("GET", "/v1/causes").await.expect(200);
    assert_eq!(page["causes"], json!([cause, first]));
    for (query, name) in [
        ("limit=101", "limit"),
        ("from=x", "from"),
        ("from=", "from"),
    ] {
        let path = format!("/v1/causes?{query}");
        let part = format!("\"{name}\"");
        let row = Request::new("GET", &path).gives(400, new_error(&part));
        check(&scene, &[row]).await;
    }
    scene.instance.stop().await;
}
