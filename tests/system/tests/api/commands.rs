//! `cts task …` against the real server.

use cts_tests::{Site, executable, task};

use crate::api::program::{CommandOutput, call};
use crate::api::scene::{MODULE, Scene};

async fn cts(scene: &Scene, arguments: &[&str]) -> CommandOutput {
    let all = [&["task"], arguments].concat();
    call(scene, &executable("cts"), &all).await
}

#[tokio::test]
async fn tasks_are_made_switched_run_and_deleted() {
    let site = Site::new();
    site.write(
        "made.hcl",
        &task("made", MODULE, &["web"], "description = \"by hand\""),
    );
    let scene = Scene::of_site(site, "").await;
    let create = ["create", "-task-file=made.hcl", "-auto-approve"];
    cts(&scene, &create).await.well(&["Plan: 1 to add", "made"]);
    scene.site.wait_for_ids("made", &["web-1"]).await;
    assert_eq!(scene.instance.api.events("made").await.len(), 1);
    cts(&scene, &create).await.failed(11, &["already exists"]);
    cts(&scene, &["list"])
        .await
        .well(&["made", "successful", "services: web"]);
    cts(&scene, &["show", "made"]).await.well(&["by hand"]);

    cts(&scene, &["disable", "made"])
        .await
        .well(&["disable complete!"]);
    assert!(!scene.instance.api.is_enabled("made").await);
    cts(&scene, &["run", "made"])
        .await
        .failed(11, &["cts task enable made"]);
    scene.register("web", "web-2").await;
    cts(&scene, &["enable", "made", "-auto-approve"])
        .await
        .well(&["enable complete!"]);
    scene.site.wait_for_ids("made", &["web-1", "web-2"]).await;
    let before = scene.instance.api.events("made").await.len();
    cts(&scene, &["run", "made"]).await.well(&[]);
    assert_eq!(scene.instance.api.events("made").await.len(), before + 1);
    cts(&scene, &["events", "made"]).await.well(&[]);

    cts(&scene, &["delete", "made", "-auto-approve", "--wait"])
        .await
        .well(&[]);
    scene.ask("GET", "/v1/tasks/made").await.refused(404);
    cts(&scene, &["delete", "made", "-auto-approve"])
        .await
        .failed(11, &["made"]);
    scene.instance.stop().await;
}

#[tokio::test]
async fn the_state_of_a_task_is_shown_and_decided() {
    let site = Site::new();
    let tasks = [
        task("off", MODULE, &["web"], "enabled = false"),
        task("there", MODULE, &["web"], "enabled = false"),
    ];
    let scene = Scene::of_site(site, &tasks.concat()).await;
    cts(&scene, &["state", "off"])
        .await
        .well(&["off", "nothing is known yet"]);
    cts(&scene, &["state", "none"])
        .await
        .failed(11, &["there is no task 'none'"]);
    // Without an answer nothing is decided.
    cts(&scene, &["state", "off", "-from=earlier"])
        .await
        .failed(
            11,
            &["Do you want 'off' to take the state of the earlier task 'earlier'?"],
        );
    cts(&scene, &["state", "off", "-keep=old", "-auto-approve"])
        .await
        .failed(11, &["in no conflict"]);
    cts(&scene, &["state", "off", "-from=there", "-auto-approve"])
        .await
        .failed(11, &["'there' is still there"]);
    let json = cts(&scene, &["state", "off", "-o", "json"]).await;
    json.well(&["\"from\": null", "\"state\": null"]);
    cts(&scene, &["state", "off", "-from=earlier", "-auto-approve"])
        .await
        .well(&["It is decided", "earlier"]);
    let known = scene.ask("GET", "/v1/tasks/off/state").await;
    assert_eq!(known.json()["from"], "earlier");
    scene.instance.stop().await;
}
