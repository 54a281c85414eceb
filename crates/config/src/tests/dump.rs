//! The effective configuration as text.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::Sandbox;
use crate::{Config, SchedulerConfig, dump, dump_json};

const LARGE: &str = r#"
log_level = "err"
port = 9558
buffer_period { min = "1500ms" max = "1m" }
syslog { facility = "local3" }
consul {
  address = "https://consul.lab.example:8501"
  token   = "t"
  auth { username = "svc" password = "pw" }
  tls { ca_cert = "/etc/ca.pem" }
  transport { max_idle_conns_per_host = 250 }
  service_registration { default_check { address = "http://10.1.1.7:9558" } }
}
vault { address = "https://vault:8200" namespace = "net" token = "x" }
driver "terraform" {
  engine = "opentofu"
  version = "1.9.8"
  path = "bin"
  releases_url = "https://mirror.example/engines"
  release_keys = ["keys/one.asc", "/keys/two.asc"]
  backend "consul" { gzip = false nested { a = 1 } nested { a = 2 } "odd key" = "${x}" }
  previous_backend "s3" { bucket = "old" }
  required_providers { fw = { source = "acme/fw" version = ">= 2.1.0" } dns = "3.4.0" }
}
terraform_provider "fw" {
  alias = "north"
  host  = "h"
  block { a = 1 }
  task_env { "FW_AUDIT" = "{{ key \"cts/fw/audit\" }}" }
}
terraform_provider "dns" { }
services { schedulers = ["10.0.0.1:8560"] listen { scheduler = "10.0.0.1:8560" gateway = "[::1]:8563" } limits { connections = 6 connections_per_client = 5 } tls { ca_cert = "a" cert = "b" key = "c" } }
scheduler { lease_ttl = "10s" runs_kept = 7 runs_kept_for = "5m" logs_kept = "1500MiB" plans_kept = "150MiB" }
worker { slots = 3 working_dir = "w" }
gateway {
  mode = "strict-follower"
  trusted_proxies = ["10.0.0.1", "10.1.0.0/16"]
  forwarded_header = "Forwarded"
  limits { connections = 9 streams_per_client = 8 request_time = "3s" answer_rate = "2KiB" answer_size = "1GiB" names = 7 }
}
page { enabled = false listen = "[::1]:8559" path_prefix = "/cts/" url = "https://cts.example" name = "edge" color = "green" session = "90m" login { issuer = "https://i" client_id = "c" client_secret_file = "s" scopes = ["openid", "groups"] } }
security { require_auth = true oidc { issuer = "https://i" audience = "c" roles = { o = "read" } } }
database { url = "postgres://cts@db/cts" }
fleet_max_shrink { share = "35%" within = "90s" at_least = 7 }
approval = "destroy"
approval_expires = "90m"
high_availability {
  cluster { name = "edge" storage "consul" { namespace = "ops" } }
  instance { address = "a:1" }
}
task {
  name        = "first"
  description = "with \"quotes\", a \\ and ${interpolation}"
  module      = "./m"
  providers   = ["fw.north", "dns"]
  condition "services" {
    names  = ["web", "api"]
    filter = "\"public\" in Service.Tags"
    cts_user_defined_meta { zone = "dmz" }
  }
  variables {
    a = "\"text\""
    b = "[1, { x = true, y = null }]"
    c = "\"$${literal} %%{x}\""
  }
  working_dir = "x/first"
  skip_unchanged = false
  apply_timeout = "90m"
  max_shrink = "50%"
  approval = "never"
  approval_ignore = ["module.first.fw_rule.r[\"k\"].tags", "module.first.fw_rule.r.time"]
}
task {
  name    = "second"
  module  = "./m"
  enabled = false
  buffer_period { enabled = false }
  condition "services" { names = ["db"] }
}
"#;

