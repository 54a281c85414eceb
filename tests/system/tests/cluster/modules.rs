//! Local modules reach workers that do not have them, and are missed where they should be.

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, Cluster, DEADLINE, Plan, Service, Site, met, task};

/// Calls a module in the next directory, which keeps its input.
const CALLER: &str = r#"
variable "services" {
  type = any
}

module "shared" {
  source   = "../shared"
  services = var.services
}
"#;

/// Writes the ids it gets into a file.
const SHARED: &str = r#"
variable "services" {
  type = any
}

locals {
  ids = join(",", sort([for service in values(var.services) : service.id]))
}

resource "terraform_data" "recorded" {
  triggers_replace = local.ids
  provisioner "local-exec" {
    command = "cat '${path.module}/note' >>'@SITE@/seen'; echo \" ${local.ids} ${abspath(path.module)}\" >>'@SITE@/seen'"
  }
}
"#;

/// A cluster whose worker and its configuration are in a directory of their own, and the task "pool".
struct Apart {
    cluster: Cluster,
    consul: ConsulAgent,
    site: Site,
    elsewhere: Site,
}

async fn apart() -> Apart {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    let elsewhere = Site::new();
    let path = site.path().to_str().unwrap();
    site.write("modules/pool/main.tf", CALLER);
    site.write("modules/shared/main.tf", &SHARED.replace("@SITE@", path));
    site.write("modules/shared/note", "a file of the module:");
    // The packed directory is the one that holds both.
    let pool = task("pool", "./modules//pool", &["web"], "");
    site.configure(&consul.address(), Backend::Consul, &pool);
    elsewhere.configure(&consul.address(), Backend::Consul, "");
    let configuration = elsewhere.path().join("cts.hcl").display().to_string();
    let mut plan = Plan::of(1, 2, 1, 1);
    plan.workers_below = Some(elsewhere.path().to_owned());
    plan.files = vec![
        (Some(Service::Watcher), "cts.hcl".to_owned()),
        (Some(Service::Scheduler), "cts.hcl".to_owned()),
        (Some(Service::Worker), configuration),
    ];
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cluster = Cluster::start(&site, plan).await;
    Apart {
        cluster,
        consul,
        site,
        elsewhere,
    }
}

/// Waits until the last ids that the module has seen are these, and returns where the module was.
async fn wait_until_seen(site: &Site, ids: &str) -> String {
    eventually(DEADLINE, async || {
        let seen = std::fs::read_to_string(site.path().join("seen")).unwrap_or_default();
        let beginning = format!("a file of the module: {ids} ");
        let last = seen.lines().last().unwrap_or_default();
        last.strip_prefix(&beginning).map(str::to_owned).ok_or(seen)
    })
    .await
}

#[tokio::test]
async fn a_module_that_calls_its_neighbour_is_applied_on_a_worker_without_either() {
    let scene = apart().await;
    let place = wait_until_seen(&scene.site, "web-1").await;
    let bundles = scene.elsewhere.path().join("work/.bundles");
    assert!(place.starts_with(bundles.to_str().unwrap()), "{place}");
    let events = scene.cluster.api(0).wait_for_events("pool", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
}

#[tokio::test]
async fn a_module_that_is_gone_is_missed_by_name_and_applied_from_its_bundle() {
    let mut scene = apart().await;
    wait_until_seen(&scene.site, "web-1").await;
    let modules = scene.site.path().join("modules");
    std::fs::remove_dir_all(&modules).unwrap();
    scene
        .consul
        .register_service("web", "web-2", 2, &[], &[])
        .await;
    wait_until_seen(&scene.site, "web-1,web-2").await;

    // The module works also under a leader that cannot pack it.
    let leader = scene.cluster.wait_for_leader().await;
    scene.cluster.kill(Service::Scheduler, leader).await;
    scene.cluster.wait_for_leader().await;
    scene
        .consul
        .register_service("web", "web-3", 3, &[], &[])
        .await;
    wait_until_seen(&scene.site, "web-1,web-2,web-3").await;

    // A replica that starts checks the stored tasks, whatever its own configuration declares.
    std::fs::write(
        scene.site.path().join("cts.hcl"),
        tasks_cut_off(&scene.site),
    )
    .unwrap();
    scene.cluster.run(Service::Scheduler, leader).await;
    let line = format!("compatibility check failure: stat {}", modules.display());
    eventually(DEADLINE, async || {
        let output = scene.cluster.output(Service::Scheduler, leader);
        let found = output.lines().any(|one| {
            one.contains("ha.compat")
                && one.contains(&line)
                && one.contains(": no such file or directory")
        });
        met(found, format!("no {line} in\n{output}"))
    })
    .await;
}

fn tasks_cut_off(site: &Site) -> String {
    let text = std::fs::read_to_string(site.path().join("cts.hcl")).unwrap();
    let (before, _) = text.split_once("task {").unwrap();
    before.to_owned()
}
