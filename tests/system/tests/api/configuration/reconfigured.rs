//! The configuration changes while no cts runs: new, changed and removed tasks take effect at the next start,
//! and tasks of the API stay (docs/runs.md#tasks-of-files-and-of-the-api).

use cts_tests::task;
use serde_json::json;

use crate::api::scene::{MODULE, Scene, task as object};

fn filed(name: &str, more: &str) -> String {
    task(name, MODULE, &["web"], more)
}

#[tokio::test]
async fn file_changes_take_effect_and_other_api_changes_stay() {
    let names = ["same", "changed", "removed", "deleted", "returns"];
    let before = names.map(|name| filed(name, "")).concat();
    let scene = Scene::with(&before).await;
    for name in names {
        scene.instance.api.wait_for_events(name, 1).await;
    }
    for name in ["same", "changed"] {
        scene.switch(name, false, "").await.expect(200);
    }
    for name in ["deleted", "returns"] {
        assert_eq!(scene.delete(name).await.status, 202);
        scene.wait_until_gone(name).await;
    }
    let mut made = object("made", MODULE);
    made["description"] = json!("by hand");
    scene.create(&made, "").await.expect(201);
    scene
        .create(&made_as("taken-over", "by hand"), "")
        .await
        .expect(201);

    let after = [
        filed("same", ""),
        filed("changed", "description = \"now with words\""),
        filed("deleted", ""),
        filed("returns", "description = \"now with words\""),
        filed("new", ""),
        filed("taken-over", "description = \"of the file\""),
    ];
    scene.configure(&after.concat());
    let scene = scene.restart().await;
    let api = &scene.instance.api;
    let mut names = scene.names().await;
    names.sort();
    assert_eq!(
        names,
        ["changed", "made", "new", "returns", "same", "taken-over"]
    );
    assert_eq!(
        api.task_status("same").await["enabled"],
        false,
        "the file says what it said"
    );
    assert!(api.is_enabled("changed").await);
    for name in ["changed", "returns"] {
        let shown = scene
            .ask("GET", &format!("/v1/tasks/{name}"))
            .await
            .expect(200);
        assert_eq!(shown["task"]["description"], "now with words", "{name}");
    }
    let shown = scene.ask("GET", "/v1/tasks/taken-over").await.expect(200);
    assert_eq!(shown["task"]["description"], "of the file");
    let shown = scene.ask("GET", "/v1/tasks/made").await.expect(200);
    assert_eq!(shown["task"]["description"], "by hand");
    scene.ask("GET", "/v1/tasks/removed").await.refused(404);
    api.wait_for_events("new", 1).await;
    api.wait_for_events("returns", 1).await;

    // A task of the file that goes from it is gone, also if the API had one of its name before.
    scene.configure("");
    let scene = scene.restart().await;
    assert_eq!(scene.names().await, ["made"]);
    scene.instance.stop().await;
}

fn made_as(name: &str, description: &str) -> serde_json::Value {
    let mut task = object(name, MODULE);
    task["description"] = json!(description);
    task
}

#[tokio::test]
async fn description_put_over_the_api_causes_no_run_after_a_restart() {
    let scene = Scene::with_steps().await;
    let mut wanted = object("pool", "./modules/pool");
    wanted["description"] = json!("put");
    let put = crate::api::wire::Request::new("PUT", "/v1/tasks/pool")
        .header("If-Match", "*")
        .json(&json!({"task": wanted}));
    scene.send(&put).await.expect(200);
    let scene = scene.restart().await;
    let shown = scene.ask("GET", "/v1/tasks/pool").await.expect(200);
    assert_eq!(shown["task"]["description"], "put");
    assert_eq!(
        scene.steps("pool"),
        1,
        "nothing that a module sees is another"
    );
    scene.instance.stop().await;
}
