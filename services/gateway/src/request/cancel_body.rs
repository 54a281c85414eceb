//! The body of a call that cancels a run: empty, or an object that may contain `force`.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The body does not specify how a run is cancelled. The text is an answer to clients.
#[derive(Debug, thiserror::Error)]
#[error("the request body is none that cancels a run: {0}")]
pub(crate) struct CancelBodyError(serde_json::Error);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelBody {
    #[serde(default)]
    force: bool,
}

/// Whether the run is to be stopped by force, according to `body`.
pub(crate) fn force(body: &[u8]) -> Result<bool, CancelBodyError> {
    if body.trim_ascii().is_empty() {
        return Ok(false);
    }
    // A list would do for the members of a structure, in their order.
    let body = serde_json::from_slice::<Map<String, Value>>(body);
    let body = body.and_then(|members| CancelBody::deserialize(Value::Object(members)));
    Ok(body.map_err(CancelBodyError)?.force)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn force_is_off_unless_it_is_asked_for_and_anything_else_is_refused() {
        for (body, expected) in [
            ("", false),
            (" \n", false),
            ("{}", false),
            (r#"{"force": false}"#, false),
            (r#"{"force": true}"#, true),
        ] {
            assert_eq!(force(body.as_bytes()).unwrap(), expected, "{body}");
        }
        for body in [
            "null",
            "[]",
            "true",
            "{",
            r#"{"force": 1}"#,
            r#"{"forced": true}"#,
        ] {
            let error = force(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("cancels a run"), "{error}");
        }
    }
}
