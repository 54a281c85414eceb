//! Applies whose remote run waits for a person, beside checks, plans and other tasks.

use cts_testkit::eventually;
use cts_testkit::hcp::Phase;
use cts_tests::{Cluster, DEADLINE, Instance, Plan, Service, met, task};
use reqwest::Method;
use serde_json::{Value, json};

use super::stage::{Stage, WORKSPACE, newest_run, waits_for};

/// The workspace of the task `core`, of the same concurrency group as `edge`.
const OTHER: &str = "cts-core";

/// Waits until the apply of `edge` waits for a confirmation.
async fn waiting(cts: &Instance) {
    eventually(DEADLINE, async || {
        let runs = cts.api.get("/v1/runs?task=edge").await;
        let mut all = runs["runs"].as_array().unwrap().iter();
        let waits = all.any(|run| waits_for(run, "a confirmation of the remote run: https://"));
        met(waits, runs.to_string())
    })
    .await;
}

/// Waits until the task has a run of this kind that has succeeded.
async fn succeeded(cts: &Instance, kind: &str) {
    eventually(DEADLINE, async || {
        let runs = cts.api.get("/v1/runs?task=edge").await;
        let all = runs["runs"].as_array().unwrap();
        let mut of_kind = all.iter().filter(|run| run["kind"] == kind);
        met(
            of_kind.any(|run| run["status"] == "succeeded"),
            runs.to_string(),
        )
    })
    .await;
}

/// Two tasks of a group, `edge` without auto apply. The apply of `edge` waits for a confirmation.
async fn grouped() -> Stage {
    let stage = Stage::with_workspace(false).await;
    let attributes = json!({ "auto-apply": true, "execution-mode": "remote" });
    stage.server.create_workspace(OTHER, attributes);
    stage.server.tag(OTHER, "source:cts");
    let group = "concurrency_group = \"firewall\"";
    let edge = task("edge", "./modules/edge", &["web"], group);
    let core = task("core", "./modules/edge", &["db"], group);
    stage.configure_tasks("", &format!("{edge}{core}"));
    stage
}

/// Waits until `core` says that it waits for the remote run of `edge`.
async fn core_waits(api: &cts_tests::Api, remote: &str) {
    eventually(DEADLINE, async || {
        let answer = api.get("/v1/tasks/core/explain").await;
        let text = answer["explanation"]["obstacles"].to_string();
        let named =
            text.contains("task edge has had its concurrency group") && text.contains(remote);
        met(named, answer.to_string())
    })
    .await;
}

/// A change of `core`, whose first run without services may have come before `edge`.
async fn register_core(stage: &Stage) {
    stage
        .consul
        .register_service("db", "db-1", 2, &[], &[])
        .await;
}

fn core_has_applied(stage: &Stage) -> bool {
    let state = stage.server.state(OTHER).unwrap_or_default();
    state.to_string().contains("db-1")
}

async fn until_core_has_applied(stage: &Stage) {
    eventually(DEADLINE, async || {
        let runs = stage.server.runs(OTHER);
        met(core_has_applied(stage), format!("{runs:?}"))
    })
    .await;
}

#[tokio::test]
async fn plans_leave_a_remote_run_that_waits_and_its_confirmation_alone() {
    let stage = Stage::with_workspace(false).await;
    let cts = stage.start().await;
    let remote = stage.server.confirmable(WORKSPACE, DEADLINE).await;
    waiting(&cts).await;

    let path = "/v1/tasks/edge/destroy-plan";
    let (status, answer) = cts.api.send(Method::POST, path, None).await;
    assert_eq!(status, 200, "{answer}");
    waiting(&cts).await;
    let body = Some(json!({ "enabled": true }));
    let path = "/v1/tasks/edge?run=inspect";
    let (status, answer) = cts.api.send(Method::PATCH, path, body).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["inspect"]["changes_present"], true, "{answer}");
    waiting(&cts).await;

    let applies = || {
        let runs = stage.runs().into_iter();
        runs.filter(|run| !run.plan_only).collect::<Vec<_>>()
    };
    let [only] = applies().try_into().unwrap();
    assert_eq!(
        (only.id.as_str(), only.confirmable),
        (remote.as_str(), true)
    );
    for action in ["discard", "cancel"] {
        let path = format!("/runs/{remote}/actions/{action}");
        assert_eq!(stage.server.count("POST", &path), 0, "{action}");
    }
    stage.server.confirm(&remote);
    stage.recorded(&["web-1"]).await;
    succeeded(&cts, "apply").await;
    assert_eq!(applies().len(), 1, "{:?}", applies());
    cts.stop().await;
}

