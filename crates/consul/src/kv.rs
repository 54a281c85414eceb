//! From an answer of the KV store to keys with their values.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use cts_core::{Item, KeyValue};
use serde::Deserialize;

use crate::error::ConsulError;

/// Longest value that is passed on, in bytes. Consul's own limit is a quarter of it unless it was raised.
const LONGEST_VALUE: usize = 2 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Pair {
    key: String,
    /// Base64; absent where it is empty.
    value: Option<String>,
}

/// The keys in a body of `/v1/kv/<path>`. A single value that is no text refuses all of them:
/// without it a module would take away what belongs to its key.
pub(crate) fn decode(body: &[u8]) -> Result<Vec<Item>, ConsulError> {
    let pairs: Vec<Pair> = serde_json::from_slice(body).map_err(ConsulError::Decode)?;
    pairs
        .into_iter()
        .map(|pair| item(pair).map(Item::from))
        .collect()
}

fn item(Pair { key, value }: Pair) -> Result<KeyValue, ConsulError> {
    let unusable = |key: &str, problem: &'static str| ConsulError::UnusableValue {
        key: key.to_owned(),
        problem,
    };
    let Ok(bytes) = BASE64_STANDARD.decode(value.unwrap_or_default()) else {
        return Err(unusable(&key, "is not in base64"));
    };
    if bytes.len() > LONGEST_VALUE {
        return Err(unusable(&key, "is longer than 2 MiB"));
    }
    match String::from_utf8(bytes) {
        Ok(value) => Ok(KeyValue { key, value }),
        Err(_bytes) => Err(unusable(&key, "is not text in UTF-8")),
    }
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

    #[test]
    fn what_is_no_text_is_refused_with_the_name_of_its_key() {
        let long = format!(
            "\"{}\"",
            BASE64_STANDARD.encode(vec![b'x'; LONGEST_VALUE + 1])
        );
        for (written, problem) in [
            ("\"gA==\"", "is not text in UTF-8"),
            ("\"?\"", "is not in base64"),
            (long.as_str(), "is longer than 2 MiB"),
        ] {
            let error = decode(body(written).as_bytes()).unwrap_err().to_string();
            assert_eq!(error, format!("the value of key \"a/b\" {problem}"));
        }
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
