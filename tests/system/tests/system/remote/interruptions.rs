//! Processes that die or end while a remote run goes on.

use cts_testkit::eventually;
use cts_testkit::hcp::Phase;
use cts_tests::{Cluster, DEADLINE, Instance, Plan, Service, met};
use serde_json::{Value, json};

use super::super::cancels::cancel;
use super::stage::{Stage, newest_run};

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

#[tokio::test]
async fn a_remote_run_that_its_run_has_left_is_waited_for_and_shown() {
    let stage = Stage::new().await;
    stage.register("web-1").await;
    stage.server.hold(Phase::Applying);
    let cts = Instance::start_embedded(&stage.site).await;
    let left = stage.reached(Phase::Applying).await;
    stage.server.go_down().await;
    let run = newest_run(&cts, |run| run["status"] == "running").await;
    let id = run["id"].as_str().unwrap();
    let (status, answer) = cancel(&cts, id, Some(json!({ "force": true }))).await;
    assert_eq!(status, 202, "{answer}");
    newest_run(&cts, |run| run["status"] == "failed").await;
    stage.server.come_up().await;

    stage.register("web-2").await;
    let waits = |run: &Value| {
        let remote = &run["remote_run"];
        let reason = remote["waiting_for"].as_str().unwrap_or_default();
        let url = remote["url"].as_str().unwrap_or_default();
        reason.starts_with("the end of this remote run") && url.ends_with(&left)
    };
    newest_run(&cts, waits).await;
    cts.kill().await;
    let cts = Instance::start_embedded(&stage.site).await;
    newest_run(&cts, waits).await;
    let explained = format!("{left} on the server is applying");
    eventually(DEADLINE, async || {
        let answer = cts.api.get("/v1/tasks/edge/explain").await;
        let answer = answer.to_string();
        met(answer.contains(&explained), answer)
    })
    .await;
    stage.server.release(Phase::Applying);
    stage.recorded(&["web-1", "web-2"]).await;
    newest_run(&cts, |run| run["status"] == "succeeded").await;
    let runs = stage.runs();
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert!(
        runs.iter().all(|run| run.phase == Phase::Applied),
        "{runs:?}"
    );
    cts.stop().await;
}
