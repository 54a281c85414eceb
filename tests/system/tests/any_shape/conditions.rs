//! Every condition and module input, from a file and over the API, applied by a real Terraform
//! (docs/configuration.md#condition, `#module_input`).

use cts_testkit::{Authority, ConsulAgent, access_control, eventually, free_port};
use cts_tests::{Backend, DEADLINE, Exit, Instance, Site, ids_of};
use serde_json::{Value, json};

use crate::api::scene::Scene;

/// Keeps all that a module may get.
const WATCHER: &str = r#"
variable "services" {
  type = any
}

variable "catalog_services" {
  type    = map(list(string))
  default = null
}

variable "consul_kv" {
  type    = map(string)
  default = null
}

resource "terraform_data" "recorded" {
  input = {
    services = var.services
    catalog  = var.catalog_services
    kv       = var.consul_kv
  }
}
"#;

const TASKS: [(&str, &str); 9] = [
    ("matching", r#"condition "services" { regexp = "^web" }"#),
    (
        "matching-kv",
        r#"condition "services" {
             regexp = "^web-a$"
             use_as_module_input = false
           }
           module_input "consul-kv" { path = "limits/cart" }"#,
    ),
    (
        "catalog",
        r#"condition "catalog-services" { regexp = "^web" }
           module_input "consul-kv" {
             path    = "limits/"
             recurse = true
           }"#,
    ),
    (
        "catalog-nodes",
        r#"condition "catalog-services" {
             regexp    = ".*"
             node_meta = { rack = "r1" }
           }
           source_input "services" { regexp = "^far" }"#,
    ),
    (
        "listed",
        r#"condition "catalog-services" { regexp = "^web" }
           services = ["far"]"#,
    ),
    (
        "key",
        r#"condition "consul-kv" { path = "/limits/cart" }
           module_input "services" {
             names = ["web-a"]
             cts_user_defined_meta = { zone = "dmz" }
           }"#,
    ),
    (
        "prefix",
        r#"condition "consul-kv" {
             path    = "limits/"
             recurse = true
           }"#,
    ),
    (
        "often",
        r#"condition "schedule" { cron = "*/2 * * * * * *" }
           module_input "services" { regexp = "^web" }
           module_input "consul-kv" { path = "limits/cart" }"#,
    ),
    (
        "yearly",
        r#"condition "schedule" { cron = "@yearly" }
           services = ["web-a"]"#,
    ),
];

fn tasks() -> String {
    let tasks = TASKS.iter().map(|(name, more)| {
        format!("task {{\n name = \"{name}\"\n module = \"./modules/watcher\"\n {more}\n}}\n")
    });
    tasks.collect()
}

fn site() -> Site {
    let site = Site::new();
    site.write("modules/watcher/main.tf", WATCHER);
    site
}

impl Scene {
    async fn service(&self, name: &str, tags: &[&str]) {
        self.consul
            .register(json!({"Name": name, "ID": format!("{name}-1"), "Tags": tags}))
            .await;
    }

    async fn fill(&self) {
        fill(&self.consul).await;
    }

    /// The values that arrived in a module: ids of services, names in the catalog with their tags, keys.
    fn arrived(&self, task: &str) -> Result<Value, String> {
        let recorded = self.site.recorded(task)?;
        let services = ids_of(&recorded["services"]);
        Ok(json!([services, recorded["catalog"], recorded["kv"]]))
    }

    async fn wait_for(&self, task: &str, expected: Value) {
        eventually(DEADLINE, async || match self.arrived(task)? {
            arrived if arrived == expected => Ok(()),
            arrived => Err(format!("{task} has {arrived}, not {expected}")),
        })
        .await;
    }

    async fn events(&self, task: &str) -> usize {
        self.instance.api.events(task).await.len()
    }
}

/// Two services here, one on another node, and two keys.
async fn fill(consul: &ConsulAgent) {
    for name in ["web-a", "api"] {
        let service = json!({"Name": name, "ID": format!("{name}-1"), "Tags": ["old"]});
        consul.register(service).await;
    }
    let far = json!({
        "Node": "far", "Address": "10.9.9.9", "NodeMeta": {"rack": "r1"},
        "Service": {"ID": "far-1", "Service": "far", "Tags": ["t"]},
    });
    consul.put("/v1/catalog/register", far.to_string()).await;
    consul.kv_put("limits/cart", "40").await;
    consul.kv_put("limits/web", "${x} \"q\"").await;
}

