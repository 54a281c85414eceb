use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use cts_core::{
    Backend, Condition, EngineKind, HealthStatus, Labels, ProviderId, RunInput, ServiceInstance,
    ServicePort, ServicesCondition, ServicesQuery, TaskName,
};
use cts_testkit::{assert_contains, fixtures};
use serde_json::{Map, Value, json};

use super::*;

mod aliases;
mod inputs;

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

fn definition() -> TaskDefinition {
    TaskDefinition {
        description: "keep the edge pool current".into(),
        module: "acme/edge-pool-nia/lbx".into(),
        module_source: "acme/edge-pool-nia/lbx".into(),
        version: "0.3.0".into(),
        providers: vec![ProviderId::from("lbx.north")],
        condition: Condition::Services(ServicesCondition {
            query: ServicesQuery {
                datacenter: "dc1".into(),
                filter: "\"v2\" in Service.Tags".into(),
                ..fixtures::services(&["web", "cart"]).query
            },
            use_as_module_input: true,
        }),
        variables: BTreeMap::from([
            ("pool_size".into(), json!(4)),
            ("zones".into(), json!(["a", "b"])),
        ]),
        working_dir: PathBuf::from("sync-tasks/edge-pool"),
        ..fixtures::definition("edge-pool", &[])
    }
}

fn settings() -> RenderSettings {
    RenderSettings {
        required_version: crate::SUPPORTED_RANGE.into(),
        engine: EngineKind::Terraform,
        terraform_version: semver::Version::new(1, 11, 4),
        required_providers: object(json!({
            "other": "1.0.0",
            "lbx": { "version": "2.4.1", "source": "acme/lbx" },
        })),
        backend: Backend {
            kind: "consul".into(),
            arguments: object(json!({
                "path": "consul-terraform-sync/terraform",
                "address": "10.0.0.5:8500",
                "gzip": true,
            })),
        },
        providers: vec![ProviderBlock {
            name: "lbx".into(),
            alias: Some("north".into()),
            arguments: object(json!({
                "retry": { "pause": "2s", "limit": 3 },
                "host": "lb.example",
                "alias": "north",
                "auto_commit": true,
                "empty": {},
                "labels": { "not an identifier": "x" },
            })),
            blocks: std::collections::BTreeSet::new(),
            task_env: BTreeMap::new(),
        }],
    }
}

fn instance(id: &str) -> ServiceInstance {
    ServiceInstance {
        id: id.into(),
        name: "cart".into(),
        kind: String::new(),
        address: "10.1.2.3".into(),
        port: 9090,
        meta: Labels::default(),
        tags: vec!["blue".into(), "v2".into()],
        namespace: String::new(),
        status: HealthStatus::Passing,
        node: "node-a".into(),
        node_id: "5f0c3b1e-7d41-4a0e-9c55-2b6a1f4d8e90".into(),
        node_address: "10.1.2.1".into(),
        node_datacenter: "dc1".into(),
        node_tagged_addresses: Labels::from_iter([
            ("lan".into(), "10.1.2.1".into()),
            ("wan".into(), "198.51.100.7".into()),
        ]),
        node_meta: Labels::from_iter([("rack".into(), "r12".into())]),
        ports: Vec::new(),
    }
}

fn input(definition: TaskDefinition, services: Vec<ServiceInstance>) -> RunInput {
    RunInput {
        services: services.into_iter().map(Arc::new).collect(),
        ..RunInput::without_data(definition, Digest::of(b""))
    }
}

fn rendered(definition: &TaskDefinition, settings: &RenderSettings) -> RootModule {
    render_root_module(definition, settings, &ModuleInterface::default()).unwrap()
}

fn tfvars(input: &RunInput) -> String {
    render_tfvars(input, &ModuleInterface::default())
}

fn services_of(definition: &mut TaskDefinition) -> &mut ServicesCondition {
    let Condition::Services(services) = &mut definition.condition else {
        panic!("the definition has a condition on services");
    };
    services
}

#[test]
fn a_complete_root_module() {
    let root = rendered(&definition(), &settings());
    for file in &root.files {
        insta::assert_snapshot!(file.name, file.contents);
    }
    assert_eq!(root.files.len(), 6);
}

#[test]
fn values_from_consul() {
    insta::assert_snapshot!(tfvars(&input(
        definition(),
        vec![instance("cart-1"), instance("cart-2")]
    )));
}

#[test]
fn a_task_without_providers_description_and_variables() {
    let mut definition = definition();
    definition.providers.clear();
    definition.description.clear();
    definition.version.clear();
    definition.variables.clear();
    let root = rendered(&definition, &settings());
    insta::assert_snapshot!(root.file("main.tf").unwrap());
    assert_eq!(root.file("variables.module.tf"), None);
    assert_eq!(root.file("variables.auto.tfvars"), None);
}

