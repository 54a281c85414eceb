//! Rows of requests and answers, as text.

use serde_json::{Value, json};

/// A request with its expected answer.
pub(crate) struct Row {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Content of the request; `null` sends no content.
    pub(crate) body: Value,
    pub(crate) status: u16,
    /// A part of the answer. Null is any.
    pub(crate) expected: Value,
    /// Name under which the answer's `data.id` is kept, or empty.
    pub(crate) keep: String,
}

/// Rows of the form `METHOD PATH BODY -> STATUS ANSWER as NAME`, of which body, answer and name may be missing. A line that
/// begins with a space goes on with the row. `{NAME}` in a path or a text stands for a kept identifier.
///
/// A body is JSON, or a type with attributes: `vars {"key": "k"}`. An answer is JSON or `attributes {…}`.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    let joined = text.trim().replace("\n ", " ");
    joined.lines().map(row).collect()
}

fn row(line: &str) -> Row {
    let (request, answer) = line
        .split_once(" -> ")
        .unwrap_or_else(|| panic!("no answer: {line}"));
    let (answer, keep) = answer.rsplit_once(" as ").unwrap_or((answer, ""));
    let mut request = request.splitn(3, ' ');
    let (status, expected) = answer.split_once(' ').unwrap_or((answer, ""));
    let mut part = || request.next().unwrap_or_default().trim().to_owned();
    Row {
        method: part(),
        path: part(),
        body: body(&part()),
        status: status.parse().unwrap(),
        expected: expected_answer(expected.trim()),
        keep: keep.trim().to_owned(),
    }
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn body(text: &str) -> Value {
    match text.split_once(' ') {
        _ if text.is_empty() => Value::Null,
        Some((kind, attributes)) if !kind.starts_with('{') => document(kind, json_of(attributes)),
        _ => json_of(text),
    }
}

fn expected_answer(text: &str) -> Value {
    match text.split_once(' ') {
        _ if text.is_empty() => Value::Null,
        Some(("attributes", attributes)) => json!({"data": {"attributes": json_of(attributes)}}),
        _ => json_of(text),
    }
}

/// A document to send.
fn document(kind: &str, attributes: Value) -> Value {
    let data = Value::from_iter([("type", Value::from(kind)), ("attributes", attributes)]);
    Value::from_iter([("data", data)])
}

/// First member of `expected` that `found` does not have like that.
pub(crate) fn difference(expected: &Value, found: &Value, place: &str) -> Option<String> {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            expected.iter().find_map(|(name, value)| {
                let other = found.get(name).unwrap_or(&Value::Null);
                difference(value, other, &format!("{place}/{name}"))
            })
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            let mut pairs = expected.iter().zip(found).enumerate();
            pairs
                .find_map(|(at, (value, other))| difference(value, other, &format!("{place}/{at}")))
        }
        _ => (expected != found).then(|| format!("{place} is {found}, not {expected}")),
    }
}
