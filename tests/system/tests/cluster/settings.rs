//! Which settings count: backend and provider blocks are the workers', and a change of them runs each task
//! once.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Cluster, DEADLINE, Plan, Service, Site, met, task};
use serde_json::json;

use crate::any_shape::providers::provider_environment::REQUIRED;

/// Each apply adds a line with the value that it got.
const MODULE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "probe" {
  triggers_replace = timestamp()
  provisioner "local-exec" {
    command = "echo \"$PROBE ${length(var.services)}\" >>'@SITE@/evidence'"
  }
}
"#;

struct Scene {
    site: Site,
    consul: ConsulAgent,
    cluster: Cluster,
    instances: u16,
}

impl Scene {
    /// Starts so many workers whose provider block has the value "one", and waits for their applies.
    async fn start(workers: usize) -> Self {
        let consul = ConsulAgent::start().await;
        let site = Site::new();
        let path = site.path().to_str().unwrap();
        site.write("modules/probe/main.tf", &MODULE.replace("@SITE@", path));
        let driver = site.shared_backend() + REQUIRED;
        site.configure_driver(
            &consul.address(),
            &driver,
            &task(
                "probe",
                "./modules/probe",
                &["web"],
                "providers = [\"terraform\"]",
            ),
        );
        for worker in 0..=workers {
            write_value(&site, worker, "one");
        }
        consul.register_service("web", "web-1", 1, &[], &[]).await;
        let mut plan = Plan::of(1, 1, workers, 1);
        let own = (Some(Service::Worker), "{name}-provider.hcl".to_owned());
        plan.files.push(own);
        let cluster = Cluster::start(&site, plan).await;
        let scene = Self {
            site,
            consul,
            cluster,
            instances: 1,
        };
        scene.wait_for("one 1").await;
        scene
    }

    /// Registers one more instance of the service, whose change is applied with this value.
    async fn change_is_applied_with(&mut self, value: &str) {
        self.instances += 1;
        let (port, id) = (self.instances, format!("web-{}", self.instances));
        self.consul
            .register_service("web", &id, port, &[], &[])
            .await;
        self.wait_for(&format!("{value} {}", self.instances)).await;
    }

    /// The settings of each apply, in order.
    fn applied(&self) -> Vec<String> {
        let evidence = fs::read_to_string(self.site.path().join("evidence")).unwrap_or_default();
        evidence.lines().map(str::to_owned).collect()
    }

    /// Waits until this was applied last, and is reported.
    async fn wait_for(&self, last: &str) {
        let api = self.cluster.api(0);
        eventually(DEADLINE, async || {
            let applied = self.applied();
            let queue = api.ask("/v1/queue").await;
            let rests = queue
                .as_ref()
                .is_ok_and(|(_status, queue)| queue["queued"] == 0 && queue["running"] == 0);
            match applied.last() {
                Some(line) if line == last && rests => Ok(()),
                _ => Err(format!("{applied:?} {queue:?}")),
            }
        })
        .await;
    }

    async fn wait_for_warning(&self, parts: &[&str]) {
        eventually(DEADLINE, async || {
            let output = self.cluster.output(Service::Scheduler, 0);
            let mut lines = output.lines().filter(|line| line.contains("[WARN]"));
            let found = lines.any(|line| parts.iter().all(|part| line.contains(part)));
            met(found, output)
        })
        .await;
    }
}

fn write_value(site: &Site, worker: usize, value: &str) {
    let text = format!(
        "terraform_provider \"terraform\" {{\n  task_env {{ \"PROBE\" = \"{value}\" }}\n}}\n"
    );
    site.write(&format!("worker-{worker}-provider.hcl"), &text);
}

#[tokio::test]
async fn a_changed_block_counts_when_no_worker_has_the_old_one_any_more() {
    let mut scene = Scene::start(2).await;
    write_value(&scene.site, 0, "two");
    scene.cluster.restart(Service::Worker, 0).await;
    let rolled = scene.cluster.worker_id(0).await;
    let parts = [
        "a worker has other settings",
        &rolled,
        "provider terraform",
        "probe",
    ];
    scene.wait_for_warning(&parts).await;
    let configuration = scene.cluster.api(0).get("/v1/cluster/configuration").await;
    let different = &configuration["workers"][0];
    assert_eq!(different["id"], rolled.as_str(), "{configuration}");
    assert_eq!(different["blocks"], json!(["provider terraform"]));
    for _ in 0..2 {
        scene.change_is_applied_with("one").await;
    }
    write_value(&scene.site, 1, "two");
    scene.cluster.restart(Service::Worker, 1).await;
    scene.wait_for("two 3").await;

    // A worker with an old file does no harm.
    let late = scene.cluster.add(Service::Worker);
    scene.cluster.run(Service::Worker, late).await;
    let late = scene.cluster.worker_id(late).await;
    let parts = ["a worker has other settings", &late, "provider terraform"];
    scene.wait_for_warning(&parts).await;
    for _ in 0..3 {
        scene.change_is_applied_with("two").await;
    }
    let expected = [
        "one 1", "one 2", "one 3", "two 3", "two 4", "two 5", "two 6",
    ];
    assert_eq!(scene.applied(), expected);
}

#[tokio::test]
async fn another_key_applies_nothing() {
    let write_keys = |site: &Site, keys: &[&str]| {
        let keys: Vec<String> = keys.iter().map(|byte| byte.repeat(32)).collect();
        site.write("cluster.key", &keys.join("\n"));
        let file = site.path().join("cluster.key");
        fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
    };
    let mut scene = Scene::start(1).await;
    // The key moves from the database to a file, then changes, with both keys at a time in between.
    write_keys(&scene.site, &["a1"]);
    let file = scene.site.path().join("cts.hcl");
    let configuration = fs::read_to_string(&file).unwrap();
    let secured = format!("security {{ key_file = \"cluster.key\" }}\n{configuration}");
    scene.site.write("cts.hcl", &secured);
    for keys in [&["a1"][..], &["b2", "a1"], &["b2"]] {
        write_keys(&scene.site, keys);
        scene.cluster.restart(Service::Scheduler, 0).await;
        scene.cluster.restart(Service::Worker, 0).await;
        scene.change_is_applied_with("one").await;
    }
    assert_eq!(scene.applied(), ["one 1", "one 2", "one 3", "one 4"]);
}
