//! A worker dies, or stands still, in the middle of an apply.

use std::fs;

use cts_testkit::eventually;
use cts_tests::{DEADLINE, Plan, Service, assert_successful, met};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::scene::{POLL, Scene};

/// The log text of a worker for each run.
pub(crate) const STARTED: &str = "run started";

/// Stops in the middle of the apply of a change; returns Terraform, and the worker that has it.
async fn in_the_middle(scene: &mut Scene) -> (i32, usize) {
    scene.site.hold();
    scene.change().await;
    let ids = scene.ids();
    let terraform = scene.site.wait_for_step("pool", "begin", &ids).await;
    (terraform, scene.cluster.worker_of(terraform))
}

/// Waits until `worker` has begun one more run than `before`.
async fn another_run(scene: &Scene, worker: usize, before: usize) {
    eventually(DEADLINE, async || {
        let output = scene.cluster.output(Service::Worker, worker);
        met(
            output.matches(STARTED).count() > before,
            "the other worker has not got the run",
        )
    })
    .await;
}

/// Panics if the state's lock is left, as it is by a Terraform that did not end well.
fn assert_no_lock(scene: &Scene) {
    let state = scene.site.state_path("pool");
    for entry in fs::read_dir(state.parent().unwrap()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(!name.ends_with(".lock.info"), "{name} is left");
    }
}

#[tokio::test]
async fn the_run_of_a_killed_worker_is_interrupted_well_and_goes_to_another_one() {
    let plan = Plan::of(1, 1, 2, 1);
    let promised = plan.lease_ttl + POLL;
    let mut scene = Scene::start(plan).await;
    let (_, lost) = in_the_middle(&mut scene).await;
    let other = 1 - lost;
    let output = scene.cluster.output(Service::Worker, other);
    let before = output.matches(STARTED).count();
    wait_until_shown_in_apply(&scene).await;
    let killed = Instant::now();
    scene.cluster.kill(Service::Worker, lost).await;
    scene.site.wait_until_quiet().await;
    assert_no_lock(&scene);
    another_run(&scene, other, before).await;
    assert!(killed.elapsed() < promised, "{:?}", killed.elapsed());

    scene.site.release();
    scene.wait_until_applied().await;
    let events = scene.settled_events().await;
    assert_successful(&events);
    scene.assert_no_overlap();
    assert_attempts_shown(&scene).await;
}

/// Waits until the state of the task has the phase of its worker.
async fn wait_until_shown_in_apply(scene: &Scene) {
    let api = scene.cluster.api(0);
    eventually(DEADLINE, async || {
        let (_, tasks) = api
            .ask("/v1/overview/tasks")
            .await
            .map_err(|error| error.to_string())?;
        let state = &tasks["tasks"][0]["state"];
        match (&state["phase"], &state["phase_since"]) {
            (phase, Value::String(_)) if phase == "apply" => Ok(()),
            _ => Err(format!("{tasks}")),
        }
    })
    .await;
}

/// Asserts that the run of the lost worker names both attempts, and the time that the loss took.
async fn assert_attempts_shown(scene: &Scene) {
    let api = scene.cluster.api(0);
    let (_, runs) = api.ask("/v1/runs?task=pool&limit=1").await.unwrap();
    let id = runs["runs"][0]["id"].as_str().unwrap();
    let address = format!("-http-addr=http://{}", api.address());
    let show = async |output: &str| {
        let arguments = ["runs", "show", id, address.as_str(), "-o", output];
        let exit = scene.site.run("cts", &arguments, "show.log").wait().await;
        assert_eq!(exit.code, Some(0), "{}", exit.output);
        exit.output
    };
    let run: Value = serde_json::from_str(&show("json").await).unwrap();
    let records = run["attempt_records"].as_array().unwrap();
    let endings: Vec<_> = records
        .iter()
        .map(|it| (&it["number"], &it["ending"]))
        .collect();
    let expected = [
        (&json!(1), &json!("lease_lost")),
        (&json!(2), &json!("succeeded")),
    ];
    assert_eq!(endings, expected, "{run}");
    assert_ne!(records[0]["worker_id"], records[1]["worker_id"]);
    assert_eq!(records[0]["phase"], "apply", "{run}");
    assert!(records[1]["phases_ms"]["apply"].is_u64(), "{run}");
    let text = show("table").await;
    for part in [
        "1: worker lost after ",
        "; silent for the last ",
        "; in apply",
        "2: succeeded after ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn a_worker_that_wakes_up_after_its_lease_reports_nothing() {
    let plan = Plan::of(1, 1, 2, 1);
    let promised = plan.lease_ttl + POLL;
    let mut scene = Scene::start(plan).await;
    let (terraform, lost) = in_the_middle(&mut scene).await;
    let other = 1 - lost;
    let output = scene.cluster.output(Service::Worker, other);
    let before = output.matches(STARTED).count();
    let stopped = Instant::now();
    scene.cluster.pause(Service::Worker, lost);
    another_run(&scene, other, before).await;
    assert!(stopped.elapsed() < promised, "{:?}", stopped.elapsed());
    let left = scene.site.terraform_processes();
    assert!(
        !left.contains(&terraform),
        "nobody stopped the Terraform of the worker that stands still: {left:?}"
    );
    scene.site.release();
    scene.wait_until_applied().await;

    scene.cluster.resume(Service::Worker, lost);
    eventually(DEADLINE, async || {
        let output = scene.cluster.output(Service::Worker, lost);
        let lines = [
            "the result is not reported",
            "the end of the run could not be reported",
        ];
        let refused = lines.iter().any(|line| output.contains(line));
        met(refused, "the worker has not noticed")
    })
    .await;
    let events = scene.settled_events().await;
    assert_eq!(events.len(), 2, "{events:?}");
    assert_successful(&events);
    scene.assert_no_overlap();
    assert_no_lock(&scene);

    // The worker is a normal one again.
    scene.cluster.stop(Service::Worker, other).await;
    scene.change_is_applied().await;
    scene.assert_no_overlap();
}
