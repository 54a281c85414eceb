//! A state comes back from a workspace into a directory, and cts is killed on the way.

use cts_testkit::hcp::Fault;
use cts_testkit::{HcpServer, eventually};
use cts_tests::{DEADLINE, Instance, RemoteServer, start_stub};

use crate::system::states::killed_moves::{Point, Scene};
use crate::system::states::state_moves::{Stage, local};

/// Requests that read the state of a workspace, in their order.
const READS: [&str; 2] = [
    "/organizations/*/workspaces/*",
    "/workspaces/*/current-state-version",
];

/// A task that is applied in a workspace, and the content of a driver block that brings its state into a directory.
async fn applied_in_a_workspace() -> (HcpServer, Scene, String) {
    let stage = Stage::new(&["pool"]).await;
    let stub = start_stub(stage.site.path(), |_settings| {}).await;
    let scene = Scene::of(stage);
    let server = RemoteServer::of_stub(&stub, scene.stage.site.path());
    let block = server.driver("");
    scene.stage.configure_block(&block);
    scene.stage.apply("web-1", &["web-1"]).await;
    let previous = block.replacen("driver \"", "previous_backend \"", 1);
    let new = format!("{}\n{previous}", local(&scene.stage.file("new")));
    (stub, scene, new)
}

#[tokio::test]
async fn a_move_back_that_is_killed_anywhere_comes_to_the_same_end() {
    for point in [Point::Recorded, Point::Pushed, Point::Applying] {
        let (_stub, scene, new) = applied_in_a_workspace().await;
        scene.dies_at(point, &new).await;
    }
}

#[tokio::test]
async fn a_move_back_that_is_killed_while_it_reads_comes_to_the_same_end() {
    for path in READS {
        let (stub, scene, new) = applied_in_a_workspace().await;
        stub.forget_requests();
        stub.fault(Fault::delay("GET", path, DEADLINE));
        let cts = scene.start(&new).await;
        eventually(DEADLINE, async || match stub.count("GET", path) {
            0 => Err(format!("no request for {path}")),
            _ => Ok(()),
        })
        .await;
        scene.kill(cts).await;
        stub.clear_faults();
        let cts = Instance::start(&scene.stage.site).await;
        scene.finish(cts, Point::Pulled).await;
    }
}
