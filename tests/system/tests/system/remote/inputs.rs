//! A remote run belongs to one input: nothing that was made for another input or another place is followed.

use cts_testkit::hcp::{HcpSettings, Phase};
use cts_testkit::{HcpServer, ScriptedAnswer, ScriptedHttp, eventually};
use cts_tests::{Api, Cluster, DEADLINE, Instance, Plan, RemoteServer, Service, met, task};
use reqwest::Method;
use serde_json::{Value, json};

use super::stage::{Stage, newest_run};

/// Waits until the queued run of the task has a newer input.
async fn replaced(api: &Api) {
    eventually(DEADLINE, async || {
        let explained = api.get("/v1/tasks/edge/explain").await;
        let decision = &explained["explanation"]["last_decision"]["kind"];
        let is_merged = *decision == "merged";
        met(is_merged, explained.to_string())
    })
    .await;
}

/// The change that came while nothing was there is applied, by a remote run of its own.
async fn assert_the_older_one_is_ended(stage: &Stage, older: &str) {
    stage.server.release(Phase::Planning);
    stage.recorded(&["web-1", "web-2"]).await;
    let runs = stage.runs();
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert_eq!(runs[0].id, older, "{runs:?}");
    assert_eq!(runs[1].phase, Phase::Applied, "{runs:?}");
}

#[tokio::test]
async fn changes_during_a_restart_are_applied_although_remote_runs_of_older_inputs_go_on() {
    const TASKS: usize = 12;
    let stage = Stage::with(|settings| settings.terraform = None).await;
    let names: Vec<String> = (0..TASKS).map(|number| format!("edge-{number}")).collect();
    let tasks = names.iter();
    let tasks = tasks.map(|name| task(name, "./modules/edge", &["web"], ""));
    stage.configure_tasks("", &tasks.collect::<String>());
    let runs = |name: &str| stage.server.runs(&format!("cts-{name}"));
    stage.register("web-1").await;
    stage.server.hold(Phase::Planning);
    let first = Instance::start_embedded(&stage.site).await;
    eventually(DEADLINE, async || {
        let newest = names.iter().map(|name| runs(name).pop());
        let newest: Vec<_> = newest.map(|run| run.map(|run| run.phase)).collect();
        let plan = newest.iter().all(|phase| *phase == Some(Phase::Planning));
        met(plan, format!("{newest:?}"))
    })
    .await;
    first.kill().await;
    stage.register("web-2").await;
    let second = Instance::start_embedded(&stage.site).await;
    // Some runs have the older input still, and a queued one behind them.
    let overview = "/v1/tasks/edge-0/explain";
    eventually(DEADLINE, async || {
        let explained = second.api.get(overview).await;
        let decision = &explained["explanation"]["last_decision"];
        decision["run_id"]
            .as_str()
            .map(drop)
            .ok_or(explained.to_string())
    })
    .await;
    stage.server.release(Phase::Planning);
    eventually(DEADLINE, async || {
        let all = names.iter().map(|name| (name, runs(name)));
        let lost = all.filter(|(_name, runs)| {
            runs.len() != 2 || runs[1].phase != Phase::Applied || !runs[0].phase.is_end()
        });
        let lost: Vec<_> = lost.collect();
        met(lost.is_empty(), format!("{lost:?}"))
    })
    .await;
    second.stop().await;
}

#[tokio::test]
async fn a_change_while_the_only_worker_is_replaced_is_applied() {
    let stage = Stage::new().await;
    stage.register("web-1").await;
    stage.server.hold(Phase::Planning);
    let mut cluster = Cluster::start(&stage.site, Plan::default()).await;
    let older = stage.reached(Phase::Planning).await;
    let left = cluster.stop(Service::Worker, 0).await;
    left.assert_code(0);
    stage.register("web-2").await;
    let api = cluster.api(0);
    replaced(&api).await;
    cluster.run(Service::Worker, 0).await;
    // A plan that went on now could be applied before the worker has got to the run.
    eventually(DEADLINE, async || {
        let phase = stage.runs()[0].phase;
        let is_ended = phase == Phase::Canceled;
        met(is_ended, format!("{phase:?}"))
    })
    .await;
    assert_the_older_one_is_ended(&stage, &older).await;
    let events = api.wait_for_events("edge", 1).await;
    assert_eq!(events[0]["success"], json!(true), "{events:?}");
}

