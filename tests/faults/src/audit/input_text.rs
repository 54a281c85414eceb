//! The text that the module of the suite makes of a stored input.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::conditions::KEYS;
use crate::module::joined;

/// A content of an input: digest of the input, position, encoding and bytes of the content.
pub(super) type Part = (String, i64, String, Vec<u8>);

/// Texts by the digest of the input. `parts` are in the order of the inputs and of their contents; an input with an
/// unreadable content is left out.
pub(super) fn texts(parts: Vec<Part>) -> BTreeMap<String, String> {
    let mut rows: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
    for (input, position, encoding, bytes) in parts {
        let known = rows.entry(input).or_insert_with(|| Some(Vec::new()));
        // The first content is the task.
        if position == 0 {
            continue;
        }
        let items = decoded(&encoding, bytes).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        match (known.as_mut(), items) {
            (Some(known), Some(Value::Array(items))) => known.extend(items.iter().map(row)),
            _ => *known = None,
        }
    }
    let rows = rows.into_iter();
    rows.filter_map(|(input, rows)| Some((input, joined(rows?))))
        .collect()
}

/// Declarations of the tasks by the digest of the input: the first content of each.
pub(super) fn declarations(parts: &[Part]) -> BTreeMap<String, String> {
    let tasks = parts.iter().filter(|part| part.1 == 0);
    let tasks = tasks.filter_map(|(input, _, encoding, bytes)| {
        let text = String::from_utf8(decoded(encoding, bytes.clone())?).ok()?;
        Some((input.clone(), text))
    });
    tasks.collect()
}

fn decoded(encoding: &str, bytes: Vec<u8>) -> Option<Vec<u8>> {
    match encoding {
        "zstd" => zstd::decode_all(&*bytes).ok(),
        _ => Some(bytes),
    }
}

/// The row that the module makes of an item: an instance, a key, or a name in the catalog.
fn row(item: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(key) = item["key"].as_str() {
        let key = key.strip_prefix(KEYS).unwrap_or(key);
        return format!("{key}/{}", text(&item["value"]));
    }
    if item["id"].is_null() {
        return text(&item["name"]);
    }
    let tags = item["tags"].as_array().into_iter().flatten();
    let mut tags: Vec<String> = tags.map(text).collect();
    tags.sort();
    format!(
        "{}/{}/{}/{}",
        text(&item["id"]),
        item["port"],
        tags.join("."),
        text(&item["meta"]["version"]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(input: &str, position: i64, text: &str) -> Part {
        (
            input.to_owned(),
            position,
            "plain".to_owned(),
            text.as_bytes().to_vec(),
        )
    }

    #[test]
    fn an_input_has_the_rows_of_all_its_views() {
        let instance = r#"[{"id":"b","port":7,"tags":["y","x"],"meta":{"version":"v1"}}]"#;
        let packed = zstd::encode_all(instance.as_bytes(), 0).unwrap();
        let parts = vec![
            part("i", 0, "{}"),
            ("i".to_owned(), 1, "zstd".to_owned(), packed),
            part("i", 2, r#"[{"id":"a","port":1,"tags":[],"meta":{}}]"#),
            part("j", 0, "{}"),
            part("j", 1, r#"[{"key":"inst/a","value":"1//v"}]"#),
            part("k", 0, "{}"),
            part("k", 1, r#"[{"name":"svc-1","tags":["t"]}]"#),
            part("l", 0, "{}"),
        ];
        assert_eq!(declarations(&parts)["k"], "{}");
        let found: Vec<_> = texts(parts).into_iter().collect();
        let row = |input: &str, text: &str| (input.to_owned(), text.to_owned());
        let wanted = [
            row("i", "a/1//;b/7/x.y/v1"),
            row("j", "a/1//v"),
            row("k", "svc-1"),
            row("l", ""),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn an_input_that_cannot_be_read_has_no_text() {
        let parts = vec![part("i", 1, "cut"), part("i", 2, "[]"), part("j", 1, "[]")];
        let found: Vec<_> = texts(parts).into_keys().collect();
        assert_eq!(found, ["j"]);
    }
}
