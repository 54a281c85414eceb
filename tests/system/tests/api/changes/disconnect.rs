//! Work belongs to the server: a client that goes away stops nothing (docs/compatibility.md#api).

use cts_testkit::eventually;
use cts_tests::{DEADLINE, Site, met, task};

use crate::api::scene::{Scene, creation, switching, task as object};

#[tokio::test]
async fn a_creation_goes_on_without_its_client() {
    let site = Site::new();
    site.write_steps("left");
    let scene = Scene::of_site(site, "").await;
    scene.site.hold();
    let request = creation(&object("left", "./modules/left"), "?run=now");
    let client = request.begin(scene.instance.api.address()).await;
    let terraform = scene.site.wait_for_step("left", "begin", "web-1").await;
    drop(client);
    // Other clients are served in the meantime. After this answer the end of the connection is certainly
    // noticed.
    eventually(DEADLINE, async || {
        let answer = scene.ask("GET", "/v1/status").await;
        met(answer.status == 200, answer.to_string())
    })
    .await;
    assert!(scene.site.terraform_processes().contains(&terraform));
    scene.site.release();
    scene.wait_until_there("left").await;
    let events = scene.instance.api.wait_for_events("left", 1).await;
    assert_eq!(events[0]["success"], true);
    let journal = scene.site.journal("left");
    assert_eq!(journal.len(), 2, "begun and ended once: {journal:?}");
    scene.instance.stop().await;
}

#[tokio::test]
async fn an_update_goes_on_without_its_client() {
    let site = Site::new();
    site.write_steps("idle");
    let idle = task("idle", "./modules/idle", &["web"], "enabled = false");
    let scene = Scene::of_site(site, &idle).await;
    scene.site.hold();
    let request = switching("idle", true, "?run=now");
    let client = request.begin(scene.instance.api.address()).await;
    scene.site.wait_for_step("idle", "begin", "web-1").await;
    drop(client);
    scene.site.release();
    let events = scene.instance.api.wait_for_events("idle", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    assert!(scene.instance.api.is_enabled("idle").await);
    scene.instance.stop().await;
}

#[tokio::test]
async fn an_inspection_without_its_client_leaves_nothing_behind() {
    let site = Site::new();
    site.write_steps("seen");
    let scene = Scene::of_site(site, "").await;
    let request = creation(&object("seen", "./modules/seen"), "?run=inspect");
    let client = request.begin(scene.instance.api.address()).await;
    drop(client);
    // The name is free, at once or after the inspection without a reader.
    let task = object("seen", "./modules/seen");
    scene.create(&task, "?run=now").await.expect(201);
    assert_eq!(scene.steps("seen"), 1);
    scene.instance.stop().await;
}
