//! An operator sees everything by commands, of a single process or of several services, by one address.

use cts_testkit::eventually;
use cts_tests::{DEADLINE, executable};
use serde_json::Value;

use crate::api::program::{CommandOutput, call};
use crate::api::scene::Scene;

async fn cts(scene: &Scene, arguments: &[&str]) -> CommandOutput {
    call(scene, &executable("cts"), arguments).await
}

async fn json(scene: &Scene, arguments: &[&str]) -> Value {
    let said = cts(scene, &[arguments, &["-o", "json"]].concat()).await;
    said.well(&[]);
    serde_json::from_str(&said.text).unwrap()
}

#[tokio::test]
async fn one_address_shows_everything() {
    let scene = Scene::with_steps().await;
    let status = cts(&scene, &["status"]).await;
    status.well(&[
        "No problems.",
        " leads; healthy schedulers: 1 of 1",
        "1 active; slots in use: 0 of ",
        "0 queued, 0 ready",
        "1 successful",
    ]);
    let status = json(&scene, &["status"]).await;
    assert_eq!(status["tasks"]["successful"], 1, "{status}");
    let list = cts(&scene, &["task", "list"]).await;
    list.well(&["STATE", "pool", "successful"]);
    let show = cts(&scene, &["task", "show", "pool"]).await;
    show.well(&["State:", "successful since "]);
    // The leader stores its notes about views after the run.
    let explain = eventually(DEADLINE, async || {
        let explain = cts(&scene, &["task", "explain", "pool"]).await;
        let is_complete = explain.text.contains("VIEW");
        is_complete.then_some(explain).ok_or("no views yet")
    })
    .await;
    explain.well(&["State:", "Last run:", "apply ", "succeeded"]);
    let events = json(&scene, &["task", "events", "pool"]).await;
    let run = events["events"][0]["run_id"].as_str().unwrap();
    let table = cts(&scene, &["task", "events", "pool"]).await;
    table.well(&["RUN", run]);
    let beginning = &run[..20];
    cts(&scene, &["runs", "show", beginning]).await.well(&[run]);
    for logs in [["runs", "logs", beginning], ["task", "logs", "pool"]] {
        cts(&scene, &logs).await.well(&["Apply complete!"]);
    }
    cts(&scene, &["runs", "show", "no-run"])
        .await
        .failed(11, &["there is no run 'no-run'"]);
    cts(&scene, &["cluster", "status"])
        .await
        .well(&["LEADER", "yes", "configuration"]);
    // A scheduler counts its runs every ten seconds.
    let times = eventually(DEADLINE, async || {
        let times = json(&scene, &["status", "-times", "-since", "1h"]).await;
        let is_counted = times["total"]["phases"]["applied"]["count"].is_u64();
        is_counted.then_some(times).ok_or("no times yet")
    })
    .await;
    for phase in ["buffered", "queued", "terraform"] {
        let p99 = &times["total"]["phases"][phase]["p99_ms"];
        assert!(p99.is_u64(), "{phase}: {times}");
    }
    let table = cts(&scene, &["status", "-times"]).await;
    table.well(&["APPLIED", "TERRAFORM", "all"]);
    scene.instance.stop().await;
}

#[tokio::test]
async fn workers_are_drained_by_the_address_of_the_api() {
    let scene = Scene::with_steps().await;
    let workers = json(&scene, &["workers", "list"]).await;
    let worker = &workers["workers"][0];
    assert_eq!(worker["state"], "active", "{workers}");
    let id = worker["id"].as_str().unwrap();
    cts(&scene, &["workers", "list"])
        .await
        .well(&["HOST", id, "active"]);
    cts(&scene, &["workers", "drain", "no-worker"])
        .await
        .failed(11, &["there is no worker \"no-worker\""]);
    let drained = cts(&scene, &["workers", "drain", id]).await;
    drained.well(&[&format!("{id} drains")]);
    eventually(DEADLINE, async || {
        let workers = json(&scene, &["workers", "list"]).await;
        let list = workers["workers"].as_array().unwrap().clone();
        let here = list.iter().find(|worker| worker["id"] == id);
        match here.map(|worker| &worker["state"]) {
            Some(state) if state == "active" => Err(workers),
            _ => Ok(()),
        }
    })
    .await;
    scene.instance.stop().await;
}
