//! Decisions about a task's Terraform state in requests (docs/rest.md#the-state-of-a-task).

use cts_core::TaskName;
use cts_core::state::{Keep, StateDecision};
use http::HeaderMap;

use crate::request::document;
use crate::request::task_request::{InvalidBody, decode};

const SCHEMA: &str = "StateDecision";

/// The body decides nothing. The texts are answers to clients.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidDecision {
    #[error(transparent)]
    Body(#[from] InvalidBody),
    #[error("the request body has either the member 'keep' or the member 'from'")]
    NotOne,
    #[error("the member 'from' is no name of a task: {0}")]
    Name(String),
}

/// Reads the decision in `body`.
pub(crate) fn read(headers: &HeaderMap, body: &[u8]) -> Result<StateDecision, InvalidDecision> {
    let mut value = decode(headers, body)?;
    document::schema(SCHEMA)
        .check(&mut value)
        .map_err(|mismatch| InvalidBody::Schema {
            schema: SCHEMA,
            mismatch,
        })?;
    let keep = value["keep"].as_str().and_then(Keep::parse);
    match (keep, value["from"].as_str()) {
        (Some(keep), None) => Ok(StateDecision::Keep(keep)),
        (None, Some(from)) => match TaskName::new(from) {
            Ok(from) => Ok(StateDecision::From(from)),
            Err(error) => Err(InvalidDecision::Name(error.to_string())),
        },
        (Some(_), Some(_)) | (None, None) => Err(InvalidDecision::NotOne),
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header};
    use serde_json::{Value, json};

    use super::*;

    fn decided(body: &Value) -> Result<StateDecision, InvalidDecision> {
        let json = HeaderValue::from_static("application/json");
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, json)]);
        read(&headers, body.to_string().as_bytes())
    }

    #[test]
    fn exactly_one_decision_is_read() {
        let keep = |keep| Ok(StateDecision::Keep(keep));
        assert_eq!(decided(&json!({"keep": "old"})), keep(Keep::Old));
        assert_eq!(decided(&json!({"keep": "new"})), keep(Keep::New));
        let from = TaskName::new("earlier").unwrap();
        let earlier = decided(&json!({"from": "earlier"}));
        assert_eq!(earlier, Ok(StateDecision::From(from)));
        let none = Err(InvalidDecision::NotOne);
        assert_eq!(decided(&json!({})), none);
        assert_eq!(decided(&json!({"keep": "old", "from": "earlier"})), none);
        for refused in [
            json!({"keep": "both"}),
            json!({"keep": true}),
            json!({"keep": "old", "more": 1}),
            json!({"from": ""}),
            json!({"from": "a/b"}),
            json!([]),
        ] {
            assert!(decided(&refused).is_err(), "{refused}");
        }
    }
}
