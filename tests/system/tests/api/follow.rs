//! `GET /v1/follow`: versions of answers as server-sent events. Not in the original.

use std::collections::BTreeMap;

use cts_tests::task;
use serde_json::Value;

use crate::api::row::new_error;
use crate::api::scene::{MODULE, Scene};
use crate::api::stream::Stream;
use crate::api::wire::Request;

/// Takes the next version over.
async fn take(versions: &mut Stream, known: &mut BTreeMap<String, Value>) {
    let event = versions.event("version").await;
    let key = event["key"].as_str().unwrap().to_owned();
    known.insert(key, event["version"].clone());
}

#[tokio::test]
async fn versions_change_with_the_answers() {
    let tasks = task("pool", MODULE, &["web"], "") + &task("other", MODULE, &["api"], "");
    let scene = Scene::with(&tasks).await;
    scene.instance.api.wait_for_events("pool", 1).await;
    scene.instance.api.wait_for_events("other", 1).await;
    let runs = scene.ask("GET", "/v1/runs?task=other").await.expect(200);
    let run = format!("run:{}", runs["runs"][0]["id"].as_str().unwrap());
    let changing = ["overview", "tasks", "grid:0", "task:pool", "causes"];
    let staying = ["grid:9", &run, "approvals"];
    let keys = [&changing[..], &staying, &["workers"]].concat();
    let target = format!("/v1/follow?keys={}", keys.join(","));
    let mut versions = Stream::open(scene.instance.api.address(), &target).await;
    let typed = versions.head.iter().any(|line| {
        line.to_ascii_lowercase()
            .starts_with("content-type: text/event-stream")
    });
    assert!(typed, "{:?}", versions.head);
    let mut known = BTreeMap::new();
    while known.len() < keys.len() {
        take(&mut versions, &mut known).await;
    }
    let before = known.clone();
    scene.register("web", "web-2").await;
    // The run may be over before a look at the overview.
    scene.switch("other", false, "").await.expect(200);
    while changing.iter().any(|key| known[*key] == before[*key]) {
        take(&mut versions, &mut known).await;
    }
    for key in staying {
        assert_eq!(known[key], before[key], "{key}");
    }
    // Followers do not delay the end of the server, and see it.
    scene.instance.stop().await;
    versions.rest().await;
}

#[tokio::test]
async fn keys_must_be_known() {
    let scene = Scene::empty().await;
    let rows = ["", "?keys=", "?keys=events", "?keys=tasks,task:"].map(|query| {
        Request::new("GET", &format!("/v1/follow{query}")).gives(400, new_error("\"keys\""))
    });
    crate::api::row::check(&scene, &rows).await;
    scene.instance.stop().await;
}