#[tokio::test]
async fn a_change_before_the_next_attempt_is_applied_although_the_last_one_was_applied_before_its_webhook_failed()
 {
    let ok = || ScriptedAnswer::Json(200, Value::Null);
    let script = [ScriptedAnswer::Json(404, Value::Null), ok(), ok()];
    let receiver = ScriptedHttp::start(script).await;
    let stage = Stage::new().await;
    stage.register("web-1").await;
    let webhook = format!(
        "webhook \"tickets\" {{\n  url = \"http://{}/\"\n}}\n",
        receiver.address()
    );
    let edge = task(
        "edge",
        "./modules/edge",
        &["web"],
        "webhooks = [\"tickets\"]",
    );
    stage.configure_tasks("", &(webhook + &edge));
    let cts = stage.start().await;
    newest_run(&cts, |run| {
        run["status"] == "queued" && run["attempts"] == 1
    })
    .await;
    stage.register("web-2").await;
    stage.recorded(&["web-1", "web-2"]).await;
    newest_run(&cts, |run| run["status"] == "succeeded").await;
    cts.stop().await;
}

#[tokio::test]
async fn a_remote_run_of_another_server_fails_one_run_with_its_address_and_is_left_alone() {
    let stage = Stage::new().await;
    stage.register("web-1").await;
    stage.server.hold(Phase::Planning);
    let first = Instance::start_embedded(&stage.site).await;
    let left = stage.reached(Phase::Planning).await;
    newest_run(&first, |run| run["remote_run"]["status"] == "planning").await;
    first.kill().await;

    let directory = tempfile::tempdir().unwrap();
    let other = HcpServer::start_in(directory.path(), HcpSettings::with_terraform()).await;
    let edge = task("edge", "./modules/edge", &["web"], "retry_failed = false");
    let driver = RemoteServer::of_stub(&other, directory.path()).driver("");
    let consul = stage.consul.address();
    stage.site.write_configuration(&consul, &driver, &edge);
    let second = Instance::start_embedded(&stage.site).await;
    let events = second.api.wait_for_events("edge", 1).await;
    let message = events[0]["error"]["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("neither followed nor ended: https://")
            && message.contains(&format!("/runs/{left}")),
        "{message}"
    );
    assert_eq!(message.matches("neither followed").count(), 1, "{message}");
    assert!(other.runs("cts-edge").is_empty());
    let (status, answer) = second
        .api
        .send(
            Method::PATCH,
            "/v1/tasks/edge?run=now",
            Some(json!({ "enabled": true })),
        )
        .await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(other.runs("cts-edge").len(), 1);
    assert_eq!(stage.runs().len(), 1, "{:?}", stage.runs());
    assert_eq!(stage.runs()[0].phase, Phase::Planning);
    second.stop().await;
}

#[tokio::test]
async fn a_remote_run_in_the_former_workspace_is_ended_before_another_is_requested() {
    let stage = Stage::new().await;
    stage.register("web-1").await;
    stage.server.hold(Phase::Planning);
    let first = Instance::start_embedded(&stage.site).await;
    stage.reached(Phase::Planning).await;
    first.kill().await;
    let access = RemoteServer::of_stub(&stage.server, stage.site.path()).access;
    let driver = access.driver("other-", "");
    let edge = task("edge", "./modules/edge", &["web"], "");
    let consul = stage.consul.address();
    stage.site.write_configuration(&consul, &driver, &edge);
    let second = Instance::start_embedded(&stage.site).await;
    stage.reached(Phase::Canceled).await;
    stage.server.release(Phase::Planning);
    let applied = stage.server.reached("other-edge", Phase::Applied, DEADLINE);
    applied.await;
    newest_run(&second, |run| run["status"] == "succeeded").await;
    assert_eq!(stage.runs().len(), 1, "{:?}", stage.runs());
    second.stop().await;
}
