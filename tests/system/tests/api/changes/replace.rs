//! `PUT /v1/tasks/{name}`: another declaration under the same name, if the revision matches. Not in the
//! original.

use cts_testkit::eventually;
use cts_tests::{DEADLINE, Site, task as block};
use serde_json::{Value, json};

use crate::api::row::{Body, Row, check, new_error};
use crate::api::scene::{MODULE, Scene, task, task_on};
use crate::api::wire::{Answer, Request};

fn put(task: &Value, revision: &str, query: &str) -> Request {
    let name = task["name"].as_str().unwrap();
    Request::new("PUT", &format!("/v1/tasks/{name}{query}"))
        .header("If-Match", revision)
        .json(&json!({"task": task}))
}

/// Sends `request` until the task is not busy.
async fn when_idle(scene: &Scene, request: &Request) -> Answer {
    eventually(DEADLINE, async || {
        let answer = scene.send(request).await;
        if answer.text().contains("is active and cannot be updated") {
            Err(answer.to_string())
        } else {
            Ok(answer)
        }
    })
    .await
}

async fn etag(scene: &Scene, name: &str) -> String {
    let answer: Answer = scene.ask("GET", &format!("/v1/tasks/{name}")).await;
    let tag = answer.header("ETag");
    tag.unwrap_or_else(|| panic!("no ETag: {answer:?}"))
        .to_owned()
}

#[tokio::test]
async fn a_task_is_replaced_at_the_revision_that_is_meant() {
    let scene = Scene::empty().await;
    scene
        .create(&task("pool", MODULE), "?run=now")
        .await
        .expect(201);
    assert_eq!(etag(&scene, "pool").await, "\"1\"");
    let mut wanted = task_on("pool", MODULE, "api");
    wanted["description"] = json!("other service");
    let answer = scene.send(&put(&wanted, "\"1\"", "")).await;
    assert_eq!(answer.header("ETag"), Some("\"2\""), "{answer}");
    let body = answer.expect(200);
    assert_eq!(body["revision"], 2);
    assert_eq!(body["task"]["description"], "other service");
    assert_eq!(etag(&scene, "pool").await, "\"2\"");

    // A change made in between is not overwritten.
    let stale = scene.send(&put(&task("pool", MODULE), "\"1\"", "")).await;
    assert!(stale.refused(409).contains("pool"), "{stale}");
    scene.switch("pool", false, "").await.expect(200);
    assert_eq!(etag(&scene, "pool").await, "\"3\"", "switching counts");
    scene.send(&put(&wanted, "\"2\"", "")).await.refused(409);

    // The task follows the other service from now on.
    let answer = scene
        .send(&put(&wanted, "\"3\"", "?run=now"))
        .await
        .expect(200);
    assert_eq!(
        (&answer["revision"], &answer["task"]["enabled"]),
        (&json!(4), &json!(true))
    );
    scene.site.wait_for_ids("pool", &[]).await;
    scene.register("api", "api-1").await;
    scene.site.wait_for_ids("pool", &["api-1"]).await;

    // Any revision will do if the client says so. The run may not be over yet.
    let any = put(&task("pool", MODULE), "*", "?run=now");
    when_idle(&scene, &any).await.expect(200);
    scene.site.wait_for_ids("pool", &["web-1"]).await;
    let in_body = json!({"task": task("pool", MODULE), "revision": 5});
    let request = Request::new("PUT", "/v1/tasks/pool").json(&in_body);
    scene.send(&request).await.expect(200);
    scene.instance.stop().await;
}

/// A task cannot hold a second declaration in addition to its own.
#[tokio::test]
async fn an_inspection_is_refused_and_replaces_nothing() {
    let scene = Scene::with(&block("pool", MODULE, &["web"], "")).await;
    scene.instance.api.wait_for_events("pool", 1).await;
    let wanted = task_on("pool", MODULE, "api");
    let message = scene
        .send(&put(&wanted, "\"1\"", "?run=inspect"))
        .await
        .refused(400);
    assert!(message.contains("inspect"), "{message}");
    assert_eq!(etag(&scene, "pool").await, "\"1\"");
    let shown = scene.ask("GET", "/v1/tasks/pool").await.expect(200);
    assert_eq!(
        shown["task"]["condition"]["services"]["names"],
        json!(["web"])
    );
    scene.instance.stop().await;
}