/// Tasks of every kind.
const TASKS: &str = r#"
service { name = "api" id = "api-west" datacenter = "west" filter = "x" cts_user_defined_meta { a = "b" } }
service { name = "db" namespace = "ns" }
task { name = "none" module = "./m" }
task { name = "no" module = "./m" condition "no-condition" { } }
task {
  name = "regexp"
  module = "./m"
  condition "services" { regexp = "^web\\d+$" datacenter = "dc" namespace = "ns" use_as_module_input = false }
  module_input "consul-kv" { path = "a/b" recurse = true }
}
task {
  name = "catalog"
  module = "./m"
  condition "catalog-services" { regexp = "" node_meta { rack = "r7" } }
  module_input "services" { regexp = "" }
}
task {
  name = "kv"
  module = "./m"
  condition "consul-kv" { path = "x" datacenter = "dc" use_as_module_input = false }
  module_input "services" { names = ["a"] filter = "f" cts_user_defined_meta { "a b" = "c" } }
}
task {
  name = "nightly"
  module = "./m"
  condition "schedule" { cron = "30 2 * * Mon-Fri" }
}
task { name = "listed" module = "./m" services = ["api-west", "web", "db"] }
task {
  name = "listed_input"
  module = "./m"
  services = ["api-west", "web"]
  condition "schedule" { cron = "@daily" }
}
"#;

#[test]
fn tasks_of_every_kind_are_dumped() {
    let sandbox = Sandbox::new();
    let config = sandbox.config(TASKS);
    let second = again(&sandbox, &config);
    assert_eq!(dump(&config), dump(&second));
    assert_same(&config, &second);
    sandbox.write("b.json", dump_json(&config).to_string());
    let third = sandbox.load(&["b.json"]).unwrap().config;
    assert_same(&config, &third);
    let services = dump_json(&config)["service"].clone();
    assert_eq!(
        services,
        json!([
            {
                "id": "api-west", "name": "api", "datacenter": "west", "namespace": "", "filter": "x",
                "cts_user_defined_meta": { "a": "b" }
            },
            {
                "id": "db", "name": "db", "datacenter": "", "namespace": "ns", "filter": "",
                "cts_user_defined_meta": {}
            },
        ])
    );
}

#[test]
fn several_entries_for_one_service_are_dumped_as_what_counts() {
    let text = "service { name = \"api\" id = \"west\" datacenter = \"w\" }\n\
                service { name = \"api\" id = \"east\" datacenter = \"e\" }\n\
                task { name = \"t\" module = \"./m\" services = [\"west\", \"east\", \"web\"] }";
    let sandbox = Sandbox::new();
    let config = sandbox.config(text);
    let second = again(&sandbox, &config);
    assert_eq!(
        config.tasks[0].definition.condition,
        second.tasks[0].definition.condition
    );
    assert_eq!(second.tasks[0].definition.services, ["t/api", "web"]);
}

#[test]
fn tls_of_the_api_is_dumped() {
    let sandbox = Sandbox::new();
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    sandbox.write("cert.pem", certified.cert.pem());
    sandbox.write("key.pem", certified.signing_key.serialize_pem());
    let config = sandbox.config(
        "tls { cert = \"cert.pem\" key = \"key.pem\" verify_incoming = true ca_path = \"cas\" }",
    );
    assert!(config.tls.is_some());
    assert_same(&config, &again(&sandbox, &config));
}

#[test]
fn settings_for_the_other_driver_are_dumped() {
    let sandbox = Sandbox::new();
    for workspace in [
        "execution_mode = \"remote\" auto_upgrade_tf_version = false",
        "execution_mode = \"agent\" agent_pool_id = \"i\"",
        "execution_mode = \"agent\" agent_pool_name = \"n\" terraform_version = \"1.9.8\"",
    ] {
        let config = sandbox.config(&format!(
            "driver \"terraform-cloud\" {{ organization = \"o\" token = \"t\" }}\n\
             task {{ name = \"t\" module = \"./m\" terraform_cloud_workspace {{ {workspace} }} }}"
        ));
        assert!(
            config.tasks[0].definition.workspace.is_some(),
            "{workspace}"
        );
        assert_same(&config, &again(&sandbox, &config));
    }
}