#[test]
fn a_provider_without_a_block_is_empty() {
    let mut definition = definition();
    definition.providers = vec![ProviderId::from("dns")];
    let root = rendered(&definition, &settings());
    assert_contains(root.file("main.tf").unwrap(), ["provider \"dns\" {\n}\n"]);
    assert_contains(
        root.file("variables.tf").unwrap(),
        ["type        = object({})\n"],
    );
    assert!(
        root.file("providers.auto.tfvars")
            .unwrap()
            .ends_with("\ndns = {}\n")
    );
}

#[test]
fn blocks_stay_blocks_at_any_depth_and_repeat() {
    let mut settings = settings();
    let provider = &mut settings.providers[0];
    provider.arguments = object(json!({
        "features": { "key_vault": { "purge": true }, "tags": { "a": "b" } },
        "host": "lb.example",
        "plain": { "inner": { "a": 1 } },
        "rule": [{ "n": 1 }, { "n": 2 }],
        "values": [{ "n": 1 }, { "n": 2 }],
    }));
    let path = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    provider.blocks = [&["features"][..], &["features", "key_vault"], &["rule"]]
        .map(path)
        .into();
    let root = rendered(&definition(), &settings);
    let main = root.file("main.tf").unwrap();
    let expected = r#"provider "lbx" {
  features {
    key_vault {
      purge = var.lbx.features.key_vault.purge
    }
    tags = var.lbx.features.tags
  }
  host = var.lbx.host
  plain {
    inner = var.lbx.plain.inner
  }
  rule {
    n = var.lbx.rule[0].n
  }
  rule {
    n = var.lbx.rule[1].n
  }
  values = var.lbx.values
}
"#;
    assert!(main.contains(expected), "{main}");
}

#[test]
fn nothing_is_sensitive_before_0_14() {
    let mut settings = settings();
    settings.terraform_version = semver::Version::new(0, 13, 7);
    let root = rendered(&definition(), &settings);
    assert!(!root.file("variables.tf").unwrap().contains("sensitive"));
}

#[test]
fn a_condition_that_is_no_module_input_gives_an_empty_map() {
    let mut definition = definition();
    services_of(&mut definition).use_as_module_input = false;
    let text = tfvars(&input(definition, vec![instance("cart-1")]));
    assert!(text.ends_with("\n\nservices = {\n}\n"), "{text}");
}

#[test]
fn writes_the_last_instance_of_equal_keys() {
    let first = ServiceInstance {
        id: "a.b".into(),
        node: "c".into(),
        ..instance("")
    };
    let last = ServiceInstance {
        id: "a".into(),
        node: "b.c".into(),
        port: 1,
        ..instance("")
    };
    let text = tfvars(&input(definition(), vec![first, last]));
    assert_eq!(text.matches("\"a.b.c.dc1\" = {").count(), 1);
    assert!(text.contains("= 1\n"));
    assert!(!text.contains("9090"));
}

#[test]
fn a_port_is_written_as_it_is() {
    for port in [70_000, -1, i64::MAX, i64::MIN] {
        let odd = ServiceInstance {
            port,
            ..instance("odd")
        };
        let text = tfvars(&input(definition(), vec![odd]));
        assert!(text.contains(&format!("= {port}\n")), "{text}");
    }
}

#[test]
fn user_defined_meta_is_in_every_instance() {
    let mut definition = definition();
    services_of(&mut definition).query.cts_user_defined_meta =
        BTreeMap::from([("zone".into(), "dmz".into())]);
    let text = tfvars(&input(
        definition,
        vec![instance("cart-1"), instance("cart-2")],
    ));
    let block = "    cts_user_defined_meta = {\n      zone = \"dmz\"\n    }\n";
    assert_eq!(text.matches(block).count(), 2);
}

