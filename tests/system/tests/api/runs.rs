//! `GET /v1/runs` and `GET /v1/runs/{id}`. Not in the original.

use cts_testkit::assert_contains;
use serde_json::{Value, json};

use cts_tests::{Site, task};

use crate::api::row::{Body, Row, check, new_error, within};
use crate::api::scene::{MODULE, Scene};
use crate::api::wire::Request;

async fn runs(scene: &Scene, query: &str) -> Vec<Value> {
    let page = scene
        .ask("GET", &format!("/v1/runs{query}"))
        .await
        .expect(200);
    page["runs"].as_array().unwrap().clone()
}

fn refused() -> Vec<Row> {
    let get = |target: &str| Request::new("GET", target);
    let unknown = "00000000-0000-7000-8000-000000000000";
    let mut rows: Vec<Row> = [
        ("task=", "task"),
        ("task=a&task=b", "task"),
        ("status=Failed", "status"),
        ("status=", "status"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=x", "limit"),
        ("after=", "after"),
        ("after=nonsense", "after"),
    ]
    .into_iter()
    .map(|(query, name)| {
        let part = format!("\"{name}\"");
        get(&format!("/v1/runs?{query}")).gives(400, new_error(&part))
    })
    .collect();
    rows.extend([
        get(&format!("/v1/runs/{unknown}")).gives(404, new_error(unknown)),
        get("/v1/runs/nonsense").gives(404, new_error("nonsense")),
        get(&format!("/v1/runs/{unknown}/log")).gives(404, new_error(unknown)),
        get(&format!("/v1/runs/{unknown}/log?follow=1")).gives(400, new_error("\"follow\"")),
        get(&format!("/v1/runs/{unknown}/log?tail=0")).gives(400, new_error("\"tail\"")),
        get(&format!("/v1/runs/{unknown}/log?before=1&line=1")).gives(400, new_error("\"line\"")),
        get(&format!("/v1/runs/{unknown}/log?tail=1")).gives(404, new_error(unknown)),
        get(&format!("/v1/runs/{unknown}/log?search=x")).gives(404, new_error(unknown)),
        get(&format!("/v1/runs/{unknown}/log?line=1")).gives(404, new_error(unknown)),
        get("/v1/runs/").gives(404, Body::NotFound),
        get("/v1/runs/a/b").gives(404, Body::NotFound),
        get("/v1/runs/a/log/b").gives(404, Body::NotFound),
        Request::new("POST", "/v1/runs").gives(405, Body::Allow("GET")),
        Request::new("DELETE", "/v1/runs/a").gives(405, Body::Allow("GET")),
        get("/v1/runs?task=nobody").gives(200, Body::New(json!({"runs": []}))),
    ]);
    rows
}

#[tokio::test]
async fn runs_are_listed_newest_first_and_told_one_by_one() {
    let site = Site::new();
    site.write_steps("sick");
    let tasks = task("pool", MODULE, &["web"], "")
        + &task("sick", "./modules/sick", &["sick"], "retry_failed = false");
    let scene = Scene::of_site(site, &tasks).await;
    scene.instance.api.wait_for_events("pool", 1).await;
    scene.instance.api.wait_for_events("sick", 1).await;
    scene.switch("pool", true, "?run=inspect").await.expect(200);
    scene.switch("pool", true, "?run=now").await.expect(200);
    scene
        .consul
        .register_service("sick", "sick-1", 1, &[], &["broken"])
        .await;
    scene.instance.api.wait_for_events("sick", 2).await;

    let of_pool = runs(&scene, "?task=pool").await;
    let kinds: Vec<&str> = of_pool
        .iter()
        .map(|run| run["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["apply", "plan", "apply"]);
    assert!(
        of_pool.iter().all(|run| run["status"] == "succeeded"),
        "{of_pool:?}"
    );
    assert_eq!(of_pool[0]["no_retry"], true);
    assert_eq!(
        of_pool[1]["plan"],
        json!({"changes_present": false}),
        "no text in lists"
    );

    let failed = runs(&scene, "?status=failed").await;
    assert_eq!(failed.len(), 1, "{failed:?}");
    let expected = json!({"task_name": "sick", "kind": "apply", "status": "failed", "attempts": 3});
    within(&failed[0], &expected, "").unwrap();
    assert_contains(failed[0]["error"].as_str().unwrap(), ["broken for"]);

    // Page by page.
    let all = runs(&scene, "").await;
    assert_eq!(all.len(), 5, "{all:?}");
    let mut paged = Vec::new();
    let mut query = "?limit=2".to_owned();
    loop {
        let page = scene
            .ask("GET", &format!("/v1/runs{query}"))
            .await
            .expect(200);
        let part = page["runs"].as_array().unwrap();
        assert!(part.len() <= 2, "{page}");
        paged.extend(part.iter().cloned());
        match page.get("next") {
            Some(next) => query = format!("?limit=2&after={}", next.as_str().unwrap()),
            None => break,
        }
    }
    assert_eq!(paged, all);

    let id = of_pool[1]["id"].as_str().unwrap();
    let one = scene
        .ask("GET", &format!("/v1/runs/{id}"))
        .await
        .expect(200);
    let text = one["run"]["plan"]["text"].as_str().unwrap();
    assert!(text.contains("No changes"), "{text}");
    for member in ["queued_at", "started_at", "finished_at"] {
        assert!(one["run"][member].is_string(), "{one}");
    }
    check(&scene, &refused()).await;
    scene.instance.stop().await;
}