/// The configuration that the dump of `config` gives.
fn again(sandbox: &Sandbox, config: &Config) -> Config {
    sandbox.config(&dump(config))
}

#[test]
fn a_dump_in_either_language_is_a_configuration_that_says_the_same() {
    let sandbox = Sandbox::new();
    for text in [LARGE, super::blocks::security::WHOLE, "port = 1"] {
        let config = sandbox.config(text);
        let second = again(&sandbox, &config);
        assert_eq!(dump_json(&config), dump_json(&second), "{text}");
        assert_eq!(dump(&config), dump(&second), "{text}");
        assert_same(&config, &second);
        sandbox.write("b.json", dump_json(&config).to_string());
        let third = sandbox.load(&["b.json"]).unwrap().config;
        assert_eq!(dump_json(&config), dump_json(&third), "{text}");
        assert_same(&config, &third);
    }
}

#[test]
fn json_dump_keeps_values_that_hcl_cannot_express() {
    let sandbox = Sandbox::new();
    let backend = json!({ "s3": { "list": ["one"], "nothing": null, "empty": {} } });
    let written = json!({ "driver": { "terraform": { "backend": backend } } });
    sandbox.write("a.json", written.to_string());
    let config = sandbox.load(&["a.json"]).unwrap().config;
    let dumped = dump_json(&config);
    assert_eq!(dumped["driver"]["terraform"]["backend"], backend);
    sandbox.write("b.json", dumped.to_string());
    let second = sandbox.load(&["b.json"]).unwrap().config;
    assert_eq!(config.driver.backend, second.driver.backend);
    let arguments = again(&sandbox, &config).driver.backend.arguments;
    assert_eq!(
        Value::Object(arguments),
        json!({ "list": "one", "empty": {} })
    );
}

/// Compares the configurations themselves, because both dumps may lack the same key.
#[track_caller]
fn assert_same(one: &Config, other: &Config) {
    assert_eq!(format!("{:?}", one.consul), format!("{:?}", other.consul));
    assert_eq!(format!("{:?}", one.vault), format!("{:?}", other.vault));
    // Values that were defaults are written now.
    let driver = |config: &Config| {
        let mut driver = config.driver.clone();
        driver.backend_defaults.clear();
        format!("{driver:?}")
    };
    assert_eq!(driver(one), driver(other));
    assert_eq!(one.driver.backend, other.driver.backend);
    assert_eq!(one.driver.previous_backend, other.driver.previous_backend);
    assert_eq!(one.syslog, other.syslog);
    assert_eq!(one.tls, other.tls);
    assert_eq!(one.buffer_period, other.buffer_period);
    assert_eq!(one.services, other.services);
    assert_eq!(one.worker, other.worker);
    assert_eq!(one.security, other.security);
    assert_eq!(one.gateway, other.gateway);
    assert_eq!(one.page, other.page);
    assert_eq!(one.fleet_max_shrink, other.fleet_max_shrink);
    assert_eq!(one.approvals, other.approvals);
    assert_eq!(one.high_availability, other.high_availability);
    assert_eq!(one.on_takeover(), other.on_takeover());
    // The default of `on_takeover` is written too.
    let on_takeover = other.scheduler.on_takeover;
    assert_eq!(
        SchedulerConfig {
            on_takeover,
            ..one.scheduler
        },
        other.scheduler
    );
    assert_eq!(one.tasks.len(), other.tasks.len());
    for (task, second) in one.tasks.iter().zip(&other.tasks) {
        let mut second = second.clone();
        // All of it is written, what was left open too.
        second.buffer_setting = task.buffer_setting;
        assert_eq!(task, &second);
    }
}

