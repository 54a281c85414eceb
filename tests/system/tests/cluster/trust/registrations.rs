//! Ids of workers belong to the processes that registered them.

use cts_tests::{Service, Site};

use crate::cluster::scene::Scene;
use crate::cluster::trust::roles::plan;

#[tokio::test]
async fn a_worker_that_is_killed_registers_again_at_once_and_so_at_a_new_scheduler() {
    let site = Site::new();
    let plan = plan(&site).await;
    let mut scene = Scene::start_at(site, plan).await;
    scene.change_is_applied().await;
    let killed = scene.cluster.worker_id(0).await;
    scene.cluster.kill(Service::Worker, 0).await;
    scene.cluster.run(Service::Worker, 0).await;
    scene.change_is_applied().await;
    assert_ne!(scene.cluster.worker_id(0).await, killed);

    scene.cluster.kill(Service::Scheduler, 0).await;
    scene.cluster.run(Service::Scheduler, 0).await;
    scene.change_is_applied().await;
    scene.settled_events().await;
    let output = scene.cluster.output(Service::Scheduler, 0);
    assert!(
        !output.contains("a call of a worker is refused"),
        "{output}"
    );
    let output = scene.cluster.output(Service::Worker, 0);
    assert!(!output.contains("refuses the heartbeats"), "{output}");
}
