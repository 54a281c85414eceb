//! Changes made over the API outlive the process.

use cts_testkit::eventually;
use cts_tests::{DEADLINE, Instance, Shape, Site, met, task};
use serde_json::json;

use crate::api::scene::{MODULE, Scene, prepare, task as object};

#[tokio::test]
async fn tasks_changes_and_deletions_survive() {
    let tasks = ["kept", "switched", "dropped"].map(|name| task(name, MODULE, &["web"], ""));
    let scene = Scene::with(&tasks.concat()).await;
    for name in ["kept", "switched", "dropped"] {
        scene.instance.api.wait_for_events(name, 1).await;
    }
    let mut wanted = object("made", MODULE);
    wanted["description"] = json!("of the API");
    wanted["buffer_period"] = json!({"enabled": false});
    let made = scene.create(&wanted, "?run=now").await.expect(201);
    scene.create(&object("fresh", MODULE), "").await.expect(201);
    scene.switch("switched", false, "").await.expect(200);
    assert_eq!(scene.delete("dropped").await.status, 202);
    scene.wait_until_gone("dropped").await;
    let events = scene.instance.api.events("made").await;
    let order = scene.names().await;
    assert_eq!(order, ["kept", "switched", "made", "fresh"]);

    let mut scene = scene;
    for _ in 0..2 {
        scene = scene.restart().await;
        assert_eq!(scene.names().await, order);
        let again = scene.ask("GET", "/v1/tasks/made").await.expect(200);
        assert_eq!(again["task"], made["task"]);
        assert_eq!(
            scene.instance.api.events("made").await,
            events,
            "they are kept"
        );
        assert!(!scene.instance.api.is_enabled("switched").await);
    }

    // Tasks stay active: a change reaches the enabled ones.
    let before = scene.instance.api.events("switched").await.len();
    scene.register("web", "web-2").await;
    for name in ["kept", "made", "fresh"] {
        scene.site.wait_for_ids(name, &["web-1", "web-2"]).await;
    }
    assert_eq!(scene.instance.api.events("switched").await.len(), before);
    let kept = scene.site.recorded("dropped").unwrap();
    assert!(!kept.to_string().contains("web-2"), "{kept}");
    scene.switch("switched", true, "?run=now").await.expect(200);
    scene
        .site
        .wait_for_ids("switched", &["web-1", "web-2"])
        .await;
    scene.instance.stop().await;
}

/// `-reset-storage` makes everything as the configuration has it. An option of `cts start`.
#[tokio::test]
async fn reset_storage_forgets_what_the_api_has_made() {
    if Shape::of_this_run() == Shape::Cluster {
        return;
    }
    let tasks = ["kept", "dropped"].map(|name| task(name, MODULE, &["web"], ""));
    let (site, consul) = prepare(Site::new(), &tasks.concat()).await;
    let instance = Instance::start_embedded(&site).await;
    let scene = Scene {
        instance,
        site,
        consul,
    };
    scene.instance.api.wait_for_events("kept", 1).await;
    scene.instance.api.wait_for_events("dropped", 1).await;
    scene.create(&object("made", MODULE), "").await.expect(201);
    scene.switch("kept", false, "").await.expect(200);
    assert_eq!(scene.delete("dropped").await.status, 202);
    scene.wait_until_gone("dropped").await;
    let Scene {
        instance,
        site,
        consul,
    } = scene;
    instance.stop().await;
    let instance = Instance::start_embedded_with(&site, &["-reset-storage"]).await;
    let scene = Scene {
        instance,
        site,
        consul,
    };
    eventually(DEADLINE, async || {
        let names = scene.names().await;
        met(names == ["kept", "dropped"], format!("{names:?}"))
    })
    .await;
    assert!(scene.instance.api.is_enabled("kept").await);
    scene.instance.api.wait_for_events("dropped", 1).await;
    scene.instance.stop().await;
}
