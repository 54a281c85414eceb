//! An outage in the log: a line when it begins, one each minute, and one when it is over, for each process
//! (docs/operations.md#outages-in-the-log).

use std::time::Duration;

use cts_testkit::{ConsulAgent, Postgres};
use cts_tests::{Backend, Cluster, Plan, RECORDER, Site, task};
use serde_json::json;

use crate::cluster::logs::log_marks::{FIRST_OF_EACH, Marks};
use crate::cluster::logs::prompt_answers::ask_for;
use crate::cluster::scene::Scene;

/// Length of an outage.
const OUTAGE: Duration = Duration::from_secs(40);

/// Views of the watcher.
const VIEWS: usize = 300;

/// Services of one transaction of Consul.
const TOGETHER: usize = 60;

/// Registers an instance of each service, all at once.
async fn register(consul: &ConsulAgent, names: &[String]) {
    let node =
        json!({"Node": {"Verb": "set", "Node": {"Node": "elsewhere", "Address": "192.0.2.1"}}});
    let services = names.iter().map(|name| {
        let service = json!({"ID": name, "Service": name, "Port": 1});
        json!({"Service": {"Verb": "set", "Node": "elsewhere", "Service": service}})
    });
    let operations: Vec<_> = std::iter::once(node).chain(services).collect();
    consul.put("/v1/txn", json!(operations).to_string()).await;
}

#[tokio::test]
async fn an_outage_of_postgres_is_a_line_of_each_process_and_no_error_for_each_request() {
    let mut postgres = Postgres::start().await;
    let url = postgres.create_database().await;
    let site = Site::new();
    site.write_database(&url);
    site.migrate().await;
    let mut plan = Plan::of(1, 1, 1, 1);
    plan.database = Some(url);
    plan.session_ttl = Duration::from_secs(15);
    let mut scene = Scene::start_at(site, plan).await;
    scene.settled_events().await;
    let marks = Marks::of(&scene.cluster, &FIRST_OF_EACH);
    let api = scene.cluster.api(0);

    postgres.stop().await;
    let (tasks, health) = tokio::join!(
        ask_for(&api, "/v1/status/tasks", OUTAGE),
        ask_for(&api, "/v1/health", OUTAGE),
    );
    let last = [tasks.last(), health.last()].map(|answer| answer.map(|(status, _)| *status));
    assert_eq!(last, [Some(503); 2], "{tasks:?} {health:?}");
    postgres.start_again().await;
    let back = "is reachable again";
    for service in ["scheduler", "worker", "gateway"] {
        marks.until_logged(&scene.cluster, service, back).await;
    }
    scene.wait_until_api_answers(0).await;
    let lines = marks.lines_of_a_fault(&scene.cluster);
    insta::assert_snapshot!(lines);

    // Nothing complains afterwards.
    let marks = Marks::of(&scene.cluster, &FIRST_OF_EACH);
    scene.change_is_applied().await;
    scene.settled_events().await;
    let lines = marks.lines(&scene.cluster);
    assert!(
        !lines.contains("[WARN]") && !lines.contains("[ERROR]"),
        "{lines}"
    );
}

#[tokio::test]
async fn an_outage_of_consul_is_a_line_however_many_views_there_are() {
    let mut consul = ConsulAgent::start_durable().await;
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    let names: Vec<String> = (1..=VIEWS)
        .map(|number| format!("service-{number}"))
        .collect();
    for names in names.chunks(TOGETHER) {
        register(&consul, names).await;
    }
    let services: Vec<&str> = names.iter().map(String::as_str).collect();
    let pool = task("pool", "./modules/pool", &services, "");
    site.configure(&consul.address(), Backend::Shared, &pool);
    let cluster = Cluster::start(&site, Plan::of(1, 1, 1, 1)).await;
    let api = cluster.api(0);
    api.wait_for_events("pool", 1).await;
    let marks = Marks::of(&cluster, &FIRST_OF_EACH);

    consul.stop().await;
    let answers = ask_for(&api, "/v1/status/tasks/pool", OUTAGE).await;
    let last = answers.last().map(|(status, _)| *status);
    assert_eq!(last, Some(200), "{answers:?}");
    consul.restart().await;
    let back = "is reachable again";
    marks.until_logged(&cluster, "watcher", back).await;
    let lines = marks.lines_of_a_fault(&cluster);
    insta::assert_snapshot!(lines);

    consul
        .register_service("service-1", "another", 2, &[], &[])
        .await;
    api.wait_for_events("pool", 2).await;
}
