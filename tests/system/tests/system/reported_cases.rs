//! Cases that people have reported about Consul-Terraform-Sync and programs like it, which work here: one pass over
//! tasks with the real Consul and Terraform.

use std::fmt::Write as _;

use cts_testkit::{ConsulAgent, free_port};
use cts_tests::{Backend, RECORDER, Site, recorded_services, task};
use serde_json::{Value, json};

/// Keeps the keys that it gets in its state.
const KEYS: &str = "variable \"services\" {\n  type = any\n}\n\nvariable \"consul_kv\" {\n  type = map(string)\n}\n\nresource \"terraform_data\" \"recorded\" {\n  input = var.consul_kv\n}\n";

/// Makes one pass that succeeds.
async fn pass(site: &Site) {
    let exit = site.run_cts(free_port(), &["-once"]).wait().await;
    exit.assert_code(0);
}

fn recorded(site: &Site, task: &str) -> Value {
    site.recorded(task).unwrap()
}

/// Names and ids of the instances that arrived.
fn instances(site: &Site, task: &str) -> Vec<(String, String)> {
    let services = recorded(site, task);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let services = services.as_object().unwrap().values();
    let mut instances: Vec<_> = services
        .map(|service| (text(&service["name"]), text(&service["id"])))
        .collect();
    instances.sort();
    instances
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, id): &(&str, &str)| ((*name).to_owned(), (*id).to_owned());
    expected.iter().map(owned).collect()
}

/// The key as a path of Consul's API.
fn encoded(key: &str) -> String {
    let mut path = String::new();
    for byte in key.bytes() {
        match byte {
            b'/' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => path.push(char::from(byte)),
            _ => write!(path, "%{byte:02X}").unwrap(),
        }
    }
    path
}

/// The path as a text of HCL.
fn quoted(path: &str) -> String {
    let path = path.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{path}\"")
}

#[tokio::test]
async fn keys_with_any_name_arrive_alone_and_below_a_prefix() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write("modules/keys/main.tf", KEYS);
    let keys = [
        "Foo Bar/Baz Bat",
        "grö/ße",
        "a@b/mail@example.com",
        "star/*/t",
        "pct/%2Fv9%2F",
        "hash/#1?x=y&z",
        "plus/a+b",
        "quote/a\"b",
    ];
    let mut tasks = String::new();
    for (number, key) in keys.iter().enumerate() {
        consul
            .kv_put(&encoded(key), format!("value {number}"))
            .await;
        let parent = key.split('/').next().unwrap();
        for (name, path, recurse) in [("key", *key, false), ("below", parent, true)] {
            let path = quoted(path);
            write!(
                tasks,
                "task {{\n  name = \"{name}-{number}\"\n  module = \"./modules/keys\"\n  condition \"consul-kv\" {{\n    path = {path}\n    recurse = {recurse}\n  }}\n}}\n"
            )
            .unwrap();
        }
    }
    site.configure(&consul.address(), Backend::Shared, &tasks);
    pass(&site).await;
    for (number, key) in keys.iter().enumerate() {
        let expected = json!({ *key: format!("value {number}") });
        for name in ["key", "below"] {
            assert_eq!(
                recorded(&site, &format!("{name}-{number}")),
                expected,
                "{key}"
            );
        }
    }
}

#[tokio::test]
async fn instances_of_names_that_differ_by_case_arrive_once() {
    let consul = ConsulAgent::start().await;
    for (name, id) in [
        ("redis", "redis-1"),
        ("Redis", "Redis-2"),
        ("my_app", "my_app-1"),
    ] {
        consul.register_service(name, id, 1, &[], &[]).await;
    }
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    let regexp = |name: &str, regexp: &str| {
        format!(
            "task {{\n  name = \"{name}\"\n  module = \"./modules/pool\"\n  condition \"services\" {{ regexp = \"{regexp}\" }}\n}}\n"
        )
    };
    let tasks = [
        task("both", "./modules/pool", &["redis", "Redis"], ""),
        task("one", "./modules/pool", &["redis"], ""),
        task("underscore", "./modules/pool", &["my_app"], ""),
        regexp("exact", "^redis$"),
        regexp("any-case", "(?i)^redis$"),
    ];
    site.configure(&consul.address(), Backend::Shared, &tasks.concat());
    pass(&site).await;
    let both = pairs(&[("Redis", "Redis-2"), ("redis", "redis-1")]);
    for task in ["both", "one", "any-case"] {
        assert_eq!(instances(&site, task), both, "{task}");
    }
    assert_eq!(
        instances(&site, "underscore"),
        pairs(&[("my_app", "my_app-1")])
    );
    let exact = instances(&site, "exact");
    assert!(exact.contains(&both[1]), "{exact:?}");
}

