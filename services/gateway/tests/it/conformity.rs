//! Compares answers with the API's own document. Every answer of these tests is checked.

use std::sync::LazyLock;

use serde_json::Value;

use crate::stage::Answer;

pub(crate) static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_norway::from_str(include_str!("../../openapi.yaml")).unwrap());

/// Fails if `answer` belongs to an operation of the document that does not describe it.
pub(crate) fn check(method: &str, path: &str, answer: &Answer) {
    let path = path.split('?').next().unwrap();
    let Some(operation) = operation(method, path) else {
        return;
    };
    let what = format!("{method} {path}: {answer:?}");
    let status = answer.status.to_string();
    let described = resolved(&operation["responses"][&status]);
    assert!(described.is_object(), "not described: {what}");
    let content_type = answer.header("Content-Type").unwrap();
    let content_type = content_type.split(';').next().unwrap();
    let content = &described["content"][content_type];
    assert!(content.is_object(), "not of a described type: {what}");
    if content_type == "application/json" {
        let body = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(fits(&content["schema"], &body), Ok(()), "{what}");
    }
}

fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let is_path = |template: &str| {
        let mut segments = path.split('/');
        let fits = template.split('/').all(|expected| {
            segments.next().is_some_and(|segment| {
                segment == expected || (expected.starts_with('{') && !segment.is_empty())
            })
        });
        fits && segments.next().is_none()
    };
    let (_, operations) = paths.iter().find(|(template, _)| is_path(template))?;
    // Methods are case-sensitive.
    (method == method.to_uppercase())
        .then(|| operations.get(method.to_lowercase()))
        .flatten()
}

fn resolved(value: &'static Value) -> &'static Value {
    match value["$ref"].as_str() {
        Some(reference) => DOCUMENT.pointer(&reference[1..]).unwrap(),
        None => value,
    }
}

fn fits(schema: &'static Value, value: &Value) -> Result<(), String> {
    let schema = resolved(schema);
    if let Some(choices) = schema["oneOf"].as_array() {
        let fitting = choices.iter().filter(|choice| fits(choice, value).is_ok());
        return match fitting.count() {
            1 => Ok(()),
            number => Err(format!("{number} schemas fit {value}")),
        };
    }
    // Any value.
    if schema.is_object() && schema.get("type").is_none() {
        return Ok(());
    }
    if value.is_null() {
        let is_nullable = schema["nullable"] == true;
        return is_nullable.then_some(()).ok_or("null".to_owned());
    }
    if let Some(choices) = schema["enum"].as_array()
        && !choices.contains(value)
    {
        return Err(format!("{value} is none of the choices"));
    }
    match (schema["type"].as_str().unwrap(), value) {
        ("string", Value::String(text)) => {
            let minimum = schema["minLength"].as_u64().unwrap_or(0);
            let is_id = schema["format"] != "uuid" || text.parse::<uuid::Uuid>().is_ok();
            let is_time = schema["format"] != "date-time"
                || chrono::DateTime::parse_from_rfc3339(text).is_ok();
            (text.len() as u64 >= minimum && is_id && is_time)
                .then_some(())
                .ok_or(format!("{text:?} has not the format"))
        }
        ("boolean", Value::Bool(_)) => Ok(()),
        ("integer", number) if number.is_i64() || number.is_u64() => Ok(()),
        ("array", Value::Array(items)) => items
            .iter()
            .try_for_each(|item| fits(&schema["items"], item)),
        ("object", Value::Object(members)) => {
            let required = schema["required"].as_array();
            for name in required.into_iter().flatten().filter_map(Value::as_str) {
                if !members.contains_key(name) {
                    return Err(format!("{name} is missing"));
                }
            }
            let number = members.len() as u64;
            let least = schema["minProperties"].as_u64().unwrap_or(0);
            let most = schema["maxProperties"].as_u64().unwrap_or(u64::MAX);
            if !(least..=most).contains(&number) {
                return Err(format!("{number} members"));
            }
            members.iter().try_for_each(|(name, member)| {
                let known = &schema["properties"][name];
                match (known, &schema["additionalProperties"]) {
                    (Value::Object(_), _) => fits(known, member),
                    (_, others @ Value::Object(_)) => fits(others, member),
                    (_, Value::Null) => Ok(()),
                    _ => Err(format!("{name} is not described")),
                }
                .map_err(|problem| format!("{name}: {problem}"))
            })
        }
        (expected, _) => Err(format!("{value} is no {expected}")),
    }
}

#[test]
fn finds_answers_that_the_document_does_not_describe() {
    let answer = |status, body: &str| Answer {
        status,
        headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
        body: body.to_owned(),
    };
    check("GET", "/v1/health", &answer(200, "{}"));
    check("GET", "/nowhere", &answer(200, "nonsense"));
    for (status, body) in [(200, r#"{"a":1}"#), (200, "[]"), (503, "{}"), (418, "{}")] {
        let answer = answer(status, body);
        let checked = std::panic::catch_unwind(|| check("GET", "/v1/health", &answer));
        assert!(checked.is_err(), "{answer:?}");
    }
}
