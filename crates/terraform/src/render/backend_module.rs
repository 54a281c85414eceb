//! A root module with nothing but a backend.

use cts_core::Backend;
use serde_json::{Map, Value, json};

/// A root module in JSON with nothing but an unchanged backend, credentials included.
pub(crate) fn backend_module(backend: &Backend) -> String {
    let arguments = literal(Value::Object(backend.arguments.clone()));
    let block = Map::from_iter([(backend.kind.clone(), arguments)]);
    json!({ "terraform": { "backend": block } }).to_string()
}

/// A value as Terraform's JSON needs it: texts are templates there, and `null` values are left out.
fn literal(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("${", "$${").replace("%{", "%%{")),
        Value::Array(values) => values.into_iter().map(literal).collect(),
        Value::Object(members) => {
            let given = members
                .into_iter()
                .filter(|(_name, value)| !value.is_null());
            given.map(|(name, value)| (name, literal(value))).collect()
        }
        other => other,
    }
}
