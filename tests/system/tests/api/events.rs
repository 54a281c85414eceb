//! `GET /v1/events`: changes of runs as server-sent events. Not in the original.

use cts_tests::task;
use serde_json::Value;

use crate::api::row::new_error;
use crate::api::scene::{MODULE, Scene};
use crate::api::stream::Stream;
use crate::api::wire::Request;

/// The next change of a run that is not one of `earlier`: between replicas changes travel after the commit, so the
/// end of an earlier run may still come.
async fn next_change(stream: &mut Stream, earlier: &[Value]) -> Value {
    loop {
        let event = stream.run_event().await;
        if !earlier.contains(&event["id"]) {
            return event;
        }
    }
}

#[tokio::test]
async fn every_change_of_a_run_is_told() {
    let tasks = task("pool", MODULE, &["web"], "") + &task("other", MODULE, &["api"], "");
    let scene = Scene::with(&tasks).await;
    scene.instance.api.wait_for_events("pool", 1).await;
    scene.instance.api.wait_for_events("other", 1).await;
    let runs = scene.ask("GET", "/v1/runs").await.expect(200);
    let runs = runs["runs"].as_array().unwrap();
    let earlier: Vec<Value> = runs.iter().map(|run| run["id"].clone()).collect();
    assert_eq!(earlier.len(), 2, "{runs:?}");
    let address = scene.instance.api.address();
    let mut all = Stream::open(address, "/v1/events").await;
    let mut of_other = Stream::open(address, "/v1/events?task=other").await;
    let typed = all.head.iter().any(|line| {
        line.to_ascii_lowercase()
            .starts_with("content-type: text/event-stream")
    });
    assert!(typed, "{:?}", all.head);

    scene.register("web", "web-2").await;
    let mut run = String::new();
    for status in ["queued", "running", "succeeded"] {
        let event = next_change(&mut all, &earlier).await;
        assert_eq!(event["task_name"], "pool", "{event}");
        assert_eq!(event["kind"], "apply", "{event}");
        assert_eq!(event["status"], status, "{event}");
        assert!(event["at"].is_string(), "{event}");
        event["id"].as_str().unwrap().clone_into(&mut run);
    }
    let told = scene
        .ask("GET", &format!("/v1/runs/{run}"))
        .await
        .expect(200);
    assert_eq!(told["run"]["status"], "succeeded");

    scene.register("api", "api-1").await;
    let event = next_change(&mut of_other, &earlier).await;
    assert_eq!(
        event["task_name"], "other",
        "nothing of the others: {event}"
    );

    // Listeners do not delay the end of the server, and see it.
    scene.instance.stop().await;
    all.rest().await;
    of_other.rest().await;
}

#[tokio::test]
async fn wrong_questions_are_refused() {
    let scene = Scene::empty().await;
    let rows = ["?task=", "?task=a&task=b"].map(|query| {
        Request::new("GET", &format!("/v1/events{query}")).gives(400, new_error("\"task\""))
    });
    crate::api::row::check(&scene, &rows).await;
    scene.instance.stop().await;
}
