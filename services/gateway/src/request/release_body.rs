//! The body of `POST /v1/tasks/{name}/release` (docs/rest.md#releasing-a-task).

use cts_proto::task::v1::{Loss, SeenLosses};
use serde::Deserialize;
use serde_json::Value;

use crate::request::document;
use crate::request::schema::Mismatch;

/// The body does not contain the losses that the caller has seen. The texts are answers to clients.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReleaseBodyError {
    #[error("the request body is no JSON: {0}")]
    NoJson(String),
    #[error("the request body must be an object")]
    NoObject,
    #[error("request body has an error: doesn't match the schema: {0}")]
    Mismatch(Mismatch),
}

#[derive(Deserialize)]
struct Body {
    seen: Option<Vec<Loss>>,
}

/// The losses of the hold that the caller has seen, if `body` contains them.
pub(crate) fn seen(body: &[u8]) -> Result<Option<SeenLosses>, ReleaseBodyError> {
    if body.trim_ascii().is_empty() {
        return Ok(None);
    }
    let no_json = |error: serde_json::Error| ReleaseBodyError::NoJson(error.to_string());
    let mut value: Value = serde_json::from_slice(body).map_err(no_json)?;
    if !value.is_object() {
        return Err(ReleaseBodyError::NoObject);
    }
    let checked = document::schema("ReleaseRequest").check(&mut value);
    checked.map_err(ReleaseBodyError::Mismatch)?;
    let body: Body = serde_json::from_value(value).map_err(no_json)?;
    Ok(body.seen.map(|losses| SeenLosses { losses }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_needs_to_have_been_seen() {
        for body in ["", " \n", "{}"] {
            assert_eq!(seen(body.as_bytes()).unwrap(), None, "{body:?}");
        }
        let none = seen(br#"{"seen": []}"#).unwrap();
        assert_eq!(none, Some(SeenLosses::default()));
        let one = seen(br#"{"seen": [{"service": "web", "now": 1}]}"#).unwrap();
        assert_eq!(one.unwrap().losses[0].now, 1);
    }

    #[test]
    fn refuses_bodies_without_valid_losses() {
        for body in [
            "[]",
            "null",
            "7",
            "{",
            "[{\"service\": \"web\", \"now\": 1}]",
            "{\"seen\": {}}",
            "{\"seen\": [[\"web\", 1]]}",
            "{\"seen\": [{\"service\": \"web\"}]}",
            "{\"seen\": [{\"service\": \"web\", \"now\": -1}]}",
            "{\"seen\": [{\"service\": \"web\", \"now\": 1.5}]}",
            "{\"seen\": [{\"service\": \"web\", \"now\": 4294967296}]}",
            "{\"seen\": [{\"service\": \"web\", \"now\": 1, \"more\": 1}]}",
            "{\"held\": []}",
        ] {
            assert!(seen(body.as_bytes()).is_err(), "{body}");
        }
    }
}
