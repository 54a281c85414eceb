//! One scheduler leads, and another takes over when it goes.

use std::time::Duration;

use cts_testkit::{ConsulAgent, NewerConsul, eventually};
use cts_tests::{Backend, Cluster, DEADLINE, Plan, Service, Site, met, task};
use serde_json::json;
use tokio::time::Instant;

use crate::cluster::scene::{POLL, Scene};

/// The line about a task whose input is applied.
const UNCHANGED: &str = "task input is unchanged, no run needed";

/// Time until another scheduler than `former` leads, as the others see it.
async fn another_leads(scene: &Scene, former: usize, since: Instant) -> (usize, Duration) {
    let leader = scene.cluster.wait_for_leader().await;
    assert_ne!(leader, former);
    (leader, since.elapsed())
}

#[tokio::test]
async fn a_killed_leader_is_followed_within_the_life_of_its_lease() {
    let plan = Plan::of(1, 3, 1, 1);
    let promised = plan.session_ttl + POLL;
    let mut scene = Scene::start(plan).await;
    let leader = scene.cluster.wait_for_leader().await;
    let killed = Instant::now();
    scene.cluster.kill(Service::Scheduler, leader).await;
    let (next, took) = another_leads(&scene, leader, killed).await;
    assert!(took < promised, "{took:?}");
    let line = format!("acquired leadership lock: id=scheduler-{next}");
    let output = scene.cluster.output(Service::Scheduler, next);
    assert!(output.contains(&line), "{output}");

    scene.change_is_applied().await;
    scene.settled_events().await;
    scene.assert_each_step_once();
}

#[tokio::test]
async fn a_leader_that_stops_in_order_is_followed_at_once() {
    let mut plan = Plan::of(1, 2, 1, 1);
    plan.session_ttl = Duration::from_secs(15);
    let mut scene = Scene::start(plan).await;
    let leader = scene.cluster.wait_for_leader().await;
    let exit = scene.cluster.stop(Service::Scheduler, leader).await;
    exit.assert_code(0);
    let (_, took) = another_leads(&scene, leader, Instant::now()).await;
    assert!(took < POLL, "{took:?}");

    scene.change_is_applied().await;
    scene.settled_events().await;
    scene.assert_each_step_once();
}

async fn nobody_is_missed(service: Service) {
    let mut scene = Scene::start(Plan::of(2, 2, 2, 1)).await;
    for index in 0..2 {
        scene.cluster.kill(service, index).await;
    }
    scene.change().await;
    scene.change().await;
    for index in 0..2 {
        scene.cluster.launch(service, index);
    }
    scene.wait_until_applied().await;
    scene.change_is_applied().await;
    scene.settled_events().await;
    scene.assert_each_step_once();
}

#[tokio::test]
async fn a_change_while_all_schedulers_are_down_is_applied_afterwards() {
    nobody_is_missed(Service::Scheduler).await;
}

#[tokio::test]
async fn a_change_while_all_watchers_are_down_is_applied_afterwards() {
    nobody_is_missed(Service::Watcher).await;
}

#[tokio::test]
async fn a_change_while_all_workers_are_down_is_applied_afterwards() {
    nobody_is_missed(Service::Worker).await;
}

/// Two tasks that have run, and a takeover; then the number of steps of each.
async fn steps_after_a_takeover(storage: &'static str) -> (Cluster, Site, ConsulAgent) {
    let (mut cluster, site, consul) = two_tasks_have_run(storage, 1).await;
    let leader = cluster.wait_for_leader().await;
    cluster.kill(Service::Scheduler, leader).await;
    cluster.wait_for_leader().await;
    (cluster, site, consul)
}

/// A cluster with two schedulers and this many workers, which has applied two tasks.
async fn two_tasks_have_run(storage: &'static str, workers: usize) -> (Cluster, Site, ConsulAgent) {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write_steps("red");
    site.write_steps("blue");
    let tasks =
        task("red", "./modules/red", &["web"], "") + &task("blue", "./modules/blue", &["web"], "");
    site.configure(&consul.address(), Backend::Shared, &tasks);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let mut plan = Plan::of(1, 2, workers, 1);
    plan.storage = Some(storage);
    let cluster = Cluster::start(&site, plan).await;
    let api = cluster.api(0);
    api.wait_for_events("red", 1).await;
    api.wait_for_events("blue", 1).await;
    (cluster, site, consul)
}

/// Waits until a scheduler's log has a text so often.
async fn until_logged(cluster: &Cluster, scheduler: usize, text: &str, times: usize) {
    eventually(DEADLINE, async || {
        let output = cluster.output(Service::Scheduler, scheduler);
        let seen = output.matches(text).count();
        met(seen >= times, seen)
    })
    .await;
}

