//! Runs that end once their remote run has ended (docs/hcp-terraform.md#the-end-of-a-remote-run).

use cts_testkit::eventually;
use cts_testkit::hcp::Phase;
use cts_tests::{Api, Cluster, DEADLINE, Instance, Plan, Service, task};
use reqwest::Method;
use serde_json::{Value, json};

use super::super::cancels::cancel;
use super::stage::{Stage, WORKSPACE, newest_run};

async fn call(api: &Api, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
    let client = reqwest::Client::builder().no_proxy().timeout(DEADLINE);
    let mut request = client.build().unwrap().request(method, api.url(path));
    if let Some(body) = body {
        request = request.json(&body);
    }
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap_or_default())
}

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
        is_said.then_some(()).ok_or_else(|| explained.to_string())
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
    let (status, answer) = call(&api, Method::POST, &path, None).await;
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
    call(&api, Method::POST, &path, None).await;
    is_being_ended(&api, &remote).await;
    let force = Some(json!({ "force": true }));
    let (status, answer) = call(&api, Method::POST, &path, force).await;
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
        is_ended.then_some(()).ok_or_else(|| format!("{runs:?}"))
    })
    .await;
    stage.server.release(Phase::Planning);
    stage.recorded(&["web-1", "web-2"]).await;
}

#[tokio::test]
async fn a_deleted_task_stays_until_the_remote_run_of_its_queued_run_has_ended() {
    let stage = Stage::with_workspace(true).await;
    let (mut cluster, _run, remote) = queued(&stage).await;
    let api = cluster.api(0);
    let (status, answer) = call(&api, Method::DELETE, "/v1/tasks/edge", None).await;
    assert!((200..300).contains(&status), "{status}: {answer}");
    is_being_ended(&api, &remote).await;
    cluster.run(Service::Worker, 0).await;
    ends(&stage, &remote).await;
    eventually(DEADLINE, async || {
        let runs = api.get("/v1/runs?task=edge").await;
        let is_cancelled = runs["runs"][0]["status"] == "cancelled";
        let tasks = api.get("/v1/tasks").await.to_string();
        let is_done = is_cancelled && !tasks.contains("\"edge\"");
        is_done
            .then_some(())
            .ok_or_else(|| format!("{runs} {tasks}"))
    })
    .await;
    assert_eq!(stage.runs().len(), 1, "{:?}", stage.runs());
    assert_eq!(stage.server.state(WORKSPACE), None);
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
    let (status, answer) = call(&api, Method::DELETE, "/v1/tasks/edge", None).await;
    assert!((200..300).contains(&status), "{status}: {answer}");
    is_being_ended(&api, &remote).await;
    cluster.run(Service::Worker, 0).await;
    eventually(DEADLINE, async || {
        let runs = stage.runs();
        let ended = runs
            .iter()
            .any(|run| run.id == remote && run.phase == Phase::Canceled);
        ended.then_some(()).ok_or_else(|| format!("{runs:?}"))
    })
    .await;
    stage.server.release(Phase::Planning);
    stage.recorded(&[]).await;
    eventually(DEADLINE, async || {
        let tasks = api.get("/v1/tasks").await.to_string();
        let is_gone = !tasks.contains("\"edge\"");
        is_gone.then_some(()).ok_or(tasks)
    })
    .await;
}

#[tokio::test]
async fn a_file_that_removes_or_disables_the_task_ends_the_remote_run_of_its_queued_run() {
    for removes in [false, true] {
        let stage = Stage::with_workspace(true).await;
        stage.server.hold(Phase::Planning);
        let first = Instance::start_embedded(&stage.site).await;
        let remote = stage.reached(Phase::Planning).await;
        newest_run(&first, |run| run["remote_run"]["status"] == "planning").await;
        first.stop().await;
        let (name, service) = if removes {
            ("other", "api")
        } else {
            ("edge", "web")
        };
        let left = task(name, "./modules/edge", &[service], "enabled = false");
        stage.configure_tasks("", &left);
        let second = Instance::start_embedded(&stage.site).await;
        ends(&stage, &remote).await;
        eventually(DEADLINE, async || {
            // The disabled task is checked meanwhile.
            let runs = second.api.get("/v1/runs?task=edge").await.to_string();
            let is_cancelled = runs.contains("\"status\":\"cancelled\"");
            is_cancelled.then_some(()).ok_or(runs)
        })
        .await;
        let tasks = second.api.get("/v1/tasks").await.to_string();
        assert_ne!(tasks.contains("\"edge\""), removes, "{tasks}");
        if !removes {
            assert!(second.api.events("edge").await.is_empty());
        }
        assert_eq!(stage.runs().len(), 1, "{:?}", stage.runs());
        second.stop().await;
    }
}

#[tokio::test]
async fn a_process_that_dies_while_it_cancels_a_run_leaves_no_remote_run() {
    let stage = Stage::with_workspace(true).await;
    stage.server.hold(Phase::Planning);
    let first = Instance::start_embedded(&stage.site).await;
    let remote = stage.reached(Phase::Planning).await;
    let run = newest_run(&first, |run| run["remote_run"]["status"] == "planning").await;
    stage.server.go_down().await;
    let id = run["id"].as_str().unwrap();
    let (status, answer) = cancel(&first, id, None).await;
    assert_eq!(status, 202, "{answer}");
    first.kill().await;
    let second = Instance::start_embedded(&stage.site).await;
    let said = format!("/runs/{remote} is being ended");
    newest_run(&second, |run| {
        let waits = run["waiting_for"].as_str().unwrap_or_default();
        let waits_remotely = run["remote_run"]["waiting_for"]
            .as_str()
            .unwrap_or_default();
        waits.contains(&said) || waits_remotely.starts_with("the server")
    })
    .await;
    second.kill().await;
    let third = Instance::start_embedded(&stage.site).await;
    stage.server.come_up().await;
    ends(&stage, &remote).await;
    let events = third.api.wait_for_events("edge", 1).await;
    let message = events[0]["error"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("cancelled"), "{message}");
    assert_eq!(stage.runs().len(), 1, "{:?}", stage.runs());
    third.stop().await;
}

#[tokio::test]
async fn another_worker_ends_a_remote_run_when_one_is_lost_meanwhile() {
    let stage = Stage::with_workspace(true).await;
    let (mut cluster, run, remote) = queued(&stage).await;
    let api = cluster.api(0);
    call(&api, Method::POST, &format!("/v1/runs/{run}/cancel"), None).await;
    stage.server.go_down().await;
    cluster.run(Service::Worker, 0).await;
    run_that(&api, |run| {
        let waits = run["remote_run"]["waiting_for"]
            .as_str()
            .unwrap_or_default();
        waits.starts_with("the server")
    })
    .await;
    cluster.kill(Service::Worker, 0).await;
    stage.server.come_up().await;
    let second = cluster.add(Service::Worker);
    cluster.run(Service::Worker, second).await;
    ends(&stage, &remote).await;
    let run = run_that(&api, |run| run["status"] == "failed").await;
    // Neither the drained lease nor those that ended the remote run count.
    assert_eq!(run["attempts"], 0, "{run}");
    let events = api.wait_for_events("edge", 1).await;
    let message = events[0]["error"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("cancelled"), "{message}");
}
