//! The bodies of `POST /v1/tasks/{name}/release` and `POST /v1/brake` (docs/rest.md#releasing-a-task, #the-brake).

use cts_proto::cluster::v1::SeenBrake;
use cts_proto::task::v1::{Loss, SeenLosses};
use serde::Deserialize;
use serde::de::DeserializeOwned;
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
struct Body<Seen> {
    seen: Option<Seen>,
}

/// The numbers of the brake that the caller has seen.
#[derive(Deserialize)]
struct Numbers {
    lost: u64,
    of: u64,
}

/// The losses of the hold that the caller has seen, if `body` contains them.
pub(crate) fn seen(body: &[u8]) -> Result<Option<SeenLosses>, ReleaseBodyError> {
    let losses = read(body, "ReleaseRequest")?;
    Ok(losses.map(|losses: Vec<Loss>| SeenLosses { losses }))
}

/// The numbers of the brake that the caller has seen, if `body` contains them.
pub(crate) fn seen_brake(body: &[u8]) -> Result<Option<SeenBrake>, ReleaseBodyError> {
    let numbers = read(body, "BrakeReleaseRequest")?;
    Ok(numbers.map(|Numbers { lost, of }| SeenBrake { lost, of }))
}

fn read<Seen: DeserializeOwned>(
    body: &[u8],
    schema: &str,
) -> Result<Option<Seen>, ReleaseBodyError> {
    if body.trim_ascii().is_empty() {
        return Ok(None);
    }
    let no_json = |error: serde_json::Error| ReleaseBodyError::NoJson(error.to_string());
    let mut value: Value = serde_json::from_slice(body).map_err(no_json)?;
    if !value.is_object() {
        return Err(ReleaseBodyError::NoObject);
    }
    let checked = document::schema(schema).check(&mut value);
    checked.map_err(ReleaseBodyError::Mismatch)?;
    let body: Body<Seen> = serde_json::from_value(value).map_err(no_json)?;
    Ok(body.seen)
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
    fn reads_the_numbers_of_the_brake() {
        for body in ["", "{}"] {
            assert_eq!(seen_brake(body.as_bytes()).unwrap(), None, "{body:?}");
        }
        let seen = seen_brake(br#"{"seen": {"lost": 3, "of": 10}}"#).unwrap();
        assert_eq!(seen, Some(SeenBrake { lost: 3, of: 10 }));
        for body in [
            "[]",
            "{\"seen\": []}",
            "{\"seen\": {}}",
            "{\"seen\": {\"lost\": 3}}",
            "{\"seen\": {\"lost\": -1, \"of\": 10}}",
            "{\"seen\": {\"lost\": \"3\", \"of\": 10}}",
            "{\"seen\": {\"lost\": 3, \"of\": 10, \"more\": 1}}",
            "{\"lost\": 3, \"of\": 10}",
        ] {
            assert!(seen_brake(body.as_bytes()).is_err(), "{body}");
        }
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
