//! Runs go to workers that can execute them, and wait until one exists.

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Cluster, DEADLINE, Plan, Service, Site, met, task};

use crate::cluster::stand_in;

const VERSION: &str = "1.9.9";

/// Waits until the scheduler has a line in its log with all of these.
async fn wait_for_line(cluster: &Cluster, parts: &[&str]) {
    eventually(DEADLINE, async || {
        let output = cluster.output(Service::Scheduler, 0);
        let found = output
            .lines()
            .any(|line| parts.iter().all(|part| line.contains(part)));
        met(found, output)
    })
    .await;
}

#[tokio::test]
async fn a_task_waits_for_a_worker_with_its_version_of_the_driver() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web"], "");
    // Written in another way than Terraform writes it.
    let wanted = format!("version = \"v{VERSION}\"\n  {}", site.shared_backend());
    site.configure_driver(&consul.address(), &wanted, &pool);
    let plain = format!("driver \"terraform\" {{\n  {}\n}}\n", site.shared_backend());
    site.write("plain.hcl", &plain);
    let directory = stand_in::of_version(&site, VERSION);
    let driver = format!("  path = \"{directory}\"\n  {}\n", site.shared_backend());
    site.write(
        "other.hcl",
        &format!("driver \"terraform\" {{\n{driver}}}\n"),
    );
    consul.register_service("web", "web-1", 1, &[], &[]).await;

    let mut plan = Plan::of(1, 1, 0, 1);
    plan.files = vec![
        (Some(Service::Watcher), "cts.hcl".to_owned()),
        (Some(Service::Scheduler), "cts.hcl".to_owned()),
    ];
    let mut cluster = Cluster::start(&site, plan).await;
    let unable = cluster.add(Service::Worker);
    let able = cluster.add(Service::Worker);
    cluster.launch_with(
        Service::Worker,
        unable,
        &["-config-file=plain.hcl".to_owned()],
    );
    cluster.wait_until_healthy(Service::Worker, unable).await;

    let api = cluster.api(0);
    for parts in [
        [
            "ha.compat",
            "compatibility check failure: no worker can run the task",
            VERSION,
        ],
        ["[WARN]", "no worker takes due runs", VERSION],
    ] {
        wait_for_line(&cluster, &parts).await;
    }
    let queue = api.get("/v1/queue").await;
    assert_eq!(
        (&queue["queued"], &queue["running"]),
        (&1.into(), &0.into()),
        "{queue}"
    );
    assert!(api.events("pool").await.is_empty());

    cluster.launch_with(
        Service::Worker,
        able,
        &["-config-file=other.hcl".to_owned()],
    );
    let events = api.wait_for_events("pool", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    wait_for_line(&cluster, &["workers take due runs again"]).await;
    site.wait_for_step("pool", "end", "web-1").await;
    assert!(cluster.work(able).join("pool").is_dir());
    assert!(!cluster.work(unable).join("pool").exists());
}
