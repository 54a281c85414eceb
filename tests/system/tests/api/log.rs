//! `GET /v1/runs/{id}/log`. Not in the original.

use cts_testkit::assert_contains;
use serde_json::Value;

use crate::api::scene::Scene;
use crate::api::stream::Stream;

async fn newest_run(scene: &Scene) -> String {
    let page = scene
        .ask("GET", "/v1/runs?task=pool&limit=1")
        .await
        .expect(200);
    page["runs"][0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_log_of_a_run_is_read_and_followed() {
    let scene = Scene::with_steps().await;
    let run = newest_run(&scene).await;
    let log = scene.ask("GET", &format!("/v1/runs/{run}/log")).await;
    assert_eq!(log.status, 200);
    assert_eq!(
        log.header("Content-Type"),
        Some("text/plain; charset=utf-8")
    );
    assert_contains(log.text(), ["a step for <web-1>", "Apply complete!"]);

    let lines = scene
        .ask("GET", &format!("/v1/runs/{run}/log?format=ndjson"))
        .await;
    assert_eq!(lines.header("Content-Type"), Some("application/x-ndjson"));
    let mut texts = String::new();
    let mut position = 0;
    for line in lines.text().lines() {
        let part: Value = serde_json::from_str(line).unwrap();
        position = part["position"].as_u64().unwrap();
        for line in part["lines"].as_array().unwrap() {
            assert!(line["stream"].is_string(), "{line}");
            texts += line["text"].as_str().unwrap();
            texts.push('\n');
        }
    }
    assert_eq!(texts, log.text());
    let nothing = scene
        .ask("GET", &format!("/v1/runs/{run}/log?after={position}"))
        .await;
    assert_eq!((nothing.status, nothing.text()), (200, String::new()));

    scene.hold_at_work().await;
    let run = newest_run(&scene).await;
    let target = format!("/v1/runs/{run}/log?follow=true");
    let mut followed = Stream::open(scene.instance.api.address(), &target).await;
    followed.wait_for("a step for <web-1,web-2>").await;
    let running = scene
        .ask("GET", &format!("/v1/runs/{run}"))
        .await
        .expect(200);
    assert_eq!(
        running["run"]["status"], "running",
        "it is told while it runs"
    );
    scene.site.release();
    let rest = followed.rest().await;
    assert!(
        rest.contains("Apply complete!"),
        "and ends with the run: {rest}"
    );
    scene.instance.stop().await;
}
