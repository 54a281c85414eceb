//! Every generated file for tasks of every kind: as it was before, formatted as Terraform formats, and valid.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use cts_core::{
    CatalogService, CatalogServicesCondition, Condition, ConsulKvCondition, Digest, KeyValue,
    KvQuery, ModuleInput, ModuleInterface, PlanMode, ProviderBlock, ProviderId, RunInput,
    ScheduleCondition, ServicesQuery, TaskDefinition, TaskName,
};
use cts_terraform::{render_root_module, render_tfvars};
use serde_json::json;

use crate::fixture::{Sandbox, instance, is_formatted, object};

/// A module that takes every value that a task can give.
const TAKES_ALL: &str = r#"
variable "services" {
  type = map(object({ name = string, tags = list(string) }))
}

variable "catalog_services" {
  type    = map(list(string))
  default = {}
}

variable "consul_kv" {
  type    = map(string)
  default = {}
}

variable "zones" {
  type    = list(string)
  default = []
}

variable "limit" {
  type    = number
  default = 0
}
"#;

fn key(recurse: bool) -> KvQuery {
    KvQuery {
        path: "limits/".into(),
        recurse,
        datacenter: String::new(),
        namespace: String::new(),
    }
}

fn services_input() -> ModuleInput {
    ModuleInput::Services(ServicesQuery {
        names: vec!["cart".into()],
        ..ServicesQuery::default()
    })
}

fn catalog(use_as_module_input: bool) -> Condition {
    Condition::CatalogServices(CatalogServicesCondition {
        regexp: "^web\\d".into(),
        datacenter: "dc1".into(),
        namespace: String::new(),
        node_meta: BTreeMap::from([("rack".into(), "r1".into())]),
        use_as_module_input,
    })
}

fn kv(use_as_module_input: bool) -> Condition {
    Condition::ConsulKv(ConsulKvCondition {
        query: key(true),
        use_as_module_input,
    })
}

/// The tasks, each with a descriptive name.
fn tasks(plain: &TaskDefinition) -> Vec<TaskDefinition> {
    let task = |name: &str, condition: Condition, module_inputs: Vec<ModuleInput>| TaskDefinition {
        name: TaskName::new(name).unwrap(),
        condition,
        module_inputs,
        working_dir: name.into(),
        ..plain.clone()
    };
    let schedule = Condition::Schedule(ScheduleCondition {
        cron: "@daily".into(),
    });
    let services = plain.condition.clone();
    let kv_input = || ModuleInput::ConsulKv(key(false));
    let mut with_everything = task("everything", services.clone(), vec![kv_input()]);
    with_everything.description = "two\nlines, \"quoted\" ${x}".into();
    with_everything.providers = vec![ProviderId::from("terraform")];
    with_everything.variables = object(json!({"zones": ["a", "b\n${c}"], "limit": 40.5}))
        .into_iter()
        .collect();
    let mut hidden = task("services-hidden", services.clone(), vec![kv_input()]);
    if let Condition::Services(condition) = &mut hidden.condition {
        condition.use_as_module_input = false;
    }
    let mut saved_plan = with_everything.clone();
    saved_plan.name = TaskName::new("saved-plan").unwrap();
    saved_plan.working_dir = "saved-plan".into();
    saved_plan.file_definition.plan = PlanMode::Saved;
    vec![
        task("services-alone", services, Vec::new()),
        hidden,
        task("catalog-alone", catalog(true), Vec::new()),
        task("catalog-hidden", catalog(false), vec![services_input()]),
        task(
            "catalog-and-both",
            catalog(true),
            vec![services_input(), kv_input()],
        ),
        task("kv-alone", kv(true), Vec::new()),
        task("kv-and-services", kv(true), vec![services_input()]),
        task("kv-hidden", kv(false), Vec::new()),
        task(
            "schedule-and-both",
            schedule,
            vec![services_input(), kv_input()],
        ),
        task("no-condition", Condition::NoCondition, Vec::new()),
        saved_plan,
        with_everything,
    ]
}

/// Data of Consul, hostile texts among it.
fn input(definition: TaskDefinition) -> RunInput {
    let pair = |key: &str, value: &str| KeyValue {
        key: key.into(),
        value: value.into(),
    };
    let service = |name: &str, tags: &[&str]| CatalogService {
        name: name.into(),
        tags: tags.iter().map(|&tag| tag.into()).collect(),
    };
    RunInput {
        services: vec![Arc::new(instance("a.b", "x\"${y}"))],
        catalog_services: vec![
            Arc::new(service("cart", &["blue", "%{v2}"])),
            Arc::new(service("plain", &[])),
        ],
        consul_kv: vec![Arc::new(pair("limits/odd \"${key}", "a\n\\ é"))],
        ..RunInput::without_data(definition, Digest::of(b""))
    }
}

#[tokio::test]
async fn every_file_is_as_it_was_and_formatted_and_valid() {
    let mut sandbox = Sandbox::new(TAKES_ALL).await;
    sandbox.settings.required_providers = object(json!({
        "terraform": { "source": "terraform.io/builtin/terraform" }
    }));
    sandbox.settings.providers = vec![ProviderBlock {
        name: "terraform".into(),
        alias: Some("north".into()),
        arguments: object(json!({"alias": "north"})),
        blocks: std::collections::BTreeSet::new(),
        task_env: BTreeMap::from([("LB_LOG".into(), "warn".into())]),
    }];
    for definition in tasks(&sandbox.definition) {
        let name = definition.name.to_string();
        sandbox.definition = definition.clone();
        let module = ModuleInterface::default();
        let root = render_root_module(&definition, &sandbox.settings, &module).unwrap();
        let directory = sandbox.directory();
        directory.write_root(&root).unwrap();
        directory
            .write_tfvars(&render_tfvars(&input(definition), &module))
            .unwrap();

        let mut written: Vec<_> = fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        written.sort_unstable();
        let mut golden = String::new();
        for file in written {
            let text = fs::read_to_string(&file).unwrap();
            let text = text.replace(sandbox.path().to_str().unwrap(), "/srv");
            // The part after the header, which is equal everywhere.
            let (_, text) = text.split_once("# Task: ").unwrap();
            let file = file.file_name().unwrap().to_str().unwrap();
            writeln!(golden, "==== {file}\n# Task: {text}").unwrap();
        }
        insta::assert_snapshot!(name.as_str(), golden);

        is_formatted(&sandbox).await;
        let (attempt, _lines) = sandbox.attempt();
        sandbox.terraform.prepare(&attempt, &root).await.unwrap();
        let plan = sandbox.terraform.plan(&attempt).await;
        assert!(plan.is_ok(), "{name}: {plan:?}");
    }
}
