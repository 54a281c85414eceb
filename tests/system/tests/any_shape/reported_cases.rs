//! Cases that people have reported about Consul-Terraform-Sync and programs like it, which work here: one pass over
//! tasks with the real Consul and Terraform.

use std::fmt::Write as _;

use cts_testkit::{ConsulAgent, free_port};
use cts_tests::{
    Backend, Exit, Instance, RECORDER, Site, assert_successful, recorded_services, task,
};
use serde_json::{Value, json};

/// Keeps the keys that it gets in its state.
const KEYS: &str = "variable \"services\" {\n  type = any\n}\n\nvariable \"consul_kv\" {\n  type = map(string)\n}\n\nresource \"terraform_data\" \"recorded\" {\n  input = var.consul_kv\n}\n";

/// Keeps the names of the catalog in its state.
const NAMES: &str = "variable \"services\" {\n  type = any\n}\n\nvariable \"catalog_services\" {\n  type = map(list(string))\n}\n\nresource \"terraform_data\" \"recorded\" {\n  input = keys(var.catalog_services)\n}\n";

/// Makes one pass that succeeds.
async fn pass(site: &Site) -> Exit {
    let exit = site.run_cts(free_port(), &["-once"]).wait().await;
    exit.assert_code(0);
    exit
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
        "dollar/${x}",
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
async fn values_with_odd_characters_arrive_unchanged() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write("modules/keys/main.tf", KEYS);
    let values = [
        ("lb/bom", "\u{feff}a"),
        ("lb/crlf", "a\r\nb\r\n"),
        ("lb/nul", "a\0b"),
    ];
    for (key, value) in values {
        consul.kv_put(key, value).await;
    }
    let odd = "task {\n  name = \"odd\"\n  module = \"./modules/keys\"\n  condition \"consul-kv\" {\n    path = \"lb\"\n    recurse = true\n  }\n}\n";
    site.configure(&consul.address(), Backend::Shared, odd);
    pass(&site).await;
    let expected: serde_json::Map<_, _> = values
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.into()))
        .collect();
    assert_eq!(recorded(&site, "odd"), Value::Object(expected));
}

