//! A worker is killed in each phase of a run. Its guard ends Terraform, and another worker repeats the run: the
//! state stays readable, and no lock of it is left in the end.

use std::fs;

use cts_testkit::{
    ConsulAgent, Link, ObjectStore, ScriptedAnswer, ScriptedHttp, TcpProxy, eventually,
};
use cts_tests::{Cluster, DEADLINE, Plan, Service, Site, assert_successful, task};
use serde_json::{Value, json};

use crate::cluster::losses::own_lock::{BUCKET, backend};
use crate::cluster::losses::worker_loss::STARTED;

/// Reads another state while it is planned, and waits while the file `hold` exists when it is applied.
const MODULE: &str = r#"
variable "services" {
  type = any
}

data "terraform_remote_state" "other" {
  backend = "s3"
  config = {
    bucket                      = "@BUCKET@"
    key                         = "other"
    region                      = "eu-central-1"
    access_key                  = "key-of-edge"
    secret_key                  = "secret-of-edge"
    endpoints                   = { s3 = "@STORE@" }
    use_path_style              = true
    skip_credentials_validation = true
    skip_metadata_api_check     = true
    skip_region_validation      = true
    skip_requesting_account_id  = true
  }
}

resource "terraform_data" "probe" {
  triggers_replace = [keys(var.services), data.terraform_remote_state.other.outputs]
  provisioner "local-exec" {
    command = "echo $PPID >>'@SITE@/applies'; while [ -e '@SITE@/hold' ]; do sleep 0.1; done"
  }
}
"#;

/// The other state, which the module reads.
const OTHER: &str = r#"{"version":4,"terraform_version":"1.0.0","serial":1,"lineage":"other","outputs":{"name":{"value":"edge","type":"string"}},"resources":[]}"#;

/// The state of the task.
const STATE: &str = "states/env:/probe/network";

/// How the requests of the phases begin.
const OF_INIT: &str = "GET /states?list-type=2";
const OF_PLANNING: &str = "HEAD /states/other";
const OF_STATE_WRITE: &str = "PUT /states/env%3A/probe/network?";

struct Scene {
    site: Site,
    cluster: Cluster,
    store: ObjectStore,
    proxy: TcpProxy,
    consul: ConsulAgent,
}

impl Scene {
    /// Two workers; one is about to run the task for the first time over this link.
    async fn begin(link: Link, blocks: &str, of_task: &str) -> Self {
        let consul = ConsulAgent::start().await;
        let store = ObjectStore::with_bucket(BUCKET).await;
        store.put("states/other", OTHER).await;
        let proxy = TcpProxy::start(store.socket()).await;
        proxy.set_link(link);
        let address = format!("http://{}", proxy.address());
        let site = Site::new();
        let module = MODULE
            .replace("@SITE@", site.path().to_str().unwrap())
            .replace("@BUCKET@", BUCKET)
            .replace("@STORE@", &address);
        site.write("modules/probe/main.tf", &module);
        let driver = backend(&address) + "release_lost_locks = true\n  lock_timeout = \"1s\"\n";
        let probe = task("probe", "./modules/probe", &["web"], of_task);
        site.configure_driver(&consul.address(), &driver, &(blocks.to_owned() + &probe));
        consul.register_service("web", "web-1", 1, &[], &[]).await;
        let cluster = Cluster::start(&site, Plan::of(1, 1, 2, 1)).await;
        Self {
            site,
            cluster,
            store,
            proxy,
            consul,
        }
    }

    /// The scene after the first run; the next run begins, over this link.
    async fn second_run(link: Link) -> Self {
        let scene = Self::begin(Link::Open, "", "").await;
        scene.cluster.api(0).wait_for_events("probe", 1).await;
        scene.proxy.set_link(link);
        scene
            .consul
            .register_service("web", "web-2", 2, &[], &[])
            .await;
        scene
    }

    /// Waits until a request is held, and kills the worker whose Terraform sent it.
    async fn kill_at_held_request(&mut self) {
        eventually(DEADLINE, async || match self.proxy.held() {
            0 => Err("no request is held"),
            _ => Ok(()),
        })
        .await;
        let terraform = self.site.terraform_processes();
        let worker = self.cluster.worker_of(*terraform.first().unwrap());
        self.kill(worker).await;
    }

    /// Kills a worker, waits until its guard has ended Terraform, and lets everything pass.
    async fn kill(&mut self, worker: usize) {
        self.cluster.kill(Service::Worker, worker).await;
        self.site.wait_until_quiet().await;
        self.proxy.set_link(Link::Open);
    }

    async fn is_locked(&self) -> bool {
        self.store.list(BUCKET).await.contains(".tflock")
    }

