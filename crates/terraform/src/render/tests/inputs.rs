//! Every kind of condition and module input, in every combination that the configuration allows.

use cts_core::{
    CatalogService, CatalogServicesCondition, ConsulKvCondition, KeyValue, KvQuery, ModuleInput,
    ScheduleCondition, ServicesQuery,
};

use super::*;

fn catalog(use_as_module_input: bool) -> Condition {
    Condition::CatalogServices(CatalogServicesCondition {
        regexp: "^web.\\d".into(),
        datacenter: "dc1".into(),
        namespace: String::new(),
        node_meta: BTreeMap::from([("rack".into(), "r1".into())]),
        use_as_module_input,
    })
}

fn key(recurse: bool) -> KvQuery {
    KvQuery {
        path: "limits/".into(),
        recurse,
        datacenter: "dc2".into(),
        namespace: String::new(),
    }
}

fn kv(use_as_module_input: bool) -> Condition {
    Condition::ConsulKv(ConsulKvCondition {
        query: key(false),
        use_as_module_input,
    })
}

fn services_input(regexp: Option<&str>) -> ModuleInput {
    ModuleInput::Services(ServicesQuery {
        names: vec!["cart".into()],
        regexp: regexp.map(str::to_owned),
        cts_user_defined_meta: BTreeMap::from([("zone".into(), "dmz".into())]),
        ..ServicesQuery::default()
    })
}

fn schedule() -> Condition {
    Condition::Schedule(ScheduleCondition {
        cron: "@daily".into(),
    })
}

fn with(condition: Condition, module_inputs: Vec<ModuleInput>) -> TaskDefinition {
    TaskDefinition {
        condition,
        module_inputs,
        ..definition()
    }
}

fn full(definition: TaskDefinition) -> RunInput {
    let service = |name: &str, tags: &[&str]| {
        Arc::new(CatalogService {
            name: name.into(),
            tags: tags.iter().map(|&tag| tag.into()).collect(),
        })
    };
    let pair = |key: &str, value: &str| {
        Arc::new(KeyValue {
            key: key.into(),
            value: value.into(),
        })
    };
    RunInput {
        catalog_services: vec![service("cart", &["blue", "v2"]), service("plain", &[])],
        consul_kv: vec![
            pair("limits/cart", "40"),
            pair("limits/odd \"${key}", "a\n\"${b}\" %{c} \\ é"),
        ],
        ..input(definition, vec![instance("cart-1")])
    }
}

/// The texts that differ between two kinds of inputs.
fn text(definition: TaskDefinition) -> String {
    let root = rendered(&definition, &settings());
    let file = |name: &str| root.file(name).unwrap().to_owned();
    let part = |text: String, from: &str, to: &str| {
        let begin = text.find(from).unwrap();
        let end = begin + text[begin..].find(to).unwrap();
        text[begin..end].to_owned()
    };
    let main = part(file("main.tf"), "module \"", "\n\n");
    let variables = file("variables.tf");
    let variables = variables.split_once("  )\n}\n").unwrap().1;
    let variables = variables
        .split_once("variable \"lbx\"")
        .unwrap()
        .0
        .to_owned();
    let template = file("terraform.tfvars.tmpl");
    let template = template.split_once("\n\n").unwrap().1.to_owned();
    let values = tfvars(&full(definition));
    let values = values.split_once("\n\n").unwrap().1.to_owned();
    format!("{main}\n-- variables.tf{variables}-- template\n{template}-- values\n{values}")
}

#[test]
fn catalog_services_and_keys() {
    let definition = with(catalog(true), vec![ModuleInput::ConsulKv(key(true))]);
    insta::assert_snapshot!(text(definition));
}

#[test]
fn a_key_and_services_by_an_expression() {
    let definition = with(kv(true), vec![services_input(Some("^cart"))]);
    insta::assert_snapshot!(text(definition));
}

#[test]
fn a_schedule_with_both_module_inputs() {
    let inputs = vec![ModuleInput::ConsulKv(key(false)), services_input(None)];
    insta::assert_snapshot!(text(with(schedule(), inputs)));
}

#[test]
fn a_deprecated_list_of_services_stands_first() {
    let mut definition = with(catalog(true), vec![services_input(None)]);
    definition.services = vec!["cart".into()];
    let values = tfvars(&full(definition));
    assert!(values.find("services = {").unwrap() < values.find("catalog_services").unwrap());
}

#[test]
fn conditions_that_are_no_module_input_stay_out_of_terraform_files() {
    for condition in [catalog(false), kv(false)] {
        let definition = with(condition, vec![]);
        let root = rendered(&definition, &settings());
        for name in ["main.tf", "variables.tf"] {
            let text = root.file(name).unwrap();
            assert!(!text.contains("catalog_services") && !text.contains("consul_kv"));
        }
        let values = tfvars(&full(definition));
        assert!(values.ends_with("\n\nservices = {\n}\n"), "{values}");
    }
}

#[test]
fn a_key_that_there_is_not_is_an_empty_map() {
    let definition = with(kv(true), vec![]);
    let values = tfvars(&input(definition, vec![]));
    assert!(
        values.ends_with("\n\nconsul_kv = {\n}\n\nservices = {\n}\n"),
        "{values}"
    );
}

#[test]
fn every_combination_that_the_configuration_allows_can_be_written() {
    let none: Vec<ModuleInput> = Vec::new();
    let kv_input = || ModuleInput::ConsulKv(key(true));
    let cases = [
        (definition().condition, vec![none.clone(), vec![kv_input()]]),
        (
            catalog(true),
            vec![
                none.clone(),
                vec![services_input(None)],
                vec![kv_input(), services_input(Some(""))],
            ],
        ),
        (kv(true), vec![none.clone(), vec![services_input(None)]]),
        (
            schedule(),
            vec![none.clone(), vec![services_input(None), kv_input()]],
        ),
        (Condition::NoCondition, vec![none]),
    ];
    for (condition, inputs) in cases {
        for inputs in inputs {
            let written = text(with(condition.clone(), inputs.clone()));
            let values = written.split_once("-- values\n").unwrap().1;
            let count = |variable: &str| values.matches(&format!("{variable} = {{\n")).count();
            // "services" is also the end of "catalog_services".
            assert_eq!(count("services") - count("catalog_services"), 1, "{values}");
            let kv_inputs = inputs
                .iter()
                .filter(|input| matches!(input, ModuleInput::ConsulKv(_)));
            let is_kv = matches!(condition, Condition::ConsulKv(_));
            assert_eq!(count("consul_kv"), kv_inputs.count() + usize::from(is_kv));
        }
    }
}