#[test]
fn only_a_module_that_declares_ports_gets_them() {
    let port = |name: &str, port, default| ServicePort {
        name: name.into(),
        port,
        default,
    };
    let named = ServiceInstance {
        ports: vec![port("admin", 9091, false), port("http ${x}", 9090, true)],
        ..instance("cart-1")
    };
    let values = input(definition(), vec![named, instance("cart-2")]);
    let declares = ModuleInterface {
        takes_ports: true,
        ..ModuleInterface::default()
    };
    let text = render_tfvars(&values, &declares);
    let without = tfvars(&input(
        definition(),
        vec![instance("cart-1"), instance("cart-2")],
    ));
    assert_eq!(tfvars(&values), without);
    let is_ports = |line: &&str| line.trim_start().starts_with("ports ");
    let (ports, others): (Vec<&str>, Vec<&str>) = text.lines().partition(is_ports);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let ports: Vec<_> = ports.into_iter().map(words).collect();
    let named = "ports = [{ name = \"admin\", port = 9091, default = false }, { name = \"http $${x}\", port = 9090, default = true }]";
    assert_eq!(ports, [named, "ports = []"]);
    assert_eq!(others, without.lines().collect::<Vec<_>>());
    let root = render_root_module(&definition(), &settings(), &declares).unwrap();
    let variables = root.file("variables.tf").unwrap();
    let line = "      ports     = list(object({ name = string, port = number, default = bool }))\n";
    let plain = rendered(&definition(), &settings());
    assert_eq!(
        variables.replace(line, ""),
        plain.file("variables.tf").unwrap()
    );
    assert_eq!(variables.matches(line).count(), 1);
    assert_eq!(root.file("main.tf"), plain.file("main.tf"));
    assert_ne!(root.init_fingerprint, plain.init_fingerprint);
}

#[test]
fn a_description_cannot_leave_its_comment() {
    let mut definition = definition();
    definition.description = "one\nresource \"x\" \"y\" {}\r\n${two}\u{2028}\0{{ three }}".into();
    let root = rendered(&definition, &settings());
    for file in &root.files {
        let outside = file.contents.lines().find(|line| {
            !line.starts_with('#')
                && ["resource", "two", "three"]
                    .iter()
                    .any(|word| line.contains(word))
        });
        assert_eq!(outside, None, "{}", file.name);
    }
    let main = root.file("main.tf").unwrap();
    assert_contains(
        &main,
        ["# one\n# resource \"x\" \"y\" {}\n#\n# ${two}\\u2028\\u0000{{ three }}\nmodule"],
    );
    assert_contains(
        root.file("terraform.tfvars.tmpl").unwrap(),
        ["{{\"{{\"}} three }}"],
    );
}

#[test]
fn names_that_are_no_identifiers_are_refused() {
    let mut with_variable = definition();
    with_variable.variables.insert("a\" {}\n".into(), json!(1));
    let mut with_provider = definition();
    with_provider.providers = vec![ProviderId::from("a b")];
    let mut bad_backend = settings();
    bad_backend.backend.arguments.insert("a.b".into(), json!(1));
    for (definition, settings, what) in [
        (with_variable, settings(), "variable"),
        (with_provider, settings(), "provider"),
        (definition(), bad_backend, "backend argument"),
    ] {
        let RenderError::NotAnIdentifier { what: refused, .. } =
            render_root_module(&definition, &settings, &ModuleInterface::default()).unwrap_err();
        assert_eq!(refused, what);
    }
}

#[test]
fn name_and_description_do_not_change_what_is_validated() {
    let mut one = definition();
    one.module_digest = Some(Digest::of(b"module"));
    let mut other = one.clone();
    other.name = TaskName::new("other").unwrap();
    other.description = "something else".into();
    let one = rendered(&one, &settings());
    let renamed = rendered(&other, &settings());
    assert!(one.validation_shape.is_some());
    assert_eq!(one.validation_shape, renamed.validation_shape);
    assert_ne!(one.init_fingerprint, renamed.init_fingerprint);

    other.module_digest = Some(Digest::of(b"edited"));
    assert_ne!(
        rendered(&other, &settings()).validation_shape,
        one.validation_shape
    );
    other.module_digest = None;
    assert_eq!(rendered(&other, &settings()).validation_shape, None);
}

#[test]
fn another_engine_of_the_same_version_initialises_anew() {
    let mut definition = definition();
    definition.module_digest = Some(Digest::of(b"module"));
    let of_terraform = rendered(&definition, &settings());
    let mut settings = settings();
    settings.engine = EngineKind::OpenTofu;
    let of_tofu = rendered(&definition, &settings);
    assert_ne!(of_terraform.init_fingerprint, of_tofu.init_fingerprint);
    assert_ne!(of_terraform.validation_shape, of_tofu.validation_shape);
    assert_eq!(of_terraform.file("main.tf"), of_tofu.file("main.tf"));
}

#[test]
fn debug_output_shows_no_value() {
    let mut settings = settings();
    settings.providers[0]
        .arguments
        .insert("password".into(), json!("hunter2"));
    settings
        .backend
        .arguments
        .insert("access_token".into(), json!("hunter2"));
    let root = rendered(&definition(), &settings);
    assert_contains(root.file("providers.auto.tfvars").unwrap(), ["hunter2"]);
    assert!(!format!("{root:?} {settings:?}").contains("hunter2"));
}
