//! Workers that leave: by SIGTERM, by `cts workers drain`, in a hurry.

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{
    Backend, Cluster, DEADLINE, Plan, RECORDER, Service, Site, assert_successful, task,
};
use serde_json::Value;

use crate::cluster::scene::Scene;

/// Output of `cts workers list -o json`.
async fn list(cluster: &mut Cluster) -> Value {
    let exit = cluster.command(&["workers", "list", "-o", "json"]).await;
    exit.assert_code(0);
    let begin = exit.output.find('{').unwrap();
    serde_json::from_str(&exit.output[begin..]).unwrap()
}

fn listed<'a>(list: &'a Value, id: &str) -> Option<&'a Value> {
    let workers = list["workers"].as_array().unwrap();
    workers.iter().find(|worker| worker["id"] == id)
}

/// Waits until a worker is listed in this state.
async fn wait_for_state(cluster: &mut Cluster, id: &str, state: &str) -> Value {
    eventually(DEADLINE, async || {
        let list = list(cluster).await;
        match listed(&list, id) {
            Some(worker) if worker["state"] == state => Ok(worker.clone()),
            other => Err(format!("{other:?}")),
        }
    })
    .await
}

#[tokio::test]
async fn a_worker_that_is_told_to_end_finishes_its_run_and_takes_nothing_new() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write_steps("pool");
    site.write("modules/other/main.tf", RECORDER);
    let tasks = task("pool", "./modules/pool", &["web"], "")
        + &task("other", "./modules/other", &["api"], "");
    site.configure(&consul.address(), Backend::Shared, &tasks);
    let mut cluster = Cluster::start(&site, Plan::of(1, 1, 2, 1)).await;
    let api = cluster.api(0);
    api.wait_for_events("pool", 1).await;
    api.wait_for_events("other", 1).await;

    site.hold();
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let terraform = site.wait_for_step("pool", "begin", "web-1").await;
    let leaving = cluster.worker_of(terraform);
    let id = cluster.worker_id(leaving).await;
    let before = cluster
        .output(Service::Worker, leaving)
        .matches("run started")
        .count();
    cluster.signal(Service::Worker, leaving, nix::sys::signal::Signal::SIGTERM);
    let worker = wait_for_state(&mut cluster, &id, "draining").await;
    assert_eq!(worker["running"], 1, "{worker}");
    assert_eq!(worker["slots"], 4, "{worker}");
    for number in 1..=4 {
        let name = format!("api-{number}");
        consul
            .register_service("api", &name, number, &[], &[])
            .await;
    }
    site.wait_for_ids("other", &["api-1", "api-2", "api-3", "api-4"])
        .await;
    let after = cluster
        .output(Service::Worker, leaving)
        .matches("run started")
        .count();
    assert_eq!(after, before, "it took something new");
    assert!(cluster.is_running(Service::Worker, leaving));

    site.release();
    let exit = cluster.take(Service::Worker, leaving).wait().await;
    exit.assert_code(0);
    site.wait_for_step("pool", "end", "web-1").await;
    let events = api.wait_for_events("pool", 2).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    assert_eq!(
        site.journal("pool")
            .iter()
            .filter(|line| line.ends_with("web-1"))
            .count(),
        2
    );
    let list = list(&mut cluster).await;
    assert_eq!(listed(&list, &id), None, "it has taken leave");
    assert_eq!(list["workers"].as_array().unwrap().len(), 1);
    assert_eq!(list["queue"]["slots"], 4, "{list}");
}

#[tokio::test]
async fn workers_are_listed_and_told_to_leave_by_command() {
    let mut scene = Scene::start(Plan::of(1, 1, 2, 1)).await;
    let ids = [
        scene.cluster.worker_id(0).await,
        scene.cluster.worker_id(1).await,
    ];
    for id in &ids {
        let worker = wait_for_state(&mut scene.cluster, id, "active").await;
        let engine = worker["engines"][0].as_str().unwrap();
        assert!(engine.starts_with("terraform 1."), "{engine}");
    }
    let table = scene.cluster.command(&["workers", "list"]).await;
    table
        .assert_code(0)
        .says(["ID", "STATE", "active", &ids[0], &ids[1], "8 slots"]);

    let unknown = scene.cluster.command(&["workers", "drain", "nobody"]).await;
    unknown.assert_code(11);
    let text = "there is no worker \"nobody\"; `cts workers list` shows them";
    assert!(unknown.output.contains(text), "{}", unknown.output);
    let several = ["workers", "drain", "worker-"];
    let several = scene.cluster.command(&several).await;
    several
        .assert_code(11)
        .says(["is the beginning of 2 workers"]);

    scene.site.hold();
    scene.change().await;
    let all = scene.ids();
    let terraform = scene.site.wait_for_step("pool", "begin", &all).await;
    let leaving = scene.cluster.worker_of(terraform);
    let id = ids[leaving].clone();
    let mut command = scene
        .cluster
        .begin_command(&["workers", "drain", &id, "--wait"]);
    wait_for_state(&mut scene.cluster, &id, "draining").await;
    assert!(command.is_running(), "it waits: {}", command.output());
    scene.site.release();
    let exit = command.wait().await;
    exit.assert_code(0)
        .says([&format!("{id} drains"), &format!("{id} has left")]);
    let exit = scene.cluster.take(Service::Worker, leaving).wait().await;
    exit.assert_code(0);
    scene.wait_until_applied().await;
    scene.change_is_applied().await;
    scene.settled_events().await;
    scene.assert_each_step_once();
}

#[tokio::test]
async fn a_second_signal_interrupts_gently_and_the_run_goes_to_another_worker() {
    let mut scene = Scene::start(Plan::of(1, 1, 2, 1)).await;
    scene.site.hold();
    scene.change().await;
    let ids = scene.ids();
    let terraform = scene.site.wait_for_step("pool", "begin", &ids).await;
    let leaving = scene.cluster.worker_of(terraform);
    let exit = scene.cluster.stop_at_once(Service::Worker, leaving).await;
    exit.assert_code(0).says([
        "second signal received",
        "Interrupt received",
        "cli: graceful shutdown",
    ]);
    scene.site.release();
    scene.wait_until_applied().await;
    let events = scene.settled_events().await;
    assert_successful(&events);
    scene.assert_no_overlap();
}
