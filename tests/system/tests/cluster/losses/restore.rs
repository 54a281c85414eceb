//! Backup and restore of the database (docs/operations.md#backup-and-restore).

use std::path::Path;

use cts_testkit::{ConsulAgent, Postgres, postgres_path};
use cts_tests::{Api, Backend, Cluster, Plan, RECORDER, Service, Site, task};
use reqwest::Method;
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
    let path = "/v1/tasks?run=now";
    let (status, answer) = api.send(Method::POST, path, Some(body.clone())).await;
    assert_eq!(status, 201, "{answer}");
}

/// A restored database of the same server, in which the last run of the task `web` is missing: it was applied with
/// `web-2` as well, which is gone since. The journals of workers are there.
async fn lacking_a_run(site: &Site, consul: &ConsulAgent) -> Cluster {
    let server = Postgres::shared().await;
    let url = server.create_database().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    consul.register_service("api", "api-1", 1, &[], &[]).await;
    for name in ["web", "api"] {
        site.write_steps(name);
    }
    let tasks = ["web", "api"].map(|name| task(name, &format!("./modules/{name}"), &[name], ""));
    site.configure(&consul.address(), Backend::Shared, &tasks.concat());
    site.write_database(&url);
    site.migrate().await;
    let mut plan = Plan::of(1, 1, 1, 1);
    plan.database = Some(url.clone());
    let mut cluster = Cluster::start(site, plan).await;
    for name in ["web", "api"] {
        cluster.api(0).wait_for_events(name, 1).await;
    }
    let backup = site.path().join("backup");
    dump(&url, &backup).await;
    consul.register_service("web", "web-2", 1, &[], &[]).await;
    cluster.api(0).wait_for_events("web", 2).await;
    for service in [
        Service::Gateway,
        Service::Worker,
        Service::Scheduler,
        Service::Watcher,
    ] {
        cluster.stop(service, 0).await;
    }
    consul.deregister("web-2").await;
    site.wait_until_quiet().await;
    // System identifier and timeline are those of the backup.
    let restored = server.create_database().await;
    restore(&restored, &backup).await;
    site.write_database(&restored);
    cluster
}

#[tokio::test]
async fn the_journals_of_workers_show_that_a_restored_database_lacks_a_run() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    let mut cluster = lacking_a_run(&site, &consul).await;
    cluster.launch_all();
    cluster.wait_until_all_healthy().await;
    site.wait_for_ids("web", &["web-1"]).await;
    let api = cluster.api(0);
    cts_tests::assert_successful(&api.wait_for_events("web", 2).await);
    // A later leader gets the same attempts.
    cluster.stop(Service::Scheduler, 0).await;
    cluster.run(Service::Scheduler, 0).await;
    consul.register_service("web", "web-3", 1, &[], &[]).await;
    site.wait_for_ids("web", &["web-1", "web-3"]).await;
    api.wait_for_events("web", 3).await;
    assert_eq!(api.events("api").await.len(), 1);
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