#[tokio::test]
async fn instances_of_names_that_differ_by_case_arrive_once() {
    let consul = ConsulAgent::start().await;
    for (name, id) in [
        ("redis", "redis-1"),
        ("Redis", "Redis-2"),
        ("my_app", "my_app-1"),
        ("WEB_Front", "WEB_Front-1"),
    ] {
        consul.register_service(name, id, 1, &[], &[]).await;
    }
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    site.write("modules/names/main.tf", NAMES);
    let names = "task {\n  name = \"names\"\n  module = \"./modules/names\"\n  condition \"catalog-services\" { regexp = \"(?i)redis|_\" }\n}\n";
    let regexp = |name: &str, regexp: &str| {
        format!(
            "task {{\n  name = \"{name}\"\n  module = \"./modules/pool\"\n  condition \"services\" {{ regexp = \"{regexp}\" }}\n}}\n"
        )
    };
    let tasks = [
        task("both", "./modules/pool", &["redis", "Redis"], ""),
        task("one", "./modules/pool", &["redis"], ""),
        task("underscore", "./modules/pool", &["my_app", "web_front"], ""),
        names.to_owned(),
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
        pairs(&[("WEB_Front", "WEB_Front-1"), ("my_app", "my_app-1")])
    );
    assert_eq!(
        recorded(&site, "names"),
        json!(["Redis", "WEB_Front", "my_app", "redis"])
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
    let enabled = [("edge_enabled", "true")];
    consul
        .register_service("api", "api-1", 2, &enabled, &[])
        .await;
    site.write("modules/pool/main.tf", RECORDER);
    let mut tasks = task("pool", "./modules/pool", &["web"], "");
    for (name, filter) in [
        ("has-key", r#"Service.Meta contains \"edge_enabled\""#),
        ("has-value", r#"Service.Meta.edge_enabled == \"true\""#),
    ] {
        write!(
            tasks,
            "task {{\n  name = \"{name}\"\n  module = \"./modules/pool\"\n  condition \"services\" {{\n    regexp = \".*\"\n    filter = \"{filter}\"\n  }}\n}}\n"
        )
        .unwrap();
    }
    site.configure_driver(&socket, "backend \"consul\" { gzip = false }", &tasks);
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
    for name in ["has-key", "has-value"] {
        let key = format!("consul-terraform-sync/terraform-env:{name}");
        let state = consul.kv_get(&key).await.unwrap();
        let found = cts_tests::ids_of(&recorded_services(&state).unwrap());
        assert_eq!(found, ["api-1"], "{name}");
    }
}

#[tokio::test]
async fn a_backend_with_the_wrong_scheme_names_the_reason_and_works_after_its_mend() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    let pool = task("pool", "./modules/pool", &["web"], "");
    let wrong = "backend \"consul\" {\n scheme = \"https\"\n}";
    site.configure_driver(&consul.address(), wrong, &pool);
    let cts = Instance::start(&site).await;
    let reason = "server gave HTTP response to HTTPS client";
    cts.until_logged(reason).await;
    let events = cts.api.wait_for_events("pool", 1).await;
    let message = events[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains(reason), "{message}");
    cts.stop().await;
    site.configure_driver(&consul.address(), "", &pool);
    let cts = Instance::start(&site).await;
    let events = cts.api.wait_for_events("pool", 2).await;
    assert_successful(&events[..1]);
    cts.stop().await;
    let keys = consul.get("/v1/kv/consul-terraform-sync?keys").await;
    let state = "consul-terraform-sync/terraform-env:pool";
    assert_eq!(keys, json!([state]), "no lock may be left");
}

/// Root modules that are used as modules, and values whose types differ by element.
#[tokio::test]
async fn further_files_of_a_module_and_uneven_maps_are_understood() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let site = Site::new();
    let groups = "variable \"groups\" { type = map(list(string)) }\nvariable \"unused\" {\n  type    = bool\n  default = null\n}\nvariable \"nets\" {\n  type    = list(string)\n  default = [\"10.0.0.0/8\"]\n}\n";
    let module = format!(
        "terraform {{\n  backend \"s3\" {{}}\n}}\nvariable \"services\" {{ type = any }}\n{groups}\nresource \"terraform_data\" \"recorded\" {{\n  input = \"replaced\"\n}}\nmoved {{\n  from = terraform_data.before\n  to   = terraform_data.recorded\n}}\n"
    );
    site.write("modules/root/main.tf", &module);
    site.write(
        "modules/root/override.tf",
        "resource \"terraform_data\" \"recorded\" {\n  input = { groups = var.groups, unused = var.unused, nets = var.nets }\n}\n",
    );
    site.write("modules/root/terraform.tfvars", "unused = true\n");
    site.write(
        "modules/root/check.tftest.hcl",
        "run \"none\" {\n  command = plan\n}\n",
    );
    site.write(
        "groups.tfvars",
        "groups = { \"fin\" : [\"web\"], \"win\" : [\"api\", \"web\"], \"cts none\" = [\"nix\"]\n  \"empty\" = [] }\nunused = null\nnets = null\n",
    );
    let more = "variable_files = [\"groups.tfvars\"]";
    let root = task("root", "./modules/root", &["web"], more);
    let own_provider = format!(
        "terraform {{\n  cloud {{ organization = \"acme\" }}\n  required_providers {{\n    terraform = {{ source = \"terraform.io/builtin/terraform\" }}\n  }}\n}}\nprovider \"terraform\" {{}}\nvariable \"once\" {{\n  type      = string\n  default   = null\n  ephemeral = true\n}}\nremoved {{\n  from = terraform_data.gone\n  lifecycle {{ destroy = false }}\n}}\n{RECORDER}"
    );
    site.write("modules/provider/main.tf", &own_provider);
    let provider = task("provider", "./modules/provider", &["web"], "");
    site.configure(
        &consul.address(),
        Backend::Shared,
        &format!("{root}{provider}"),
    );
    let exit = pass(&site).await;
    for warning in [
        "Backend configuration ignored",
        "Redundant empty provider block",
    ] {
        let lines = exit.output.lines();
        let warned = lines.filter(|line| line.contains("[WARN]") && line.contains(warning));
        assert_eq!(warned.count(), 1, "{warning}:\n{}", exit.output);
    }
    assert_eq!(instances(&site, "provider"), pairs(&[("web", "web-1")]));
    let groups = json!({"fin": ["web"], "win": ["api", "web"], "cts none": ["nix"], "empty": []});
    assert_eq!(
        recorded(&site, "root"),
        json!({"groups": groups, "unused": null, "nets": null})
    );
}

/// Terraform refuses both with words of its own.
#[tokio::test]
async fn the_words_of_terraform_about_a_module_are_in_the_event() {
    const CASES: [(&str, &str, &str); 2] = [
        (
            "importing",
            "import {\n  to = terraform_data.recorded\n  id = \"known\"\n}\n",
            "Import blocks are only allowed in the root module",
        ),
        (
            "newer",
            "terraform {\n  required_version = \"99.0.0-beta1\"\n}\n",
            "Prerelease version constraints are not supported",
        ),
    ];
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let site = Site::new();
    let mut tasks = String::new();
    for (name, block, _) in CASES {
        site.write(
            &format!("modules/{name}/main.tf"),
            &format!("{block}{RECORDER}"),
        );
        tasks += &task(name, &format!("./modules/{name}"), &["web"], "");
    }
    site.configure(&consul.address(), Backend::Local, &tasks);
    let cts = Instance::start(&site).await;
    for (name, _, words) in CASES {
        let events = cts.api.wait_for_events(name, 1).await;
        let message = events[0]["error"]["message"].as_str().unwrap();
        // Terraform breaks its texts into lines.
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(message.contains(words), "{message}");
    }
    cts.stop().await;
}
