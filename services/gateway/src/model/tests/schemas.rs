//! The `OpenAPI` document describes exactly the members and words that own answers have.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::examples;
use crate::request::document::DOCUMENT;

/// Word for a value that only newer schedulers know: documents may contain it, and need not.
const NEWER: &str = "unknown";

/// Values of one schema, from all places of all examples.
type Values = Vec<Value>;

#[test]
fn schemas_and_own_answers_have_the_same_members() {
    let mut schemas: BTreeMap<String, Values> = BTreeMap::new();
    for (_, schema, body) in examples()
        .iter()
        .filter(|(_, schema, _)| !schema.is_empty())
    {
        let body = serde_json::from_str(body).unwrap();
        let path = format!("#/components/schemas/{schema}");
        schemas.entry(path).or_default().push(body);
    }
    let mut differences = Vec::new();
    while !schemas.is_empty() {
        let mut parts = BTreeMap::new();
        for (path, values) in &schemas {
            let schema = DOCUMENT.pointer(&path[1..]).unwrap();
            let values: Vec<&Value> = values.iter().collect();
            let place = path.rsplit('/').next().unwrap();
            compare(schema, &values, place, &mut parts, &mut differences);
        }
        schemas = parts;
    }
    assert_eq!(differences, Vec::<String>::new());
}

/// Compares a schema with all values that examples have in its place. Values of a schema that is used in several
/// places are compared together, later.
fn compare(
    schema: &Value,
    values: &[&Value],
    place: &str,
    parts: &mut BTreeMap<String, Values>,
    differences: &mut Vec<String>,
) {
    if let Some(reference) = schema["$ref"].as_str() {
        let part = parts.entry(reference.to_owned()).or_default();
        part.extend(values.iter().copied().cloned());
        return;
    }
    let (nulls, values): (Vec<&Value>, Vec<&Value>) =
        values.iter().partition(|value| value.is_null());
    let mut differ = |what: String| differences.push(format!("{place} {what}"));
    if schema.get("type").is_some() && nulls.is_empty() == (schema["nullable"] == true) {
        differ(format!("is null {} times", nulls.len()));
    }
    if let Some(words) = schema["enum"].as_array() {
        let known = |word: &&Value| !word.is_null() && **word != NEWER;
        let described: BTreeSet<String> =
            words.iter().filter(known).map(Value::to_string).collect();
        let sent = values.iter().copied().filter(known).map(Value::to_string);
        let sent: BTreeSet<String> = sent.collect();
        if described != sent {
            differ(format!("is {sent:?}"));
        }
    }
    match schema["type"].as_str() {
        Some("array") => {
            let items = values.iter().filter_map(|value| value.as_array()).flatten();
            let items: Vec<&Value> = items.collect();
            compare(
                &schema["items"],
                &items,
                &format!("{place}[]"),
                parts,
                differences,
            );
        }
        Some("object") => {
            let Some(properties) = schema["properties"].as_object() else {
                return;
            };
            let members = values.iter().filter_map(|value| value.as_object());
            for name in members.flat_map(|members| members.keys()) {
                if !properties.contains_key(name) {
                    differ(format!("has the member {name}"));
                }
            }
            let required = schema["required"].as_array();
            let required: Vec<&Value> = required.into_iter().flatten().collect();
            for (name, property) in properties {
                let sent = values.iter().filter_map(|value| value.get(name));
                let sent: Vec<&Value> = sent.collect();
                let always = sent.len() == values.len();
                if sent.is_empty() || always != required.iter().any(|it| *it == name) {
                    differences.push(format!(
                        "{place} has the member {name} {} times of {}",
                        sent.len(),
                        values.len()
                    ));
                }
                let place = format!("{place}.{name}");
                compare(property, &sent, &place, parts, differences);
            }
        }
        _ => {}
    }
}