#[tokio::test]
async fn filters_reach_consul_unchanged() {
    let consul = ConsulAgent::start().await;
    let meta = [("k-1", "x=y")];
    consul
        .register_service("web", "web-1", 1, &meta, &["env=prod", "a b&c=d"])
        .await;
    consul
        .register_service("web", "web-2", 2, &[], &["env=test"])
        .await;
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    let filters = [
        r#"\"env=prod\" in Service.Tags"#,
        r#"\"a b&c=d\" in Service.Tags"#,
        r#"Service.Meta[\"k-1\"] == \"x=y\""#,
    ];
    let mut tasks = String::new();
    for (number, filter) in filters.iter().enumerate() {
        write!(
            tasks,
            "task {{\n  name = \"t{number}\"\n  module = \"./modules/pool\"\n  condition \"services\" {{\n    names = [\"web\"]\n    filter = \"{filter}\"\n  }}\n}}\n"
        )
        .unwrap();
    }
    site.configure(&consul.address(), Backend::Shared, &tasks);
    pass(&site).await;
    for (number, filter) in filters.iter().enumerate() {
        let found = instances(&site, &format!("t{number}"));
        assert_eq!(found, pairs(&[("web", "web-1")]), "{filter}");
    }
}

#[tokio::test]
async fn a_socket_serves_cts_and_the_backend() {
    let site = Site::new();
    let socket = format!("unix://{}", site.path().join("consul.sock").display());
    let addresses = json!({"addresses": {"http": format!("127.0.0.1 {socket}")}});
    let consul = ConsulAgent::start_with(addresses).await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    site.write("modules/pool/main.tf", RECORDER);
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure_driver(&socket, "backend \"consul\" { gzip = false }", &pool);
    pass(&site).await;
    let key = "consul-terraform-sync/terraform-env:pool";
    let state = consul.kv_get(key).await.unwrap();
    assert!(
        recorded_services(&state)
            .unwrap()
            .to_string()
            .contains("web-1")
    );
    assert_eq!(consul.kv_get(&format!("{key}/.lock")).await, None);
}

/// Root modules that are used as modules, and values whose types differ by element.
#[tokio::test]
async fn further_files_of_a_module_and_uneven_maps_are_understood() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let site = Site::new();
    let groups = "variable \"groups\" { type = map(list(string)) }\nvariable \"unused\" {\n  type    = bool\n  default = null\n}\n";
    let module = format!(
        "terraform {{\n  backend \"s3\" {{}}\n}}\nvariable \"services\" {{ type = any }}\n{groups}\nresource \"terraform_data\" \"recorded\" {{\n  input = \"replaced\"\n}}\nmoved {{\n  from = terraform_data.before\n  to   = terraform_data.recorded\n}}\n"
    );
    site.write("modules/root/main.tf", &module);
    site.write(
        "modules/root/override.tf",
        "resource \"terraform_data\" \"recorded\" {\n  input = { groups = var.groups, unused = var.unused }\n}\n",
    );
    site.write("modules/root/terraform.tfvars", "unused = true\n");
    site.write(
        "modules/root/check.tftest.hcl",
        "run \"none\" {\n  command = plan\n}\n",
    );
    site.write(
        "groups.tfvars",
        "groups = { \"fin\" : [\"web\"], \"win\" : [\"api\", \"web\"], \"cts none\" = [\"nix\"]\n  \"empty\" = [] }\n",
    );
    let more = "variable_files = [\"groups.tfvars\"]";
    let root = task("root", "./modules/root", &["web"], more);
    site.configure(&consul.address(), Backend::Shared, &root);
    pass(&site).await;
    let groups = json!({"fin": ["web"], "win": ["api", "web"], "cts none": ["nix"], "empty": []});
    assert_eq!(
        recorded(&site, "root"),
        json!({"groups": groups, "unused": null})
    );
}