#[tokio::test]
async fn a_confirmation_that_comes_during_a_plan_is_seen_afterwards() {
    let stage = Stage::with_workspace(false).await;
    let cts = stage.start().await;
    let remote = stage.server.confirmable(WORKSPACE, DEADLINE).await;
    waiting(&cts).await;
    stage.server.hold(Phase::Planning);
    let plan = cts
        .api
        .send(Method::POST, "/v1/tasks/edge/destroy-plan", None);
    let confirm = async {
        stage.reached(Phase::Planning).await;
        stage.server.confirm(&remote);
        stage.recorded(&["web-1"]).await;
        stage.server.release(Phase::Planning);
    };
    let ((status, answer), ()) = tokio::join!(plan, confirm);
    assert_eq!(status, 200, "{answer}");
    succeeded(&cts, "apply").await;
    let applies = stage.runs().into_iter().filter(|run| !run.plan_only);
    let applies: Vec<_> = applies.map(|run| (run.id, run.phase)).collect();
    assert_eq!(applies, [(remote, Phase::Applied)]);
    cts.stop().await;
}

#[tokio::test]
async fn a_group_waits_for_the_end_of_a_remote_run_that_can_be_confirmed() {
    let stage = grouped().await;
    let cts = stage.start().await;
    let remote = stage.server.confirmable(WORKSPACE, DEADLINE).await;
    waiting(&cts).await;
    register_core(&stage).await;
    core_waits(&cts.api, &remote).await;
    assert!(!core_has_applied(&stage));
    stage.server.hold(Phase::Applying);
    stage.server.confirm(&remote);
    stage.reached(Phase::Applying).await;
    core_waits(&cts.api, &remote).await;
    assert!(!core_has_applied(&stage));
    stage.server.release(Phase::Applying);
    stage.recorded(&["web-1"]).await;
    until_core_has_applied(&stage).await;
    cts.stop().await;
}

#[tokio::test]
async fn a_remote_run_that_was_confirmed_a_moment_before_a_newer_input_keeps_its_group() {
    let stage = grouped().await;
    let cts = stage.start().await;
    let remote = stage.server.confirmable(WORKSPACE, DEADLINE).await;
    waiting(&cts).await;
    register_core(&stage).await;
    core_waits(&cts.api, &remote).await;
    stage.server.hold(Phase::Applying);
    stage.server.confirm(&remote);
    stage.register("web-2").await;
    newest_run(&cts, |run| run["status"] == "queued").await;
    stage.reached(Phase::Applying).await;
    core_waits(&cts.api, &format!("{remote} on the server is applying")).await;
    assert!(!core_has_applied(&stage));
    stage.server.release(Phase::Applying);
    stage.recorded(&["web-1"]).await;
    // The run that was confirmed has succeeded; the newer input has a remote run of its own.
    let next = stage.server.confirmable(WORKSPACE, DEADLINE).await;
    assert_ne!(next, remote);
    stage.server.confirm(&next);
    stage.recorded(&["web-1", "web-2"]).await;
    until_core_has_applied(&stage).await;
    let applied = stage.runs().into_iter().map(|run| run.phase);
    assert_eq!(applied.collect::<Vec<_>>(), [Phase::Applied; 2]);
    cts.stop().await;
}

#[tokio::test]
async fn a_group_stays_taken_while_the_only_worker_drains_and_dies() {
    let stage = grouped().await;
    let plan = Plan {
        workers: 1,
        ..Plan::default()
    };
    let mut cluster = Cluster::start(&stage.site, plan).await;
    let remote = stage.server.confirmable(WORKSPACE, DEADLINE).await;
    register_core(&stage).await;
    core_waits(&cluster.api(0), &remote).await;
    cluster.stop(Service::Worker, 0).await;
    let is_queued = |runs: &Value| runs["runs"][0]["status"] == "queued";
    eventually(DEADLINE, async || {
        let runs = cluster.api(0).get("/v1/runs?task=edge").await;
        met(is_queued(&runs), runs.to_string())
    })
    .await;
    core_waits(&cluster.api(0), &remote).await;
    cluster.run(Service::Worker, 0).await;
    core_waits(&cluster.api(0), &remote).await;
    cluster.kill(Service::Worker, 0).await;
    cluster.run(Service::Worker, 0).await;
    core_waits(&cluster.api(0), &remote).await;
    assert!(!core_has_applied(&stage));
    stage.server.confirm(&remote);
    stage.recorded(&["web-1"]).await;
    until_core_has_applied(&stage).await;
    assert_eq!(stage.runs().len(), 1, "{:?}", stage.runs());
}
