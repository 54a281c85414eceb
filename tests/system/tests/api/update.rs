//! `PATCH` of tasks that are busy, fail or have just been made (docs/rest.md#updating-a-task, #while-a-task-runs).

use cts_testkit::{assert_contains, eventually};
use cts_tests::{DEADLINE, Site, task};
use serde_json::json;

use crate::api::row::request_id;
use crate::api::scene::{MODULE, Scene, switching, task as object};
use crate::api::wire::answer;

#[tokio::test]
async fn a_busy_task_is_refused_at_once_in_every_mode() {
    let scene = Scene::with_steps().await;
    scene.hold_at_work().await;
    for query in ["", "?run=now", "?run=inspect"] {
        for enabled in [true, false] {
            let answer = scene.switch("pool", enabled, query).await;
            let message = answer.refused(500);
            request_id(&answer.json()).unwrap();
            let parts = ["pool", "is active and cannot be updated"];
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        }
    }
    // The task already has the requested state, and the run in progress does not show.
    let status = scene.instance.api.task_status("pool").await;
    assert_eq!(
        (&status["enabled"], &status["status"]),
        (&json!(true), &json!("successful"))
    );
    assert_eq!(status["events"].as_array().map(Vec::len), Some(1));
    scene.site.release();
    scene.instance.api.wait_for_events("pool", 2).await;
    eventually(DEADLINE, async || {
        let answer = scene.switch("pool", false, "").await;
        if answer.status == 200 {
            Ok(())
        } else {
            Err(answer.to_string())
        }
    })
    .await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_task_is_busy_while_a_patch_works_on_it() {
    let site = Site::new();
    site.write_steps("idle");
    let idle = task("idle", "./modules/idle", &["web"], "enabled = false");
    let scene = Scene::of_site(site, &idle).await;
    scene.site.hold();
    let address = scene.instance.api.address();
    let mut first = switching("idle", true, "?run=now").begin(address).await;
    scene.site.wait_for_step("idle", "begin", "web-1").await;
    let message = scene.switch("idle", false, "").await.refused(500);
    assert_contains(&message, ["is active and cannot be updated"]);
    scene.site.release();
    assert_eq!(
        answer(&mut first, false).await.unwrap().expect(200),
        json!({})
    );
    let events = scene.instance.api.events("idle").await;
    assert_eq!(events.len(), 1, "{events:?}");
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_failed_enable_is_not_rolled_back_but_a_failed_inspection_is() {
    let site = Site::new();
    site.write(
        "modules/bad/main.tf",
        "variable \"services\" {}\nresource \"terraform_data\" \"x\" { nonsense = 1 }\n",
    );
    site.write_steps("broken");
    let off = "enabled = false";
    let tasks = ["check", "inspect"].map(|name| task(name, "./modules/bad", &["web"], off));
    let apply = task(
        "broken",
        "./modules/broken",
        &["sick"],
        "enabled = false\n  retry_failed = false",
    );
    let scene = Scene::of_site(site, &(tasks.concat() + &apply)).await;
    scene
        .consul
        .register_service("sick", "sick-1", 1, &[], &["broken"])
        .await;

    let message = scene.switch("check", true, "").await.refused(500);
    assert!(message.contains("nonsense"), "{message}");
    assert!(scene.instance.api.is_enabled("check").await);
    assert!(scene.instance.api.events("check").await.is_empty());

    scene
        .switch("inspect", true, "?run=inspect")
        .await
        .refused(500);
    assert!(!scene.instance.api.is_enabled("inspect").await);

    let message = scene.switch("broken", true, "?run=now").await.refused(500);
    assert!(
        message.contains("broken for"),
        "Terraform's own words: {message}"
    );
    let status = scene.instance.api.task_status("broken").await;
    assert_eq!(
        (&status["enabled"], &status["status"]),
        (&json!(true), &json!("errored"))
    );
    assert_eq!(scene.steps("broken"), 1, "tried once");
    scene.instance.stop().await;
}

#[tokio::test]
async fn enabling_does_not_apply_and_disabling_takes_back_what_waits() {
    let site = Site::new();
    site.write_steps("slow");
    let slow = "buffer_period {\n    enabled = true\n    min = \"1h\"\n    max = \"2h\"\n  }";
    let tasks =
        task("slow", "./modules/slow", &["web"], slow) + &task("quick", MODULE, &["web"], "");
    let scene = Scene::of_site(site, &tasks).await;
    scene.instance.api.wait_for_events("slow", 1).await;
    scene.register("web", "web-2").await;
    scene.instance.api.wait_for_events("quick", 2).await;
    // A run that waits for the end of its buffer period does not make a task busy.
    assert_eq!(scene.switch("slow", false, "").await.expect(200), json!({}));
    assert_eq!(scene.switch("slow", true, "").await.expect(200), json!({}));
    assert_eq!(scene.steps("slow"), 1);
    assert_eq!(
        scene.switch("slow", true, "?run=now").await.expect(200),
        json!({})
    );
    scene.site.wait_for_step("slow", "end", "web-1,web-2").await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_task_of_the_api_is_changed_like_any_other() {
    let scene = Scene::empty().await;
    scene.create(&object("made", MODULE), "").await.expect(201);
    assert_eq!(scene.switch("made", false, "").await.expect(200), json!({}));
    assert_eq!(
        scene.switch("made", true, "?run=now").await.expect(200),
        json!({})
    );
    scene.site.wait_for_ids("made", &["web-1"]).await;
    let seen = scene.switch("made", true, "?run=inspect").await.expect(200);
    assert_eq!(seen["inspect"]["changes_present"], false);
    scene.instance.stop().await;
}
