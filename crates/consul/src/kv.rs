//! Converts an answer of the KV store to keys with their values.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use cts_core::{Item, KeyValue};
use serde::Deserialize;

use crate::error::ConsulError;

/// Longest value that is passed on, in bytes. Consul's own limit is a quarter of this size, unless it was raised.
const LONGEST_VALUE: usize = 2 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Pair {
    key: String,
    /// Base64; absent where it is empty.
    value: Option<String>,
}

/// The keys in a body of `/v1/kv/<path>`. A key whose value is not text in UTF-8, or too long, has no value here: without
/// the key a module would take away what belongs to it.
pub(crate) fn decode(body: &[u8]) -> Result<Vec<Item>, ConsulError> {
    let pairs: Vec<Pair> = serde_json::from_slice(body).map_err(ConsulError::Decode)?;
    pairs.into_iter().map(item).collect()
}

/// Fails without base64, which Consul always writes.
fn item(Pair { key, value }: Pair) -> Result<Item, ConsulError> {
    let Ok(bytes) = BASE64_STANDARD.decode(value.unwrap_or_default()) else {
        let problem = "is not in base64";
        return Err(ConsulError::UnusableValue { key, problem });
    };
    if bytes.len() > LONGEST_VALUE {
        return Ok(Item::UnreadableKey(key.into()));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(value) => Item::from(KeyValue { key, value }),
        Err(_bytes) => Item::UnreadableKey(key.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(value: &str) -> String {
        format!(r#"[{{"LockIndex":0,"Key":"a/b","Flags":7,"Value":{value},"Session":"s"}}]"#)
    }

    #[test]
    fn a_value_is_the_same_text_and_may_be_empty() {
        for (written, value) in [("null", ""), ("\"\"", ""), ("\"JHt4fQo=\"", "${x}\n")] {
            let items = decode(body(written).as_bytes()).unwrap();
            let [Item::Key(pair)] = &items[..] else {
                panic!("{items:?}");
            };
            assert_eq!((&*pair.key, &*pair.value), ("a/b", value));
            assert!(!format!("{pair:?}").contains("${x}"));
        }
        assert_eq!(decode(b"[]").unwrap(), []);
    }

    fn three(value: &str) -> String {
        format!(
            r#"[{{"Key":"a","Value":"MQ=="}},{{"Key":"b","Value":"{value}"}},{{"Key":"c","Value":null}}]"#
        )
    }

    #[test]
    fn a_value_that_is_no_text_leaves_its_key_without_one_and_the_others_as_they_are() {
        let long = BASE64_STANDARD.encode(vec![b'x'; LONGEST_VALUE + 1]);
        for odd in ["gA==", "/////w==", &long] {
            let items = decode(three(odd).as_bytes()).unwrap();
            let [Item::Key(_), Item::UnreadableKey(key), Item::Key(_)] = &items[..] else {
                panic!("{items:?}");
            };
            assert_eq!(&**key, "b");
        }
    }

    #[test]
    fn a_value_that_consul_would_not_write_refuses_the_answer() {
        let error = decode(three("?").as_bytes()).unwrap_err().to_string();
        assert_eq!(error, "the value of key \"b\" is not in base64");
    }

    #[test]
    fn bodies_that_are_no_list_of_keys_are_refused() {
        for body in [
            "",
            "null",
            "{}",
            "[{}]",
            "[{\"Key\":\"a\"}",
            "<html></html>",
        ] {
            assert!(decode(body.as_bytes()).is_err(), "{body}");
        }
    }
}
