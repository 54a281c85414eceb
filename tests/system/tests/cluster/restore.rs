//! Backup and restore of the database (docs/operations.md#backup-and-restore).

use std::path::Path;

use cts_testkit::{ConsulAgent, Postgres, postgres_path};
use cts_tests::{Api, Backend, Cluster, DEADLINE, Plan, RECORDER, Service, Site, task};
use serde_json::{Value, json};
use tokio::process::Command;

/// Runs a program of Postgres to its end.
async fn run(program: &str, arguments: &[&str]) {
    let command = Command::new(postgres_path(program))
        .args(arguments)
        .output();
    let output = command.await.unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {complaint}");
}

/// The steps of docs/operations.md: dump, and restore into an empty database of another server.
async fn dump(url: &str, file: &Path) {
    let file = file.to_str().unwrap();
    run("pg_dump", &["--format=custom", "--file", file, url]).await;
}

async fn restore(url: &str, file: &Path) {
    let file = file.to_str().unwrap();
    run("pg_restore", &["--exit-on-error", "--dbname", url, file]).await;
}

async fn create(api: &Api, body: &Value) {
    let client = reqwest::Client::builder().no_proxy().timeout(DEADLINE);
    let request = client.build().unwrap().post(api.url("/v1/tasks?run=now"));
    let answer = request.json(body).send().await.unwrap();
    assert_eq!(answer.status(), 201, "{}", answer.text().await.unwrap());
}

#[tokio::test]
async fn a_restored_backup_catches_up_with_the_catalog() {
    let first = Postgres::start().await;
    let url = first.create_database().await;
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let site = Site::new();
    site.write("modules/recorder/main.tf", RECORDER);
    let file = task("web", "./modules/recorder", &["web"], "");
    site.configure(&consul.address(), Backend::Shared, &file);
    site.write_database(&url);
    site.migrate().await;
    let mut plan = Plan::of(1, 1, 1, 1);
    plan.database = Some(url.clone());
    let mut cluster = Cluster::start(&site, plan).await;
    let api = cluster.api(0);
    site.wait_for_ids("web", &["web-1"]).await;
    let before = api.wait_for_events("web", 1).await;
    let backup = site.path().join("backup");
    dump(&url, &backup).await;

    // A change and a task that the backup does not know.
    consul.register_service("web", "web-2", 1, &[], &[]).await;
    site.wait_for_ids("web", &["web-1", "web-2"]).await;
    let later = json!({"task": {
        "name": "later",
        "module": "./modules/recorder",
        "condition": {"services": {"names": ["web"]}},
    }});
    create(&api, &later).await;
    site.wait_for_ids("later", &["web-1", "web-2"]).await;
    for service in [
        Service::Gateway,
        Service::Worker,
        Service::Scheduler,
        Service::Watcher,
    ] {
        cluster.stop(service, 0).await;
    }
    consul.register_service("web", "web-3", 1, &[], &[]).await;

    let second = Postgres::start().await;
    let restored = second.create_database().await;
    restore(&restored, &backup).await;
    site.write_database(&restored);
    site.migrate().await;
    cluster.launch_all();
    cluster.wait_until_all_healthy().await;

    let all = ["web-1", "web-2", "web-3"];
    site.wait_for_ids("web", &all).await;
    let events = api.wait_for_events("web", 2).await;
    assert_eq!(events.last(), before.last(), "{events:?}");
    let (status, _body) = api.ask("/v1/tasks/later").await.unwrap();
    assert_eq!(status, 404);
    // The task that is made again finds its state.
    create(&api, &later).await;
    site.wait_for_ids("later", &all).await;
}
