//! `module_input`, and which inputs and conditions may be combined (`docs/configuration.md#module_input`).

use std::collections::BTreeMap;

use cts_core::{KvQuery, ModuleInput, ServicesQuery};

use super::conditions::{assert_warning, loaded, with};
use super::{Sandbox, assert_each, assert_problem, only};

#[test]
fn module_inputs_are_read_completely() {
    let (task, warnings) = loaded(&with(
        "condition \"schedule\" { cron = \"@daily\" }
         source_input \"consul-kv\" { path = \"p\" recurse = true datacenter = \"dc\" namespace = \"ns\" }
         module_input \"services\" { names = [\"a\", \"b\"] datacenter = \"dc\" namespace = \"ns\"
           filter = \"f\" cts_user_defined_meta { k = \"v\" } }",
    ));
    // Blocks of the old name come after the others.
    let expected = [
        ModuleInput::Services(ServicesQuery {
            names: vec!["a".into(), "b".into()],
            regexp: None,
            datacenter: "dc".into(),
            namespace: "ns".into(),
            filter: "f".into(),
            cts_user_defined_meta: BTreeMap::from([("k".into(), "v".into())]),
            declared: BTreeMap::new(),
        }),
        ModuleInput::ConsulKv(KvQuery {
            path: "p".into(),
            recurse: true,
            datacenter: "dc".into(),
            namespace: "ns".into(),
        }),
    ];
    assert_eq!(task.definition.module_inputs, expected);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("3: `source_input` is deprecated, use `module_input`"));
}

#[test]
fn module_inputs_are_checked() {
    let cases = r#"
        module_input "schedule" { } #~ unsupported module_input type `schedule`
        module_input "catalog-services" { regexp = "a" } #~ unsupported module_input type
        source_input "x" { } #~ unsupported source_input type `x`
        module_input "services" { names = ["a"] use_as_module_input = true } #~ unknown key `use_as_module_input` in `task.module_input "services"`
        module_input "consul-kv" { path = "a" source_includes_var = true } #~ unknown key
        module_input "services" { regexp = "(" } #~ `regexp` is no regular expression
        module_input "services" { names = ["a"] } module_input { } #~ needs a label
        module_input { services { names = ["a"] } consul-kv { path = "a" } } #~ a `module_input` block has one type, and there is `services` already
    "#;
    assert_each(
        cases,
        |input| with(&format!("{input}\ncondition \"no-condition\" {{ }}")),
        assert_problem,
    );
}

#[test]
fn module_inputs_that_can_give_nothing_are_warned_of() {
    let cases = r#"
        module_input "services" { } #~ neither `names` nor `regexp`
        module_input "services" { names = [] } #~ neither `names` nor `regexp`
        module_input "services" { names = ["a"] regexp = "b" } #~ `names` has no effect beside `regexp`
        module_input "services" { names = ["a", ""] } #~ includes an empty string
        module_input "consul-kv" { } #~ has no `path`
        module_input "consul-kv" { path = "" } #~ has no `path`
        module_input { } #~ an empty `module_input` block has no effect
        source_input { } #~ an empty `source_input` block has no effect
        module_input "services" { regexp = "\\\\d" } #~ the doubled backslashes
    "#;
    assert_each(
        cases,
        |input| with(&format!("{input}\ncondition \"no-condition\" {{ }}")),
        assert_warning,
    );
    let all_keys =
        "module_input \"consul-kv\" { path = \"\" recurse = true } condition \"no-condition\" { }";
    assert!(loaded(&with(all_keys)).1.is_empty());
}

#[test]
fn a_variable_of_the_module_is_monitored_once() {
    let services = "condition \"services\" { names = [\"a\"] }";
    let kv = "condition \"consul-kv\" { path = \"a\" }";
    let of_services = "module_input \"services\" { names = [\"b\"] }";
    let of_kv = "module_input \"consul-kv\" { path = \"b\" }";
    let refused = r#"
        condition "services" { names = ["a"] }
        module_input "services" { names = ["b"] } #~ `condition` and `module_input` both monitor "services"

        condition "services" { names = ["a"] }
        services = ["b"] #~ `condition` and `services` both monitor "services"

        module_input "services" { names = ["b"] }
        services = ["b"] #~ `module_input` and `services` both monitor "services"

        module_input "services" { names = ["b"] }
        module_input "services" { names = ["b"] } #~ more than one `module_input` for the variable `services`

        module_input "consul-kv" { path = "b" }
        source_input "consul-kv" { path = "c" } #~ more than one `module_input`

        condition "consul-kv" { path = "a" }
        module_input "consul-kv" { path = "b" } #~ `condition` and `module_input` both monitor "consul_kv"

        condition "services" { names = ["a"] use_as_module_input = false }
        module_input "services" { names = ["b"] } #~ both monitor "services"
    "#;
    assert_each(refused, with, assert_problem);
    let catalog = "condition \"catalog-services\" { regexp = \"\" }";
    let schedule = "condition \"schedule\" { cron = \"@daily\" }";
    for accepted in [
        format!("{catalog}\n{of_services}\n{of_kv}"),
        format!("{kv}\n{of_services}"),
        format!("{kv}\nservices = [\"a\"]"),
        format!("{services}\n{of_kv}"),
        format!("{schedule}\n{of_services}\n{of_kv}"),
        format!("{schedule}\n{of_kv}\nservices = [\"a\"]"),
        schedule.to_owned(),
        format!("{services}\nservices = []"),
    ] {
        loaded(&with(&accepted));
    }
}

#[test]
fn refuses_ambiguous_conditions_and_module_inputs_in_json() {
    let sandbox = Sandbox::new();
    let json = |members: &str| {
        let text = format!("{{\"task\": [{{\"name\": \"t\", \"module\": \"./m\",\n{members}}}]}}");
        sandbox.write("a.json", text);
        sandbox.load(&["a.json"])
    };
    for valid in [
        r#""condition": {"services": {"names": ["a"]}}"#,
        r#""condition": {"services": [{"names": ["a"]}]}"#,
        r#""condition": {"services": {"names": ["a"]}, "schedule": null}"#,
        r#""condition": {"no-condition": {}}, "module_input": [{"services": {"names": ["a"]}}, {"consul-kv": {"path": "p"}}]"#,
        r#""condition": {"no-condition": {}}, "module_input": {"consul-kv": {"path": "p"}}, "source": null"#,
        r#""condition": {"no-condition": {}}, "module_input": {"services": {"names": ["a"]}, "consul-kv": {"path": "p"}}"#,
    ] {
        json(valid).unwrap_or_else(|error| panic!("{valid}\n{error:?}"));
    }
    for (invalid, message) in [
        (
            r#""condition": {"services": {"names": ["a"]}, "schedule": {"cron": "@daily"}}"#,
            "only one condition",
        ),
        (
            r#""condition": [{"services": {"names": ["a"]}}]"#,
            "must be a single object, not a list",
        ),
        (r#""condition": {"services": null}"#, "needs a label"),
        (
            r#""condition": {"no-condition": {}}, "module_input": {"services": {"names": ["a"]}, "keys": {"path": "p"}}"#,
            "unsupported module_input type `keys`",
        ),
    ] {
        let Err(crate::ConfigError::Problems(report)) = json(invalid) else {
            panic!("{invalid} is accepted");
        };
        let problem = only(&report);
        assert_eq!(problem.line(), Some(2));
        assert!(problem.message().contains(message), "{problem}");
    }
}
