//! Runs that cannot succeed, in the log: the whole log of every service (docs/operations.md#runs-in-the-log).

use std::{env, fs};

use cts_testkit::{ConsulAgent, LimitedDisk};
use cts_tests::{Backend, Cluster, Plan, Site, task};

use crate::cluster::logs::log_marks::{FIRST_OF_EACH, Marks};
use crate::cluster::stand_in;

/// A name that the module does not declare.
const MISTAKE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "recorded" {
  input = local.servces
}
"#;

/// Size of a disk that is full after a moment.
const DISK: u64 = 8 << 20;

/// Waits until a run of the task has failed in this number of attempts, so that it has this number of events; returns the
/// log since `marks`.
async fn failed(
    cluster: &Cluster,
    marks: &Marks<'_>,
    name: &str,
    (events, attempts): (usize, u32),
) -> String {
    let newest = &cluster.api(0).wait_for_events(name, events).await[0];
    assert_eq!(newest["success"], false, "{newest}");
    let line = "error running task";
    marks.until_logged(cluster, "scheduler", line).await;
    let last = format!("attempt={attempts} result=failed");
    marks.until_logged(cluster, "worker", &last).await;
    marks.lines_of_a_fault(cluster)
}

/// Waits until the only worker has given a run back because of its machine; returns the log since `marks`.
async fn given_back(cluster: &Cluster, marks: &Marks<'_>) -> String {
    marks
        .until_logged(cluster, "scheduler", "run given back")
        .await;
    marks.until_logged(cluster, "worker", "result=failed").await;
    marks.lines_of_a_fault(cluster)
}

#[tokio::test]
async fn each_reason_of_failed_runs_is_named_in_a_line_of_an_attempt_and_one_of_the_run() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write_steps("pool");
    site.write("modules/mistaken/main.tf", MISTAKE);
    let tasks = task("pool", "./modules/pool", &["web"], "")
        + &task("mistaken", "./modules/mistaken", &["api"], "");
    let directory = stand_in::of_version(&site, "1.9.8");
    let driver = format!("path = \"{directory}\"\n  {}", site.shared_backend());
    site.configure_driver(&consul.address(), &driver, &tasks);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cluster = Cluster::start(&site, Plan::of(1, 1, 1, 1)).await;
    let api = cluster.api(0);
    api.wait_for_events("pool", 1).await;
    api.wait_for_events("mistaken", 1).await;

    let marks = Marks::of(&cluster, &FIRST_OF_EACH);
    consul.register_service("api", "api-1", 1, &[], &[]).await;
    let log = failed(&cluster, &marks, "mistaken", (2, 1)).await;
    insta::assert_snapshot!("module_with_a_mistake", log);

    let marks = Marks::of(&cluster, &FIRST_OF_EACH);
    consul
        .register_service("web", "web-1", 1, &[], &["broken"])
        .await;
    let log = failed(&cluster, &marks, "pool", (2, 3)).await;
    insta::assert_snapshot!("module_that_fails_to_apply", log);

    let marks = Marks::of(&cluster, &FIRST_OF_EACH);
    let terraform = site.path().join("other/terraform");
    let away = site.path().join("other/away");
    fs::rename(&terraform, &away).unwrap();
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let log = given_back(&cluster, &marks).await;
    insta::assert_snapshot!("terraform_is_gone", log);

    fs::rename(&away, &terraform).unwrap();
    let newest = &api.wait_for_events("pool", 3).await[0];
    assert_eq!(newest["success"], true, "{newest}");
}

#[tokio::test]
async fn a_worker_without_terraform_says_where_it_has_looked() {
    let site = Site::new();
    let unreachable = format!("http://127.0.0.1:{}", cts_testkit::free_port());
    site.write(
        "worker.hcl",
        &format!(
            "id = \"worker-0\"\nworking_dir = \"work\"\n\
             driver \"terraform\" {{\n  path = \"absent\"\n  releases_url = \"{unreachable}\"\n}}\n\
             services {{ schedulers = [\"127.0.0.1:{}\"] }}\n",
            cts_testkit::free_port()
        ),
    );
    let address = format!("-grpc-address=127.0.0.1:{}", cts_testkit::free_port());
    let arguments = ["worker", &address, "-config-file=worker.hcl"];
    let exit = site.run("cts", &arguments, "worker.log").wait().await;
    assert_ne!(exit.code, Some(0));
    insta::assert_snapshot!(crate::cluster::logs::log_marks::shown(&exit.output).join("\n"));
}

#[tokio::test]
async fn a_full_disk_of_the_only_worker_is_the_reason_why_its_runs_wait() {
    let site = Site::new();
    fs::create_dir(site.path().join("disk")).unwrap();
    // `scripts/test` says so (CONTRIBUTING.md#set-up).
    if env::var_os("CTS_TEST_WITHOUT_DISK").is_some() {
        return;
    }
    let disk = LimitedDisk::mount(&site.path().join("disk"), DISK);
    let disk = disk.expect("a disk is mounted; without root, set CTS_TEST_WITHOUT_DISK=1");
    let consul = ConsulAgent::start().await;
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(&consul.address(), Backend::Shared, &pool);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let mut plan = Plan::of(1, 1, 1, 1);
    plan.workers_below = Some(site.path().join("disk"));
    let cluster = Cluster::start(&site, plan).await;
    cluster.api(0).wait_for_events("pool", 1).await;

    let marks = Marks::of(&cluster, &FIRST_OF_EACH);
    disk.fill();
    // More than fits into the space of the files that are replaced.
    let long = "x".repeat(10_000);
    consul
        .register_service("web", "web-2", 2, &[], &[&long])
        .await;
    let log = given_back(&cluster, &marks).await;
    insta::assert_snapshot!("disk_is_full", log);

    let marks = Marks::of(&cluster, &FIRST_OF_EACH);
    disk.free();
    let newest = &cluster.api(0).wait_for_events("pool", 2).await[0];
    assert_eq!(newest["success"], true, "{newest}");
    let log = marks.lines(&cluster);
    assert!(!log.contains("[ERROR]"), "{log}");
    assert!(
        log.contains("own check of this worker succeeds again"),
        "{log}"
    );
}
