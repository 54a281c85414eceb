//! Our tree in the form in which the reference writes its own.

use cts_hcl1::{Body, Number, Value, ValueKind};
use serde_json::{Value as Json, json};

pub(crate) fn items(body: &Body) -> Json {
    let items = body.items.iter().map(|item| {
        let keys = item.keys.iter();
        let keys: Vec<Json> = keys
            .map(|key| json!([string(&key.text), key.quoted]))
            .collect();
        json!({"keys": keys, "assigned": item.assigned, "value": value(&item.value)})
    });
    items.collect()
}

fn value(from: &Value) -> Json {
    match &from.kind {
        ValueKind::String(text) => string(text),
        ValueKind::Number(value) => number(*value),
        ValueKind::Bool(flag) => json!({"bool": flag}),
        ValueKind::List(elements) => {
            let elements: Vec<Json> = elements.iter().map(value).collect();
            json!({"list": elements})
        }
        // No HCL file holds one.
        ValueKind::Null => json!({"wrong": "null"}),
        ValueKind::Object(body) => json!({"object": items(body)}),
    }
}

fn string(text: &str) -> Json {
    json!({"string": text})
}

fn number(number: Number) -> Json {
    match number {
        Number::Integer(integer) => json!({"integer": integer.to_string()}),
        Number::Float(float) => json!({"float": format!("{:016x}", float.to_bits())}),
    }
}
