//! Workers whose machine cannot work leave the runs to the others (docs/runs.md#workers-that-cannot-work).

use std::path::Path;
use std::{env, fs};

use cts_testkit::{ConsulAgent, LimitedDisk, eventually};
use cts_tests::{Backend, Cluster, DEADLINE, Plan, Service, Site, met, task};
use serde_json::Value;

/// Size of a disk for task directories.
const DISK: u64 = 24 << 20;

/// Number of tasks.
const TASKS: usize = 20;

const MODULE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "recorded" {
  input = [for service in var.services : service.id]
}
"#;

/// A disk of its own at this path of the site; `None` where none can be mounted (CONTRIBUTING.md#set-up).
fn disk(path: &Path) -> Option<LimitedDisk> {
    fs::create_dir(path).unwrap();
    if env::var_os("CTS_TEST_WITHOUT_DISK").is_some() {
        return None;
    }
    let disk = LimitedDisk::mount(path, DISK);
    Some(disk.expect("a disk is mounted; without root, set CTS_TEST_WITHOUT_DISK=1"))
}

fn names() -> impl Iterator<Item = String> {
    (0..TASKS).map(|number| format!("task-{number:02}"))
}

/// Configures the tasks, and the further ones.
fn configure(site: &Site, consul: &ConsulAgent, more: &str) {
    site.write("modules/recorded/main.tf", MODULE);
    let tasks = names().map(|name| task(&name, "./modules/recorded", &["web"], ""));
    let tasks: String = tasks.collect();
    site.configure(&consul.address(), Backend::Shared, &(tasks + more));
}

/// Waits until each task has this number of events, none of them of a failure.
async fn all_applied(cluster: &Cluster, events: usize) {
    for name in names() {
        let events = cluster.api(0).wait_for_events(&name, events).await;
        cts_tests::assert_successful(&events);
    }
}

/// Waits until so many workers have a problem, and returns the overview.
async fn until_sick(cluster: &Cluster, sick: usize) -> Value {
    eventually(DEADLINE, async || {
        let overview = cluster.api(0).get("/v1/overview").await;
        let workers = overview["workers"].as_array().unwrap();
        let problems = workers
            .iter()
            .filter(|worker| worker.get("problem").is_some());
        (problems.count() == sick)
            .then_some(overview.clone())
            .ok_or(overview)
    })
    .await
}

#[tokio::test]
async fn healthy_workers_apply_the_runs_of_one_whose_disk_is_full() {
    let site = Site::new();
    let Some(disk) = disk(&site.path().join("work")) else {
        return;
    };
    let consul = ConsulAgent::start().await;
    configure(&site, &consul, "");
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let mut cluster = Cluster::start(&site, Plan::of(1, 1, 2, 1)).await;
    all_applied(&cluster, 1).await;

    disk.fill();
    // More than fits into the space of the files that are replaced.
    let long = "x".repeat(10_000);
    consul
        .register_service("web", "web-2", 2, &[], &[&long])
        .await;
    all_applied(&cluster, 2).await;
    let overview = until_sick(&cluster, 1).await.to_string();
    assert!(overview.contains("the own check of worker"), "{overview}");
    assert!(overview.contains("No space left on device"), "{overview}");
    let listed = cluster.command(&["workers", "list"]).await.output;
    assert!(listed.contains("own check fails: "), "{listed}");
    let output = cluster.output(Service::Worker, 0);
    let begun = "the own check of this worker fails: ";
    assert_eq!(output.matches(begun).count(), 1, "{output}");

    disk.free();
    until_sick(&cluster, 0).await;
    let output = cluster.output(Service::Worker, 0);
    let ended = "the own check of this worker succeeds again";
    assert_eq!(output.matches(ended).count(), 1, "{output}");
}

#[tokio::test]
async fn runs_wait_with_the_reason_while_every_worker_is_sick() {
    let site = Site::new();
    let Some(disk) = disk(&site.path().join("disk")) else {
        return;
    };
    let consul = ConsulAgent::start().await;
    configure(&site, &consul, "");
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let mut plan = Plan::of(1, 1, 2, 1);
    plan.workers_below = Some(site.path().join("disk"));
    let cluster = Cluster::start(&site, plan).await;
    all_applied(&cluster, 1).await;

    disk.fill();
    let long = "x".repeat(10_000);
    consul
        .register_service("web", "web-2", 2, &[], &[&long])
        .await;
    until_sick(&cluster, 2).await;
    eventually(DEADLINE, async || {
        let explained = cluster.api(0).get("/v1/tasks/task-00/explain").await;
        let text = explained.to_string();
        let shown = text.contains("because their own checks fail: 2, the first with: ")
            && text.contains("No space left on device");
        met(shown, text)
    })
    .await;

    disk.free();
    all_applied(&cluster, 2).await;
    until_sick(&cluster, 0).await;
}
