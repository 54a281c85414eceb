//! Contents whose keys cts does not define: arguments of backends and providers, required providers.

use std::collections::HashMap;

use cts_hcl1::{Number, Value as Hcl, ValueKind};
use serde_json::{Map, Value};

use crate::decode::tree::{Entry, Part};
use crate::report::location::{Rules, SourceLocation};
use crate::report::sink::Sink;

/// Turns free-form entries into JSON (docs/configuration.md#types).
///
/// In HCL a block given once is an object, given several times a list of objects; lists of the same
/// name are joined, of other repeated values the last one wins. JSON is taken as it is.
pub(crate) fn free_form(entries: &[Entry<'_>], sink: &Sink) -> Map<String, Value> {
    let mut names: Vec<&str> = Vec::new();
    let mut same: HashMap<&str, Vec<&Entry<'_>>> = HashMap::new();
    for entry in entries {
        let entries = same.entry(entry.name()).or_default();
        if entries.is_empty() {
            names.push(entry.name());
        }
        entries.push(entry);
    }
    let mut map = Map::new();
    for name in names {
        let entries = same.remove(name).unwrap_or_default();
        let value = match entries.as_slice() {
            [entry] if entry.rules() == Rules::Json => {
                let value = entry.plain_value();
                value.map_or(Value::Null, |value| json(value, entry, sink))
            }
            entries => unwrap_single(joined(entries, sink)),
        };
        map.insert(name.to_owned(), value);
    }
    map
}

/// Joins the entries of one name to a single value.
fn joined(same: &[&Entry<'_>], sink: &Sink) -> Value {
    let mut objects = Vec::new();
    let mut list: Option<Vec<Value>> = None;
    let mut scalar = None;
    for entry in same {
        match entry.plain_value().map(|value| &value.kind) {
            None | Some(ValueKind::Object(_)) => {
                for part in entry.bodies().into_iter().flatten() {
                    objects.push(Value::Object(free_form(&part.entries, sink)));
                }
            }
            Some(ValueKind::List(values)) => {
                let values = values.iter().map(|value| json(value, entry, sink));
                list.get_or_insert_default().extend(values);
            }
            Some(
                ValueKind::String(_) | ValueKind::Number(_) | ValueKind::Bool(_) | ValueKind::Null,
            ) => {
                scalar = entry.plain_value().map(|value| json(value, entry, sink));
            }
        }
    }
    if let Some(mut list) = list {
        list.extend(objects);
        return Value::Array(list);
    }
    let Some(scalar) = scalar else {
        return Value::Array(objects);
    };
    if let (false, Some(entry)) = (objects.is_empty(), same.last()) {
        let message = format!("`{}` is given both as a value and as a block", entry.name());
        sink.error(&entry.key_place(), message);
    }
    scalar
}

/// Every list of one element is replaced by its element.
///
/// Looks like an accident, and `cidrs = ["10.0.0.0/8"]` does reach Terraform as a string. But it is
/// also what makes a block that is given once an object, and configurations in use are written for
/// it, so it stays (docs/compatibility.md).
fn unwrap_single(mut value: Value) -> Value {
    loop {
        match value {
            Value::Array(mut values) if values.len() == 1 => {
                value = values.pop().unwrap_or_default();
            }
            other => return other,
        }
    }
}

fn json(value: &Hcl, entry: &Entry<'_>, sink: &Sink) -> Value {
    match &value.kind {
        ValueKind::String(text) => Value::from(text.as_str()),
        ValueKind::Number(Number::Integer(number)) => Value::from(*number),
        ValueKind::Number(Number::Float(number)) => Value::from(*number),
        ValueKind::Bool(flag) => Value::from(*flag),
        ValueKind::Null => Value::Null,
        ValueKind::List(values) => {
            let values = values.iter().map(|value| json(value, entry, sink));
            let list = Value::Array(values.collect());
            match entry.rules() {
                Rules::Hcl => unwrap_single(list),
                Rules::Json => list,
            }
        }
        ValueKind::Object(body) => {
            let place = SourceLocation::new(entry.source(), value.span.clone());
            let part = Part::of_body(entry.source(), body, place);
            Value::Object(free_form(&part.entries, sink))
        }
    }
}
