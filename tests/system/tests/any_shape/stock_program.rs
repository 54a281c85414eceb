//! The command line of cts under the original's name, against the real server: calls of scripts for the
//! original.

use std::path::PathBuf;

use cts_tests::{Site, link, task};

use crate::api::program::{CommandOutput, call};
use crate::api::scene::{MODULE, Scene};

fn program(scene: &Scene) -> PathBuf {
    link(scene.site.path(), "consul-terraform-sync")
}

async fn stock(scene: &Scene, arguments: &[&str]) -> CommandOutput {
    let all = [&["task"], arguments].concat();
    call(scene, &program(scene), &all).await
}

#[tokio::test]
async fn tasks_are_made_switched_and_deleted() {
    let site = Site::new();
    site.write("made.hcl", &task("made", MODULE, &["web"], ""));
    let scene = Scene::of_site(site, "").await;
    stock(&scene, &["create", "-auto-approve", "-task-file=made.hcl"])
        .await
        .well(&["made"]);
    scene.site.wait_for_ids("made", &["web-1"]).await;
    stock(&scene, &["disable", "made"])
        .await
        .well(&["disable complete!"]);
    stock(&scene, &["enable", "-auto-approve", "made"])
        .await
        .well(&["enable complete!"]);
    stock(&scene, &["delete", "-auto-approve", "made"])
        .await
        .well(&[]);
    scene.wait_until_gone("made").await;
    scene.instance.stop().await;
}