#[tokio::test]
async fn a_leader_and_a_worker_that_are_killed_together_make_nothing_run() {
    let (mut cluster, site, consul) = two_tasks_have_run("postgres", 2).await;
    let leader = cluster.wait_for_leader().await;
    cluster.kill(Service::Scheduler, leader).await;
    cluster.kill(Service::Worker, 0).await;
    let next = cluster.wait_for_leader().await;
    assert_ne!(next, leader);
    until_logged(&cluster, next, UNCHANGED, 2).await;
    // Both workers send the attempts of their journals to the new leader, the killed one when it is back.
    cluster.run(Service::Worker, 0).await;
    let applied = (0..2).filter(|worker| {
        let journal = std::fs::read_to_string(cluster.work(*worker).join("runs.journal"));
        journal.unwrap().contains("applied")
    });
    let applied = applied.count();
    assert!(applied > 0);
    until_logged(
        &cluster,
        next,
        "a worker has sent its newest attempts",
        applied,
    )
    .await;
    let api = cluster.api(0);
    for name in ["red", "blue"] {
        assert_eq!(api.events(name).await.len(), 1);
        assert_eq!(site.journal(name).len(), 2);
    }
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    for name in ["red", "blue"] {
        site.wait_for_step(name, "end", "web-1,web-2").await;
        api.wait_for_events(name, 2).await;
        assert_eq!(site.journal(name).len(), 4);
    }
}

#[tokio::test]
async fn a_takeover_runs_nothing_that_is_applied() {
    let (cluster, site, consul) = steps_after_a_takeover("postgres").await;
    let leader = cluster.wait_for_leader().await;
    until_logged(&cluster, leader, UNCHANGED, 2).await;
    let api = cluster.api(0);
    for name in ["red", "blue"] {
        assert_eq!(api.events(name).await.len(), 1);
        assert_eq!(site.journal(name).len(), 2);
    }
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    site.wait_for_step("red", "end", "web-1,web-2").await;
    site.wait_for_step("blue", "end", "web-1,web-2").await;
}

#[tokio::test]
async fn a_takeover_with_the_storage_of_old_runs_every_task_once() {
    let (cluster, _site, _consul) = steps_after_a_takeover("consul").await;
    let api = cluster.api(0);
    api.wait_for_events("red", 2).await;
    api.wait_for_events("blue", 2).await;
    // One more takeover is one more pass, so nothing else came in between.
    for name in ["red", "blue"] {
        let events = api.events(name).await;
        assert_eq!(events.len(), 2, "{events:?}");
        assert!(events.iter().all(|event| event["success"] == true));
    }
}

/// Records the ports of its instances.
const PORTS: &str = r#"
variable "services" {
  type = map(object({ id = string, port = number, ports = list(object({ name = string, port = number })) }))
}

resource "terraform_data" "recorded" {
  input = var.services
}
"#;

/// Registers an instance with this default port.
async fn register_ports(consul: &ConsulAgent, port: u16) {
    let ports = json!([{"Name": "http", "Port": port, "Default": true}]).to_string();
    let meta = [("ports", ports.as_str())];
    consul.register_service("web", "web-1", 0, &meta, &[]).await;
}

#[tokio::test]
async fn a_new_leader_applies_a_changed_port_and_reads_a_broken_module_again() {
    let consul = ConsulAgent::start().await;
    let newer = NewerConsul::start(consul.address(), "1.22.0").await;
    let site = Site::new();
    site.write("modules/ports/main.tf", PORTS);
    let tasks = task("ports", "./modules/ports", &["web"], "")
        + &task("gone", "./modules/gone", &["web"], "");
    site.configure(&newer.address(), Backend::Shared, &tasks);
    register_ports(&consul, 80).await;
    let mut cluster = Cluster::start(&site, Plan::of(1, 2, 1, 1)).await;
    let api = cluster.api(0);
    let events = api.wait_for_events("ports", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    let events = api.wait_for_events("gone", 1).await;
    assert_eq!(events[0]["success"], false, "{events:?}");

    let leader = cluster.wait_for_leader().await;
    cluster.kill(Service::Scheduler, leader).await;
    // Nothing leads at this moment.
    site.write_steps("gone");
    register_ports(&consul, 81).await;
    assert_ne!(cluster.wait_for_leader().await, leader);
    site.wait_for_step("gone", "end", "web-1").await;
    let services = eventually(DEADLINE, async || {
        let services = site.recorded("ports")?;
        let service = &services["web-1.cts-test.dc1"];
        if service["port"] == 81 {
            Ok(service.clone())
        } else {
            Err(services.to_string())
        }
    })
    .await;
    assert_eq!(services["ports"], json!([{"name": "http", "port": 81}]));
    let events = api.wait_for_events("ports", 2).await;
    assert_eq!(events.len(), 2, "{events:?}");
    eventually(DEADLINE, async || {
        match api.ask("/v1/status/tasks/gone").await {
            Ok((200, status)) if status["gone"]["status"] == "successful" => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}
