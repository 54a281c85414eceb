//! Runs that end once their remote run has ended (docs/hcp-terraform.md#the-end-of-a-remote-run).

use cts_testkit::eventually;
use cts_testkit::hcp::Phase;
use cts_tests::{Api, Cluster, DEADLINE, Plan, Service, met, task};
use reqwest::Method;
use serde_json::{Value, json};

use super::stage::Stage;

/// The newest run of the task, once it fits.
async fn run_that(api: &Api, fits: impl Fn(&Value) -> bool) -> Value {
    eventually(DEADLINE, async || {
        let runs = api.get("/v1/runs?task=edge").await;
        let run = &runs["runs"][0];
        if fits(run) {
            Ok(run.clone())
        } else {
            Err(runs.to_string())
        }
    })
    .await
}

/// A cluster whose only worker has drained while the remote run planned, the queued run and the remote one.
async fn queued(stage: &Stage) -> (Cluster, String, String) {
    stage.server.hold(Phase::Planning);
    let mut cluster = Cluster::start(&stage.site, Plan::default()).await;
    let remote = stage.reached(Phase::Planning).await;
    let left = cluster.stop(Service::Worker, 0).await;
    left.assert_code(0);
    let run = run_that(&cluster.api(0), |run| run["status"] == "queued").await;
    let id = run["id"].as_str().unwrap().to_owned();
    (cluster, id, remote)
}

/// Waits until the task says that the remote run is being ended, and that no worker does that.
async fn is_being_ended(api: &Api, remote: &str) {
    eventually(DEADLINE, async || {
        let explained = api.get("/v1/tasks/edge/explain").await;
        let text = explained["explanation"]["obstacles"].to_string();
        let is_said = text.contains(&format!("/runs/{remote} is being ended"));
        let is_said = is_said && text.contains("no worker");
        met(is_said, explained.to_string())
    })
    .await;
}

async fn ends(stage: &Stage, remote: &str) {
    stage.reached(Phase::Canceled).await;
    let runs = stage.runs();
    assert_eq!(runs.last().map(|run| &*run.id), Some(remote), "{runs:?}");
    stage.server.release(Phase::Planning);
}

#[tokio::test]
async fn a_cancelled_queued_run_ends_once_a_worker_has_ended_its_remote_run() {
    let stage = Stage::with_workspace(true).await;
    let (mut cluster, run, remote) = queued(&stage).await;
    let api = cluster.api(0);
    let path = format!("/v1/runs/{run}/cancel");
    let (status, answer) = api.send(Method::POST, &path, None).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(answer["run"]["status"], "running", "{answer}");
    let said = format!("/runs/{remote} is being ended");
    let waits = answer["run"]["waiting_for"].as_str().unwrap_or_default();
    assert!(waits.contains(&said), "{answer}");
    is_being_ended(&api, &remote).await;
    let overview = api.get("/v1/overview/tasks").await;
    assert!(overview.to_string().contains(&said), "{overview}");
    assert_eq!(stage.runs()[0].phase, Phase::Planning);

    // A newer input waits for that.
    stage.register("web-2").await;
    cluster.run(Service::Worker, 0).await;
    ends(&stage, &remote).await;
    stage.recorded(&["web-1", "web-2"]).await;
    let runs = stage.runs();
    assert_eq!(runs.len(), 2, "{runs:?}");
    let events = api.wait_for_events("edge", 2).await;
    let message = events[1]["error"]["message"].as_str().unwrap_or_default();
    assert!(
        message.starts_with("cancelled: the run was stopped"),
        "{message}"
    );
    assert_eq!(events[0]["success"], json!(true), "{events:?}");
}

#[tokio::test]
async fn force_gives_a_remote_run_up_with_its_address_and_the_next_run_ends_it() {
    let stage = Stage::with_workspace(true).await;
    let (mut cluster, run, remote) = queued(&stage).await;
    let api = cluster.api(0);
    let path = format!("/v1/runs/{run}/cancel");
    api.send(Method::POST, &path, None).await;
    is_being_ended(&api, &remote).await;
    let force = Some(json!({ "force": true }));
    let (status, answer) = api.send(Method::POST, &path, force).await;
    assert_eq!(status, 202, "{answer}");
    let events = api.wait_for_events("edge", 1).await;
    let message = events[0]["error"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("cancelled"), "{message}");
    assert!(message.contains(&format!("/runs/{remote}")), "{message}");
    assert_eq!(stage.runs()[0].phase, Phase::Planning);
    stage.register("web-2").await;
    cluster.run(Service::Worker, 0).await;
    eventually(DEADLINE, async || {
        let runs = stage.runs();
        let is_ended = runs[0].phase == Phase::Canceled;
        met(is_ended, format!("{runs:?}"))
    })
    .await;
    stage.server.release(Phase::Planning);
    stage.recorded(&["web-1", "web-2"]).await;
}

#[tokio::test]
async fn a_task_is_destroyed_after_the_remote_run_of_its_queued_run_has_ended() {
    let stage = Stage::with_workspace(true).await;
    let edge = task(
        "edge",
        "./modules/edge",
        &["web"],
        "on_delete = \"destroy\"",
    );
    stage.configure_tasks("", &edge);
    let mut cluster = Cluster::start(&stage.site, Plan::default()).await;
    let api = cluster.api(0);
    stage.recorded(&["web-1"]).await;
    api.wait_for_events("edge", 1).await;
    stage.server.hold(Phase::Planning);
    stage.register("web-2").await;
    let remote = stage.reached(Phase::Planning).await;
    cluster.stop(Service::Worker, 0).await.assert_code(0);
    run_that(&api, |run| run["status"] == "queued").await;
    let (status, answer) = api.send(Method::DELETE, "/v1/tasks/edge", None).await;
    assert!((200..300).contains(&status), "{status}: {answer}");
    is_being_ended(&api, &remote).await;
    cluster.run(Service::Worker, 0).await;
    eventually(DEADLINE, async || {
        let runs = stage.runs();
        let ended = runs
            .iter()
            .any(|run| run.id == remote && run.phase == Phase::Canceled);
        met(ended, format!("{runs:?}"))
    })
    .await;
    stage.server.release(Phase::Planning);
    stage.recorded(&[]).await;
    eventually(DEADLINE, async || {
        let tasks = api.get("/v1/tasks").await.to_string();
        let is_gone = !tasks.contains("\"edge\"");
        met(is_gone, tasks)
    })
    .await;
}