#[test]
fn the_environment_is_in_the_dump() {
    let mut with = Sandbox::new();
    for (name, value) in [
        ("CONSUL_HTTP_ADDR", "env:1"),
        ("CONSUL_CACERT", "ca.pem"),
        ("VAULT_ADDR", "http://v"),
        ("CONSUL_NAMESPACE", "ns"),
        ("CONSUL_HTTP_SSL", "1"),
    ] {
        with.set(name, value);
    }
    let config = with.config("port = 1");
    let text = dump(&config);
    assert!(text.contains("# CONSUL_NAMESPACE is ns\n"), "{text}");
    assert!(text.contains("# CONSUL_HTTP_SSL is true\n"), "{text}");
    let mut second = Sandbox::new().config(&text);
    assert_eq!(
        (second.consul.https, second.consul.namespace.take()),
        (false, None)
    );
    assert_eq!(second.consul.address, "env:1");
    assert_eq!(second.consul.tls, config.consul.tls);
    assert_eq!(second.vault.unwrap().address, "http://v");
}

#[test]
fn dump_of_a_minimal_configuration_shows_all_settings() {
    let sandbox = Sandbox::new();
    let text = dump(&sandbox.config("id = \"cts\""));
    let text = text.replace(sandbox.path().to_str().unwrap(), "/cwd");
    insta::assert_snapshot!("almost_nothing", text);
}

#[test]
fn json_has_the_shape_of_a_file() {
    let sandbox = Sandbox::new();
    let dumped = dump_json(&sandbox.config(LARGE));
    assert_eq!(dumped["consul"]["token"], "(hidden)");
    assert_eq!(
        dumped["terraform_provider"],
        json!([
            { "fw": { "alias": "north", "host": "(hidden)", "block": "(hidden)", "task_env": { "FW_AUDIT": "(hidden)" } } },
            { "dns": {} }
        ])
    );
    let variables = &dumped["task"][0]["variables"];
    assert_eq!(variables["b"], "[1,{\"x\":true,\"y\":null}]");
}

#[test]
fn the_other_driver_is_dumped() {
    let sandbox = Sandbox::new();
    let config = sandbox.config(
        "driver \"terraform-cloud\" { organization = \"o\" token = \"t\" workspace_prefix = \"p\" }",
    );
    let second = again(&sandbox, &config);
    assert_eq!(
        format!("{:?}", config.terraform_cloud),
        format!("{:?}", second.terraform_cloud)
    );
    assert_eq!(second.terraform_cloud.unwrap().workspaces.prefix, "p-");
}

/// Free content without what HCL cannot say, and without names that sound like secrets.
fn free_content() -> impl Strategy<Value = Map<String, Value>> {
    let scalar = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite, and not written like an integer", |n| {
                n.is_finite()
            })
            .prop_map(Value::from),
        "[a-z${}%\"\\\\\n ]{0,8}".prop_map(Value::from),
    ];
    let map = |inner: BoxedStrategy<Value>| {
        let entries = prop::collection::btree_map("[a-d${} \"]{1,4}", inner, 0..4);
        entries.prop_map(|entries| entries.into_iter().collect::<Map<String, Value>>())
    };
    let value = scalar.prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Value::from),
            map(inner.boxed()).prop_map(Value::Object),
        ]
    });
    let entries = prop::collection::btree_map("[a-d${} \"]{1,4}", value, 0..4);
    entries.prop_map(|entries| entries.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn free_content_survives_in_both_languages(content in free_content()) {
        let sandbox = Sandbox::new();
        let written = json!({ "driver": { "terraform": { "backend": { "s3": content } } } });
        sandbox.write("a.json", written.to_string());
        let config = sandbox.load(&["a.json"]).unwrap().config;
        prop_assert_eq!(&config.driver.backend.arguments, &content);
        sandbox.write("b.json", dump_json(&config).to_string());
        let by_json = sandbox.load(&["b.json"]).unwrap().config;
        prop_assert_eq!(&by_json.driver.backend.arguments, &content);
        let by_hcl = again(&sandbox, &config);
        prop_assert_eq!(&by_hcl.driver.backend.arguments, &content);
    }
}
