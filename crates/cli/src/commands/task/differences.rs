//! Whether two tasks, as shown by two servers, are the same.

use std::collections::{BTreeMap, BTreeSet};

use cts_api_client::Task;
use cts_core::hidden::{shown_expression, without_secrets};
use serde_json::{Value, json};

/// Members whose own members have any names, and values that count even if they are empty.
const FREE: [&str; 3] = ["variables", "node_meta", "cts_user_defined_meta"];

/// A member in which two tasks differ.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// Name of the member with the names of the members around it, as in `condition.services.names`.
    pub(super) member: String,
    /// Value at the source; null if the member is absent.
    pub(super) source: Value,
    pub(super) here: Value,
}

/// The members that differ, by name, without secrets. Defaults count as absent, because not every server
/// fills in all of them.
pub(super) fn differences(source: &Task, here: &Task, with_enabled: bool) -> Vec<Difference> {
    let (mut source, mut here) = (members(&shown(source)), members(&shown(here)));
    let names: BTreeSet<String> = source.keys().chain(here.keys()).cloned().collect();
    let differences = names.into_iter().filter_map(|member| {
        let source = source.remove(&member).unwrap_or_default();
        let here = here.remove(&member).unwrap_or_default();
        // A replacement without a rule keeps that of the task.
        let is_kept = member == "approval" && source.is_null();
        let counts = (with_enabled || member != "enabled") && !is_kept;
        (counts && source != here).then_some(Difference {
            member,
            source,
            here,
        })
    });
    differences.collect()
}

/// A task without its secrets, as this version shows it.
fn shown(task: &Task) -> Task {
    let variables = task.variables.iter();
    let variables = variables.map(|(name, text)| {
        let text = shown_expression(name, text).into_owned();
        (name.clone(), text)
    });
    Task {
        module: without_secrets(&task.module).into_owned(),
        variables: variables.collect(),
        ..task.clone()
    }
}

fn members(task: &Task) -> BTreeMap<String, Value> {
    let mut members = BTreeMap::new();
    flatten(&mut members, String::new(), "", json!(task), false);
    members
}

fn flatten(
    members: &mut BTreeMap<String, Value>,
    path: String,
    name: &str,
    value: Value,
    free: bool,
) {
    let Value::Object(object) = value else {
        if free || !is_default(name, &value) {
            members.insert(path, value);
        }
        return;
    };
    let before = members.len();
    for (inner, value) in object {
        let separator = if path.is_empty() { "" } else { "." };
        let inner_path = format!("{path}{separator}{inner}");
        flatten(members, inner_path, &inner, value, FREE.contains(&name));
    }
    // An input with nothing but defaults is more than none.
    let is_input = path.starts_with("condition.") || path.starts_with("module_input.");
    if is_input && members.len() == before && !FREE.contains(&name) {
        members.insert(path, json!({}));
    }
}

/// Whether the value equals that of an absent member. `regexp` has no such value: an empty `regexp` matches every name.
fn is_default(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty() && name != "regexp",
        Value::Array(list) => list.is_empty(),
        Value::Bool(on) => match name {
            "use_as_module_input" => *on,
            "recurse" => !*on,
            _ => false,
        },
        Value::Number(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(members: &Value) -> Task {
        let mut task = json!({"name": "web", "enabled": true});
        for (name, value) in members.as_object().unwrap() {
            task[name] = value.clone();
        }
        serde_json::from_value(task).unwrap()
    }

    fn differing(source: &Value, here: &Value) -> Vec<String> {
        let found = differences(&task(source), &task(here), true);
        found.into_iter().map(|found| found.member).collect()
    }

    #[test]
    fn defaults_are_no_difference() {
        let terse = json!({"condition": {"consul_kv": {"path": "a"}}});
        let full = json!({
            "description": "", "version": "", "providers": [], "variables": {}, "module_input": {},
            "condition": {"consul_kv": {
                "path": "a", "recurse": false, "datacenter": "", "namespace": "", "use_as_module_input": true,
            }},
        });
        assert_eq!(differing(&terse, &full), Vec::<String>::new());
        let services = |content: Value| json!({"condition": {"services": content}});
        let pairs = services(json!({"names": ["a"], "cts_user_defined_meta": {}}));
        assert!(differing(&pairs, &services(json!({"names": ["a"]}))).is_empty());
    }

    #[test]
    fn names_differing_settings_with_both_values() {
        let source =
            json!({"variables": {"a": "1", "b": ""}, "condition": {"services": {"regexp": ""}}});
        let here = json!({"variables": {"a": "2"}, "condition": {"services": {"names": ["x"]}}});
        let expected = [
            "condition.services.names",
            "condition.services.regexp",
            "variables.a",
            "variables.b",
        ];
        assert_eq!(differing(&source, &here), expected);
        let found = differences(&task(&source), &task(&here), true);
        assert_eq!(
            (&found[2].source, &found[2].here),
            (&json!("1"), &json!("2"))
        );
        assert_eq!(found[3].here, Value::Null);
        let input = json!({"module_input": {"services": {"cts_user_defined_meta": {}}}});
        assert_eq!(differing(&input, &json!({})), ["module_input.services"]);
    }

    #[test]
    fn a_rule_counts_if_the_source_has_one() {
        let (never, destroy) = (json!({}), json!({"approval": "destroy"}));
        assert!(differing(&never, &destroy).is_empty());
        assert_eq!(differing(&destroy, &never), ["approval"]);
    }

    #[test]
    fn enabled_counts_if_it_is_meant_to() {
        let off = task(&json!({"enabled": false}));
        let on = task(&json!({}));
        assert_eq!(differences(&off, &on, true).len(), 1);
        assert_eq!(differences(&off, &on, false), []);
    }
}