fn refused() -> Vec<Row> {
    let plain = || Request::new("PUT", "/v1/tasks/pool");
    let with = |body: Value| plain().header("If-Match", "*").json(&body);
    let good = || json!({"task": task("pool", MODULE)});
    let schema = "doesn't match schema #/components/schemas/TaskReplacement: ";
    let error = |part: &str| new_error(&format!("{schema}{part}"));
    let revision = |value: &str| plain().header("If-Match", value).json(&good());
    let mut bad = task("pool", MODULE);
    bad["condition"] = json!({"services": {}});
    vec![
        plain().json(&good()).gives(400, new_error("revision")),
        revision("1").gives(400, new_error("If-Match")),
        revision("W/\"1\"").gives(400, new_error("If-Match")),
        revision("\"0\"").gives(400, new_error("If-Match")),
        plain()
            .header("If-Match", "\"1\"")
            .json(&json!({"task": task("pool", MODULE), "revision": 2}))
            .gives(400, new_error("differ")),
        with(json!({"task": task("other", MODULE)})).gives(400, new_error("'other'")),
        with(json!({})).gives(
            400,
            error("Error at \"/task\": property \"task\" is missing"),
        ),
        with(json!({"task": {}, "x": 1})).gives(400, error("")),
        with(json!({"task": task("pool", MODULE), "revision": "1"}))
            .gives(400, error("Error at \"/revision\"")),
        with(json!({"task": bad})).gives(400, new_error("names")),
        plain().gives(400, new_error("value is required but missing")),
        plain().body("{}").gives(400, new_error("Content-Type")),
        Request::new("PUT", "/v1/tasks/pool?run=x")
            .json(&good())
            .gives(400, new_error("\"run\"")),
        put(&task("nobody", MODULE), "*", "").gives(404, new_error("'nobody'")),
        put(&task("pool", MODULE), "\"17\"", "").gives(409, new_error("pool")),
        Request::new("PUT", "/v1/tasks/a/b")
            .json(&good())
            .gives(405, Body::LegacyError(vec!["'PUT'".to_owned()])),
    ]
}

#[tokio::test]
async fn every_request_gets_the_documented_answer() {
    let site = Site::new();
    site.write(
        "modules/bad/main.tf",
        "variable \"services\" {}\nresource \"terraform_data\" \"x\" { nonsense = 1 }\n",
    );
    site.write_steps("held");
    let tasks =
        block("pool", MODULE, &["web"], "") + &block("held", "./modules/held", &["web"], "");
    let scene = Scene::of_site(site, &tasks).await;
    scene.instance.api.wait_for_events("pool", 1).await;
    scene.instance.api.wait_for_events("held", 1).await;
    check(&scene, &refused()).await;
    assert_eq!(etag(&scene, "pool").await, "\"1\"", "nothing was replaced");

    // As with a failed enable, the replacement stays.
    let failing = put(&task("pool", "./modules/bad"), "*", "");
    assert!(scene.send(&failing).await.refused(422).contains("nonsense"));
    assert_eq!(etag(&scene, "pool").await, "\"2\"");
    let mended = put(&task("pool", MODULE), "\"2\"", "");
    when_idle(&scene, &mended).await.expect(200);

    scene.site.hold();
    scene.register("web", "web-2").await;
    scene
        .site
        .wait_for_step("held", "begin", "web-1,web-2")
        .await;
    let busy = scene
        .send(&put(&task("held", "./modules/held"), "*", ""))
        .await
        .refused(409);
    assert!(busy.contains("is active and cannot be updated"), "{busy}");
    scene.site.release();
    scene.instance.api.wait_for_events("held", 2).await;
    scene.instance.stop().await;
}