    /// Number of resources in the state; `None` without a state. Panics if the state cannot be read.
    async fn resources(&self) -> Option<usize> {
        let state = self.store.get(STATE).await?;
        let state: Value = serde_json::from_str(&state).unwrap();
        assert_eq!(state["version"], 4, "{state}");
        state["resources"].as_array().map(Vec::len)
    }

    /// Waits until so many runs have succeeded; none of them may have failed. The state is of the last one.
    async fn assert_succeeded(&self, runs: usize) {
        let events = self.cluster.api(0).wait_for_events("probe", runs).await;
        assert_eq!(events.len(), runs, "{events:?}");
        assert_successful(&events);
        assert_eq!(self.resources().await, Some(2));
        assert!(!self.is_locked().await, "a lock is left");
    }

    /// Ids of the Terraform processes that came to the provisioner.
    fn applies(&self) -> Vec<i32> {
        let text = fs::read_to_string(self.site.path().join("applies")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

#[tokio::test]
async fn a_worker_that_is_killed_during_init_leaves_nothing() {
    let mut scene = Scene::begin(Link::Hold(OF_INIT), "", "").await;
    scene.kill_at_held_request().await;
    assert_eq!(scene.resources().await, None);
    assert!(!scene.is_locked().await);
    scene.assert_succeeded(1).await;
}

#[tokio::test]
async fn a_worker_that_is_killed_during_planning_leaves_the_state_as_it_was() {
    let mut scene = Scene::second_run(Link::Hold(OF_PLANNING)).await;
    scene.kill_at_held_request().await;
    assert_eq!(scene.resources().await, Some(2));
    scene.assert_succeeded(2).await;
    assert_eq!(scene.applies().len(), 2);
}

#[tokio::test]
async fn a_worker_that_is_killed_during_an_apply_leaves_a_state_without_a_lock() {
    let mut scene = Scene::begin(Link::Open, "", "").await;
    scene.cluster.api(0).wait_for_events("probe", 1).await;
    scene.site.hold();
    scene
        .consul
        .register_service("web", "web-2", 2, &[], &[])
        .await;
    let terraform = eventually(DEADLINE, async || {
        scene.applies().get(1).copied().ok_or("no second apply")
    })
    .await;
    let worker = scene.cluster.worker_of(terraform);
    scene.kill(worker).await;
    assert!(scene.resources().await.is_some());
    assert!(!scene.is_locked().await, "it was stopped gently");
    scene.site.release();
    scene.assert_succeeded(2).await;
}

#[tokio::test]
async fn the_lock_of_a_worker_that_is_killed_during_a_state_write_is_released() {
    let mut scene = Scene::second_run(Link::Hold(OF_STATE_WRITE)).await;
    scene.kill_at_held_request().await;
    assert!(scene.is_locked().await, "what cannot write cannot end well");
    assert!(scene.resources().await.is_some(), "that of the first run");
    scene.assert_succeeded(2).await;
    let released = "releasing the state lock that a lost attempt has left";
    let output = scene.cluster.all_output();
    assert!(output.contains(released), "{output}");
    // The apply whose state was not written is repeated.
    assert_eq!(scene.applies().len(), 3);
}

#[tokio::test]
async fn a_webhook_gets_the_same_key_again_from_the_worker_after_a_killed_one() {
    let script = [ScriptedAnswer::Hang, ScriptedAnswer::Json(200, Value::Null)];
    let receiver = ScriptedHttp::start(script).await;
    let webhook = format!(
        "webhook \"tickets\" {{\n  url = \"http://{}/\"\n}}\n",
        receiver.address()
    );
    let mut scene = Scene::begin(Link::Open, &webhook, "webhooks = [\"tickets\"]").await;
    let requests = async |count| {
        eventually(DEADLINE, async || {
            let requests = receiver.requests();
            if requests.len() == count {
                Ok(requests)
            } else {
                Err(format!("{requests:?}"))
            }
        })
        .await
    };
    requests(1).await;
    let worker = (0..2)
        .find(|worker| {
            let output = scene.cluster.output(Service::Worker, *worker);
            output.contains(STARTED)
        })
        .unwrap();
    scene.kill(worker).await;
    scene.assert_succeeded(1).await;
    let requests = requests(2).await;
    let keys: Vec<_> = requests
        .iter()
        .map(|request| request.header("idempotency-key").unwrap())
        .collect();
    assert_eq!(keys[0], keys[1]);
    let bodies = requests.iter().map(|request| {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        body["run"].clone()
    });
    let runs: Vec<Value> = bodies.collect();
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0], json!(null));
    // The second apply found nothing to do.
    assert_eq!(scene.applies().len(), 1);
}
