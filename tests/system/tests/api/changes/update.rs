//! `PATCH` of tasks that are busy, fail or have just been made (docs/rest.md#updating-a-task, #while-a-task-runs).

use cts_tests::{Site, task};
use serde_json::json;

use crate::api::scene::{MODULE, Scene};

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