/// First input of each of the tasks.
fn first() -> [(&'static str, Value); 9] {
    let cart = json!({"limits/cart": "40"});
    let limits = json!({"limits/cart": "40", "limits/web": "${x} \"q\""});
    [
        ("matching", json!([["web-a-1", "web-1"], null, null])),
        ("matching-kv", json!([[], null, cart])),
        (
            "catalog",
            json!([[], {"web": [], "web-a": ["old"]}, limits]),
        ),
        ("catalog-nodes", json!([["far-1"], {"far": ["t"]}, null])),
        (
            "listed",
            json!([["far-1"], {"web": [], "web-a": ["old"]}, null]),
        ),
        ("key", json!([["web-a-1"], null, cart])),
        ("prefix", json!([[], null, limits])),
        ("often", json!([["web-1", "web-a-1"], null, cart])),
        ("yearly", json!([["web-a-1"], null, null])),
    ]
}

async fn all_have_arrived(scene: &Scene) {
    for (task, mut expected) in first() {
        if let Some(ids) = expected[0].as_array_mut() {
            ids.sort_by_key(Value::to_string);
        }
        scene.wait_for(task, expected).await;
    }
}

#[tokio::test]
async fn each_condition_runs_its_task_and_each_input_only_supplies_values() {
    let scene = Scene::of_site(site(), "").await;
    scene.fill().await;
    scene.configure(&tasks());
    let scene = scene.restart().await;
    changes_arrive(&scene).await;
    scene.instance.stop().await;
}

const TOKEN: &str = "5c1f0e9a-2b7d-4f63-8e04-91d7a6b3c528";

/// The minimal rules of the documentation.
const RULES: &str = r#"
service_prefix "" { policy = "read" }
node_prefix "" { policy = "read" }
key_prefix "" { policy = "deny" }
key_prefix "limits/" { policy = "read" }
agent_prefix "" { policy = "read" }
"#;

#[tokio::test]
async fn each_condition_works_over_tls_with_a_token_that_may_do_no_more() {
    let mut site = site();
    let authority = Authority::new();
    let pair = authority.write_pair(site.path(), "consul", &["127.0.0.1"]);
    site.write("ca.pem", authority.pem());
    let port = free_port();
    let mut agent = access_control();
    agent["ports"] = json!({"https": port});
    agent["cert_file"] = json!(pair.cert);
    agent["key_file"] = json!(pair.key);
    let consul = ConsulAgent::start_with(agent).await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    consul.make_token(TOKEN, RULES).await;
    let ca = site.path().join("ca.pem").display().to_string();
    site.set_environment("CONSUL_CACERT", ca);
    site.set_environment("CONSUL_HTTP_TOKEN", TOKEN);
    fill(&consul).await;
    let address = format!("https://127.0.0.1:{port}");
    site.configure(&address, Backend::Shared, &tasks());
    let instance = Instance::start(&site).await;
    let scene = Scene {
        instance,
        site,
        consul,
    };
    changes_arrive(&scene).await;
    scene.instance.stop().await;
}

/// Starts from the first inputs, and checks the effect of each kind of change.
async fn changes_arrive(scene: &Scene) {
    all_have_arrived(scene).await;
    for (task, _) in TASKS {
        scene.instance.api.wait_for_events(task, 1).await;
    }
    let key = scene.site.recorded("key").unwrap();
    let meta = &key["services"]["web-a-1.cts-test.dc1"]["cts_user_defined_meta"];
    assert_eq!(meta, &json!({"zone": "dmz"}));

    // Tags in the catalog and module inputs wait for another reason.
    scene.service("web-a", &["new"]).await;
    scene.consul.kv_put("limits/web", "2").await;
    let limits = json!({"limits/cart": "40", "limits/web": "2"});
    scene.wait_for("prefix", json!([[], null, limits])).await;
    scene.instance.api.wait_for_events("matching", 2).await;
    for quiet in ["catalog", "listed", "key", "catalog-nodes", "yearly"] {
        assert_eq!(scene.events(quiet).await, 1, "{quiet}");
    }
    // A change of its own key, which brings the tags and keys that changed before.
    scene.consul.kv_delete("limits/cart").await;
    scene.wait_for("key", json!([["web-a-1"], null, {}])).await;
    scene
        .wait_for("often", json!([["web-1", "web-a-1"], null, {}]))
        .await;
    // A name that comes.
    scene.service("web-b", &[]).await;
    let names = json!({"web": [], "web-a": ["new"], "web-b": []});
    scene
        .wait_for("catalog", json!([[], names, {"limits/web": "2"}]))
        .await;
    scene
        .wait_for("listed", json!([["far-1"], names, null]))
        .await;
    let all = json!([["web-1", "web-a-1", "web-b-1"], null, null]);
    scene.wait_for("matching", all).await;
    let kv = json!([["web-1", "web-a-1", "web-b-1"], null, {}]);
    scene.wait_for("often", kv).await;
    // A change that only the condition watches runs its task although the module does not get it, then with the
    // newest key.
    scene.service("web-a", &["newer"]).await;
    scene.wait_for("matching-kv", json!([[], null, {}])).await;
    assert_eq!(scene.events("yearly").await, 1);
    let shown = scene.ask("GET", "/v1/tasks/yearly").await.expect(200);
    assert_eq!(
        shown["task"]["module_input"],
        json!({"services": {"names": ["web-a"]}})
    );
    let explained = scene.ask("GET", "/v1/tasks/yearly/explain").await;
    let explained = explained.expect(200);
    let next = explained["explanation"]["next_tick"].as_str().unwrap();
    assert!(next.contains("-01-01T00:00:00"), "{next}");
}

#[tokio::test]
async fn conditions_are_made_and_changed_over_the_api() {
    let scene = Scene::of_site(site(), "").await;
    scene.fill().await;
    let task = |name: &str, condition: Value, inputs: Value| {
        json!({
            "name": name, "module": "./modules/watcher", "condition": condition,
            "module_input": inputs,
        })
    };
    let cart = json!({"consul_kv": {"path": "limits/cart"}});
    let created = [
        task(
            "matching",
            json!({"services": {"regexp": "^web"}}),
            json!({}),
        ),
        task(
            "catalog",
            json!({"catalog_services": {"regexp": "^web"}}),
            json!({"consul_kv": {"path": "limits/", "recurse": true}}),
        ),
        task(
            "key",
            cart.clone(),
            json!({"services": {"names": ["web-a"]}}),
        ),
        task(
            "often",
            json!({"schedule": {"cron": "*/2 * * * * * *"}}),
            json!({"services": {"regexp": "^web"}, "consul_kv": {"path": "limits/cart"}}),
        ),
    ];
    for task in created {
        scene.create(&task, "?run=now").await.expect(201);
    }
    for (task, mut expected) in first() {
        if ["matching", "catalog", "key", "often"].contains(&task) {
            if let Some(ids) = expected[0].as_array_mut() {
                ids.sort_by_key(Value::to_string);
            }
            scene.wait_for(task, expected).await;
        }
    }
    scene.consul.kv_put("limits/cart", "41").await;
    let cart = json!({"limits/cart": "41"});
    scene
        .wait_for("key", json!([["web-a-1"], null, cart]))
        .await;
    scene
        .wait_for("often", json!([["web-1", "web-a-1"], null, cart]))
        .await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn one_pass_applies_each_of_them() {
    let scene = Scene::of_site(site(), "").await;
    scene.fill().await;
    scene.configure(&tasks());
    let Scene {
        instance,
        site,
        consul: _consul,
    } = scene;
    instance.stop().await;
    for pass in ["-inspect", "-once"] {
        let arguments = [pass];
        let Exit { code, output, .. } = site.run_cts(free_port(), &arguments).wait().await;
        assert_eq!(code, Some(0), "{output}");
        for (task, _) in first() {
            assert_eq!(site.recorded(task).is_ok(), pass == "-once", "{task}");
        }
    }
}
