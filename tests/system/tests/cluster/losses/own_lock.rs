//! A worker stands still, its Terraform is killed, and the lock of the state stays.

use std::fs;

use cts_testkit::{ConsulAgent, ObjectStore, assert_contains, eventually};
use cts_tests::{Cluster, DEADLINE, Plan, Service, Site, task};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::any_shape::providers::provider_environment::REQUIRED;

/// Each apply writes the id of its Terraform, and waits while the file `hold` exists.
const MODULE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "probe" {
  triggers_replace = timestamp()
  provisioner "local-exec" {
    command = "echo $PPID >>'@SITE@/applies'; while [ -e '@SITE@/hold' ]; do sleep 0.1; done"
  }
}
"#;

pub(crate) const BUCKET: &str = "states";

/// The lock is waited for shortly, so that the test is short.
const PROVIDER: &str = r#"
terraform_provider "terraform" {
  task_env { "TF_CLI_ARGS_apply" = "-lock-timeout=0s" }
}
"#;

/// A state in an emulator of S3 at `address`, with a lock file next to it.
pub(crate) fn backend(address: &str) -> String {
    format!(
        r#"backend "s3" {{
    bucket = "{BUCKET}"
    key = "network"
    region = "eu-central-1"
    access_key = "key-of-edge"
    secret_key = "secret-of-edge"
    endpoints {{ s3 = "{address}" }}
    use_path_style = true
    use_lockfile = true
    skip_credentials_validation = true
    skip_metadata_api_check = true
    skip_region_validation = true
    skip_requesting_account_id = true
  }}
"#
    )
}

struct Scene {
    site: Site,
    cluster: Cluster,
    /// Its id.
    lost: String,
    other: usize,
    _consul: ConsulAgent,
    _store: ObjectStore,
}

impl Scene {
    /// The scene after the worker is lost in the middle of its second apply.
    async fn after_the_loss(driver: &str) -> Self {
        let consul = ConsulAgent::start().await;
        let store = ObjectStore::with_bucket(BUCKET).await;
        let site = Site::new();
        let path = site.path().to_str().unwrap();
        site.write("modules/probe/main.tf", &MODULE.replace("@SITE@", path));
        let driver = format!("{}{REQUIRED}{driver}\n", backend(&store.address()));
        let probe = task(
            "probe",
            "./modules/probe",
            &["web"],
            "providers = [\"terraform\"]",
        );
        site.configure_driver(&consul.address(), &driver, &(PROVIDER.to_owned() + &probe));
        consul.register_service("web", "web-1", 1, &[], &[]).await;
        let mut cluster = Cluster::start(&site, Plan::of(1, 1, 2, 1)).await;
        cluster.api(0).wait_for_events("probe", 1).await;

        site.write("hold", "");
        consul.register_service("web", "web-2", 2, &[], &[]).await;
        let terraform = last_apply(&site, 2).await;
        let worker = cluster.worker_of(terraform);
        let lost = cluster.worker_id(worker).await;
        cluster.pause(Service::Worker, worker);
        kill(Pid::from_raw(terraform), Signal::SIGKILL).unwrap();
        fs::remove_file(site.path().join("hold")).unwrap();
        Self {
            site,
            cluster,
            lost,
            other: 1 - worker,
            _consul: consul,
            _store: store,
        }
    }

    fn output(&self) -> String {
        self.cluster.output(Service::Worker, self.other)
    }
}

/// The Terraform of the apply with this number, from 1.
async fn last_apply(site: &Site, number: usize) -> i32 {
    let file = site.path().join("applies");
    eventually(DEADLINE, async || {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let found = text.lines().nth(number - 1).and_then(|id| id.parse().ok());
        found.ok_or(text)
    })
    .await
}

#[tokio::test]
async fn a_lock_of_a_lost_attempt_is_released_where_that_is_wanted() {
    let scene = Scene::after_the_loss("release_lost_locks = true").await;
    last_apply(&scene.site, 3).await;
    let events = scene.cluster.api(0).wait_for_events("probe", 2).await;
    assert!(events.iter().all(|event| event["success"] == true));
    let released = "releasing the state lock that a lost attempt has left";
    assert!(scene.output().contains(released), "{}", scene.output());
}

#[tokio::test]
async fn a_lock_of_a_lost_attempt_is_recognised_and_stays() {
    let scene = Scene::after_the_loss("").await;
    let events = scene.cluster.api(0).wait_for_events("probe", 2).await;
    let error = events[0]["error"]["message"].as_str().unwrap_or_default();
    let said = format!(
        "The lock was left by worker {}, which lost the task at ",
        scene.lost
    );
    assert_contains(&error, [&said, "release_lost_locks = true"]);
    let applies = fs::read_to_string(scene.site.path().join("applies")).unwrap();
    assert_eq!(applies.lines().count(), 2);
}
