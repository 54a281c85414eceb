//! Everything is killed in the middle of work that was requested over the API, and started again.

use cts_testkit::eventually;
use cts_tests::{DEADLINE, Instance, Shape, Site, met, task};

use crate::api::scene::{MODULE, Scene, creation, switching, task as object};

impl Scene {
    /// Kills all processes, and starts again.
    async fn kill_and_start(self) -> Self {
        let Self {
            instance,
            site,
            consul,
        } = self;
        instance.kill().await;
        let instance = Instance::start(&site).await;
        Self {
            instance,
            site,
            consul,
        }
    }
}

/// A task "made" whose creation was killed while it was applied, and everything has been started again. Its
/// Terraform was let go on.
async fn after_a_kill() -> Scene {
    let site = Site::new();
    site.write_steps("made");
    let scene = Scene::of_site(site, "").await;
    scene.site.hold();
    let request = creation(&object("made", "./modules/made"), "?run=now");
    let client = request.begin(scene.instance.api.address()).await;
    scene.site.wait_for_step("made", "begin", "web-1").await;
    let scene = scene.kill_and_start().await;
    drop(client);
    scene.ask("GET", "/v1/tasks/made").await.refused(404);
    scene.site.release();
    scene
}

/// As four services, the others carry the creation on. In one process its caller is gone too: the task was
/// never created, except for what Terraform had already done, and can be requested again.
#[tokio::test]
async fn a_creation_is_carried_on_or_was_never_there_after_a_kill() {
    let scene = after_a_kill().await;
    if Shape::of_this_run() == Shape::Embedded {
        let again = object("made", "./modules/made");
        scene.create(&again, "?run=now").await.expect(201);
    } else {
        scene.wait_until_there("made").await;
    }
    let events = scene.instance.api.wait_for_events("made", 1).await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0]["success"], true, "{events:?}");
    scene.site.wait_for_ids("made", &["web-1"]).await;
    let journal = scene.site.journal("made");
    let overlaps = journal.iter().any(|line| line.starts_with("overlap"));
    assert!(!overlaps, "{journal:?}");
    let message = scene.create(&object("made", MODULE), "").await.refused(400);
    assert!(message.contains("already exists"), "{message}");
    scene.instance.stop().await;
}

#[tokio::test]
async fn an_inspection_that_nobody_reads_any_more_frees_its_name() {
    let scene = Scene::empty().await;
    let request = creation(&object("seen", MODULE), "?run=inspect");
    let client = request.begin(scene.instance.api.address()).await;
    let scene = scene.kill_and_start().await;
    drop(client);
    scene
        .create(&object("seen", MODULE), "?run=now")
        .await
        .expect(201);
    scene.site.wait_for_ids("seen", &["web-1"]).await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn an_update_and_a_deletion_are_carried_on_after_a_kill() {
    let site = Site::new();
    site.write_steps("idle");
    let idle = task("idle", "./modules/idle", &["web"], "enabled = false");
    let scene = Scene::of_site(site, &idle).await;
    scene.site.hold();
    let request = switching("idle", true, "?run=now");
    let client = request.begin(scene.instance.api.address()).await;
    scene.site.wait_for_step("idle", "begin", "web-1").await;
    let scene = scene.kill_and_start().await;
    drop(client);
    assert!(scene.instance.api.is_enabled("idle").await);
    assert_eq!(scene.delete("idle").await.status, 202);
    let scene = scene.kill_and_start().await;
    scene.site.release();
    scene.wait_until_gone("idle").await;
    eventually(DEADLINE, async || {
        let names = scene.names().await;
        met(names.is_empty(), format!("{names:?}"))
    })
    .await;
    scene.instance.stop().await;
}
