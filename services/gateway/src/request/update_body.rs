//! The body of `PATCH` (docs/rest.md#updating-a-task), which is read as loosely as the reference does.

use cts_core::go;
use serde_json::{Map, Value};

const ENABLED: &str = "enabled";

const APPROVE: &str = "approve";

/// The wanted update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Update {
    /// Whether the task is to be on.
    pub(crate) enabled: bool,
    /// The effect to be approved; empty for none.
    pub(crate) approve: String,
}

/// The body does not specify whether the task is to be enabled. The texts are answers to clients.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UpdateBodyError {
    #[error("error decoding the request: the request body is no JSON: {0}")]
    NoJson(String),
    #[error("error decoding the request: the request body must be an object")]
    NoObject,
    #[error("request body's JSON contains unsupported keys: {}", .0.join(", "))]
    Unsupported(Vec<String>),
    #[error("cannot parse 'enabled' as bool: {0} is neither true nor false")]
    NoBoolean(String),
    #[error(
        "/v1/tasks/:task_name currently only supports the 'enabled' field. Missing 'enabled' from the request body"
    )]
    Missing,
    #[error("'approve' must be the fingerprint of an effect, with \"enabled\": true")]
    Approve,
    #[error(
        "'approve' and run=inspect exclude each other: an effect is approved after an inspection has shown it"
    )]
    ApproveInspected,
}

/// The update that `body` wants.
pub(crate) fn read(body: &[u8]) -> Result<Update, UpdateBodyError> {
    let body =
        serde_json::from_slice(body).map_err(|error| UpdateBodyError::NoJson(error.to_string()))?;
    let mut members = match body {
        Value::Object(members) => members,
        Value::Null => Map::new(),
        _ => return Err(UpdateBodyError::NoObject),
    };
    let value = take(&mut members);
    let approve = members.remove(APPROVE);
    if !members.is_empty() {
        let mut names: Vec<_> = members.into_iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        return Err(UpdateBodyError::Unsupported(names));
    }
    let enabled = match value {
        None | Some(Value::Null) => Err(UpdateBodyError::Missing),
        Some(value) => boolean(&value).ok_or_else(|| UpdateBodyError::NoBoolean(value.to_string())),
    }?;
    let approve = match approve {
        None => String::new(),
        Some(Value::String(effect)) if enabled && !effect.is_empty() => effect,
        Some(_) => return Err(UpdateBodyError::Approve),
    };
    Ok(Update { enabled, approve })
}

/// The value under the key, or under a key that differs only in the case of letters.
fn take(members: &mut Map<String, Value>) -> Option<Value> {
    if let Some(value) = members.remove(ENABLED) {
        return Some(value);
    }
    let name = members
        .keys()
        .find(|name| name.eq_ignore_ascii_case(ENABLED))?
        .clone();
    members.remove(&name)
}

fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::Number(number) => Some(number.as_f64() != Some(0.0)),
        Value::String(text) if text.is_empty() => Some(false),
        Value::String(text) => go::parse_bool(text),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_values_that_can_be_taken_for_a_boolean() {
        let cases = [
            (r#"{"enabled":true}"#, true),
            (r#"{"Enabled":false}"#, false),
            (r#" {"ENABLED" : "T"} "#, true),
            (r#"{"enabled":1}"#, true),
            (r#"{"enabled":-0.5}"#, true),
            (r#"{"enabled":0}"#, false),
            (r#"{"enabled":0.0}"#, false),
            (r#"{"enabled":-0e5}"#, false),
            (r#"{"enabled":""}"#, false),
            (r#"{"enabled":"1"}"#, true),
            (r#"{"enabled":"t"}"#, true),
            (r#"{"enabled":"TRUE"}"#, true),
            (r#"{"enabled":"true"}"#, true),
            (r#"{"enabled":"True"}"#, true),
            (r#"{"enabled":"0"}"#, false),
            (r#"{"enabled":"f"}"#, false),
            (r#"{"enabled":"F"}"#, false),
            (r#"{"enabled":"FALSE"}"#, false),
            (r#"{"enabled":"false"}"#, false),
            (r#"{"enabled":"False"}"#, false),
            (r#"{"enabled":true,"enabled":false}"#, false),
        ];
        for (body, expected) in cases {
            let update = read(body.as_bytes()).unwrap();
            assert_eq!((update.enabled, &*update.approve), (expected, ""), "{body}");
        }
    }

    #[test]
    fn an_effect_is_approved_when_the_task_is_enabled() {
        let update = Update {
            enabled: true,
            approve: "0af1".to_owned(),
        };
        let body = br#"{"Enabled":true,"approve":"0af1"}"#;
        assert_eq!(read(body), Ok(update));
        for body in [
            r#"{"enabled":false,"approve":"0af1"}"#,
            r#"{"enabled":true,"approve":""}"#,
            r#"{"enabled":true,"approve":null}"#,
            r#"{"enabled":true,"approve":["0af1"]}"#,
        ] {
            let error = read(body.as_bytes());
            assert_eq!(error, Err(UpdateBodyError::Approve), "{body}");
        }
    }

    #[test]
    fn refuses_missing_unsupported_and_non_boolean_values() {
        let unsupported = |names: &[&str]| {
            UpdateBodyError::Unsupported(names.iter().map(ToString::to_string).collect())
        };
        let no_boolean = |value: &str| UpdateBodyError::NoBoolean(value.to_owned());
        let cases = [
            ("null", UpdateBodyError::Missing),
            ("{}", UpdateBodyError::Missing),
            (r#"{"enabled":null}"#, UpdateBodyError::Missing),
            (r#"{"Enabled":null}"#, UpdateBodyError::Missing),
            ("[]", UpdateBodyError::NoObject),
            ("true", UpdateBodyError::NoObject),
            (r#"{"zeta":1,"alpha":2}"#, unsupported(&["alpha", "zeta"])),
            (r#"{"enabled":true,"x":1}"#, unsupported(&["x"])),
            (
                r#"{"enabled":true,"Enabled":true}"#,
                unsupported(&["Enabled"]),
            ),
            (r#"{"enabled":null,"x":1}"#, unsupported(&["x"])),
            (r#"{"enabled":"yes"}"#, no_boolean("\"yes\"")),
            (r#"{"enabled":"TrUe"}"#, no_boolean("\"TrUe\"")),
            (r#"{"enabled":" true"}"#, no_boolean("\" true\"")),
            (r#"{"enabled":[]}"#, no_boolean("[]")),
            (r#"{"enabled":{}}"#, no_boolean("{}")),
        ];
        for (body, expected) in cases {
            assert_eq!(read(body.as_bytes()), Err(expected), "{body}");
        }
    }

    #[test]
    fn refuses_invalid_json() {
        let deep = "[".repeat(100_000);
        let bodies: [&[u8]; 6] = [
            b"",
            b" ",
            b"{",
            b"{\"enabled\":true} x",
            b"{\"enabled\":\"\xff\"}",
            deep.as_bytes(),
        ];
        for body in bodies {
            let error = read(body).unwrap_err();
            assert!(matches!(error, UpdateBodyError::NoJson(_)), "{error:?}");
        }
    }
}
