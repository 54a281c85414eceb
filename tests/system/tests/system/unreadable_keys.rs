//! Values of Consul's KV store that are not text (docs/runs.md#keys-without-a-readable-value).

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{
    Backend, Cluster, DEADLINE, Driver, Instance, Plan, Service, Site, recorded_services,
};
use rstest::rstest;
use serde_json::{Value, json};

/// Keeps the keys that it gets in its state.
const RECORDER: &str = r#"
variable "services" {
  type = any
}

variable "consul_kv" {
  type = map(string)
}

resource "terraform_data" "recorded" {
  input = var.consul_kv
}
"#;

/// Runs with the prefix, with the key alone, and with the prefix as a supply only.
const TASKS: &str = r#"
task {
  name   = "prefix"
  module = "./modules/recorder"
  condition "consul-kv" {
    path    = "limits/"
    recurse = true
  }
}

task {
  name   = "single"
  module = "./modules/recorder"
  condition "consul-kv" { path = "limits/odd" }
}

task {
  name   = "supplied"
  module = "./modules/recorder"
  condition "services" { names = ["web"] }
  module_input "consul-kv" {
    path    = "limits/"
    recurse = true
  }
}
"#;

const NOT_TEXT: [u8; 3] = [0xff, 0x00, 0xfe];

struct Scene {
    consul: ConsulAgent,
    site: Site,
}

impl Scene {
    /// A site whose keys can all be read.
    async fn new() -> Self {
        Self::with(Driver::Terraform).await
    }

    async fn with(driver: Driver) -> Self {
        let consul = ConsulAgent::start().await;
        let site = Site::with_driver_anywhere(driver).await;
        site.write("modules/recorder/main.tf", RECORDER);
        site.configure(&consul.address(), Backend::Shared, TASKS);
        consul.kv_put("limits/cart", "1").await;
        consul.kv_put("limits/odd", "x").await;
        Self { consul, site }
    }

    async fn wait_for_keys(&self, task: &str, keys: Value) {
        eventually(DEADLINE, async || {
            let state = self.site.state(task).await?;
            match recorded_services(&state)? {
                recorded if recorded == keys => Ok(()),
                other => Err(format!("{task} has {other}, not {keys}")),
            }
        })
        .await;
    }

    /// Changes one key and waits until both tasks on the prefix have it, with this value of the other one.
    async fn change(&self, cart: &str, odd: &str) {
        self.consul.kv_put("limits/cart", cart.to_owned()).await;
        let keys = json!({"limits/cart": cart, "limits/odd": odd});
        self.wait_for_keys("prefix", keys.clone()).await;
        let id = format!("web-{cart}");
        self.consul.register_service("web", &id, 1, &[], &[]).await;
        self.wait_for_keys("supplied", keys).await;
        let single = json!({"limits/odd": odd});
        self.wait_for_keys("single", single).await;
    }
}

async fn explanation(instance: &Instance, task: &str, kind: &str) -> String {
    let path = format!("/v1/tasks/{task}/explain");
    eventually(DEADLINE, async || {
        let answer = instance.api.get(&path).await;
        let obstacles = answer["explanation"]["obstacles"].as_array().cloned();
        let mut texts = obstacles.into_iter().flatten().filter_map(|obstacle| {
            let text = obstacle["text"].as_str()?;
            (obstacle["kind"] == kind && text.contains("UTF-8")).then(|| text.to_owned())
        });
        texts.next().ok_or_else(|| answer.to_string())
    })
    .await
}

#[rstest]
#[tokio::test]
async fn one_value_that_is_no_text_holds_up_no_other_key(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let scene = Scene::with(driver).await;
    let cts = Instance::start(&scene.site).await;
    scene.change("2", "x").await;
    let before = cts.api.wait_for_events("single", 1).await.len();

    scene.consul.kv_put("limits/odd", NOT_TEXT.to_vec()).await;
    let told = explanation(&cts, "prefix", "view_unreadable").await;
    assert!(
        told.contains("kv.list(limits/)") && told.contains("\"limits/odd\""),
        "{told}"
    );
    scene.change("3", "x").await;
    // Other bytes that are no text either.
    scene.consul.kv_put("limits/odd", vec![0xc3]).await;
    scene.change("4", "x").await;
    let after = cts.api.wait_for_events("single", 1).await.len();
    assert_eq!(after, before, "its value is what it was");

    scene.consul.kv_put("limits/odd", "y").await;
    scene
        .wait_for_keys("single", json!({"limits/odd": "y"}))
        .await;
    scene.change("5", "y").await;
    scene.consul.kv_put("limits/odd", NOT_TEXT.to_vec()).await;
    scene.change("6", "y").await;
    scene.consul.kv_delete("limits/odd").await;
    scene.wait_for_keys("single", json!({})).await;
    scene
        .wait_for_keys("prefix", json!({"limits/cart": "6"}))
        .await;

    let output = cts.output();
    let warnings = output.lines().filter(|line| line.contains("[WARN]"));
    let warnings = warnings.filter(|line| line.contains("limits/odd"));
    let warnings: Vec<_> = warnings.collect();
    assert_eq!(warnings.len(), 4, "of two views, twice: {warnings:#?}");
    cts.stop().await;
}

/// The next watcher has never seen the value.
#[tokio::test]
async fn value_of_an_unreadable_key_outlives_a_kill_of_the_watcher() {
    let scene = Scene::new().await;
    let mut cluster = Cluster::start(&scene.site, Plan::of(2, 1, 1, 1)).await;
    scene.change("2", "x").await;
    scene.consul.kv_put("limits/odd", NOT_TEXT.to_vec()).await;
    scene.change("3", "x").await;
    for (killed, cart) in [(0, "4"), (1, "5")] {
        cluster.kill(Service::Watcher, killed).await;
        scene.change(cart, "x").await;
        cluster.run(Service::Watcher, killed).await;
    }
    // Both at once: for a while no watcher runs.
    for killed in 0..2 {
        cluster.kill(Service::Watcher, killed).await;
    }
    scene.consul.kv_put("limits/cart", "6").await;
    for killed in 0..2 {
        cluster.run(Service::Watcher, killed).await;
    }
    scene.change("6", "x").await;
    cluster.restart(Service::Scheduler, 0).await;
    scene.change("7", "x").await;
    scene.consul.kv_put("limits/odd", "y").await;
    scene.change("8", "y").await;
}
