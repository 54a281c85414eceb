//! The definition of a task as settings with dots in their names.

use serde_json::{Map, Value};

/// Members that are shown elsewhere.
const ELSEWHERE: [&str; 2] = ["name", "description"];

/// Members that come first.
const FIRST: [&str; 5] = ["module", "version", "enabled", "providers", "condition"];

/// Settings with their values, without those that are empty.
pub(super) fn settings(task: &Map<String, Value>) -> Vec<(String, String)> {
    let first = FIRST.iter().filter_map(|name| task.get_key_value(*name));
    let is_other = |name: &str| !FIRST.contains(&name) && !ELSEWHERE.contains(&name);
    let others = task.iter().filter(|(name, _)| is_other(name));
    let mut settings = Vec::new();
    for (name, value) in first.chain(others) {
        flatten(name, value, &mut settings);
    }
    settings
}

fn flatten(name: &str, value: &Value, settings: &mut Vec<(String, String)>) {
    let text = match value {
        Value::Object(members) => {
            for (member, value) in members {
                flatten(&format!("{name}.{member}"), value, settings);
            }
            return;
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(text).collect();
            items.join(", ")
        }
        value => text(value),
    };
    if !text.is_empty() {
        settings.push((name.to_owned(), text));
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
