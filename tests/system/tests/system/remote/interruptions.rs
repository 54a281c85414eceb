//! Processes that die or end while a remote run goes on.

use cts_testkit::hcp::Phase;
use cts_tests::{Cluster, Instance, Plan, Service};
use serde_json::json;

use super::stage::Stage;

/// The statuses in which a worker is killed.
const PHASES: [Phase; 4] = [
    Phase::Pending,
    Phase::Planning,
    Phase::Planned,
    Phase::Applying,
];

#[tokio::test]
async fn a_killed_process_continues_with_the_remote_run_in_every_status() {
    for phase in PHASES {
        let stage = Stage::new().await;
        stage.register("web-1").await;
        stage.server.hold(phase);
        let first = Instance::start_embedded(&stage.site).await;
        stage.reached(phase).await;
        first.kill().await;
        let second = Instance::start_embedded(&stage.site).await;
        stage.server.release(phase);
        stage.recorded(&["web-1"]).await;
        let events = second.api.wait_for_events("edge", 1).await;
        assert_eq!(events[0]["success"], json!(true), "{phase:?}: {events:?}");
        let runs = stage.runs();
        assert_eq!(runs.len(), 1, "{phase:?}: {runs:?}");
        second.stop().await;
    }
}

#[tokio::test]
async fn another_worker_continues_when_one_is_lost() {
    let stage = Stage::new().await;
    stage.register("web-1").await;
    stage.server.hold(Phase::Applying);
    let plan = Plan {
        workers: 2,
        ..Plan::default()
    };
    let mut cluster = Cluster::start(&stage.site, plan).await;
    stage.reached(Phase::Applying).await;
    let owner = (0..2).find(|&worker| {
        cluster
            .output(Service::Worker, worker)
            .contains("remote run")
    });
    cluster.kill(Service::Worker, owner.unwrap_or(0)).await;
    stage.server.release(Phase::Applying);
    stage.recorded(&["web-1"]).await;
    cluster.api(0).wait_for_events("edge", 1).await;
    assert_eq!(stage.runs().len(), 1, "{:?}", stage.runs());
}
