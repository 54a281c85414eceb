//! Texts in the place of a list that were meant to be the list.

use std::net::Ipv6Addr;

use cts_core::hidden::is_secret_name;

use crate::report::mask::may_hold_secret;

/// A warning about such a text, which counts as the only element of the list `path`; `None` for any other text.
pub(super) fn advice(text: &str, name: &str, path: &str) -> Option<String> {
    let elements = listed_in(text)?;
    let list = if is_secret_name(name) || may_hold_secret(text.as_bytes()) {
        "a list of texts".to_owned()
    } else {
        format!("`{elements:?}`")
    };
    Some(format!(
        "`{path}` is one text that looks like a list: write {list}"
    ))
}

/// The elements of a list that is written in a text.
fn listed_in(text: &str) -> Option<Vec<&str>> {
    let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let is_address = inside.parse::<Ipv6Addr>().is_ok();
    if is_address || inside.contains(['[', ']', '\n']) {
        return None;
    }
    let around = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
    let elements = inside
        .split(',')
        .map(|element| element.trim_matches(around));
    Some(elements.filter(|element| !element.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_in_texts_are_told_from_other_texts() {
        for (text, expected) in [
            ("[nginx-1, nginx-2]", Some("`[\"nginx-1\", \"nginx-2\"]`")),
            (" ['a','b',] ", Some("`[\"a\", \"b\"]`")),
            ("[\"web\"]", Some("`[\"web\"]`")),
            ("[]", Some("`[]`")),
            ("[::1]", None),
            ("[::1]:8561", None),
            ("a[0]", None),
            ("[a][b]", None),
            ("web", None),
        ] {
            let advice = advice(text, "services", "task.services");
            let expected = expected.map(|list| {
                format!("`task.services` is one text that looks like a list: write {list}")
            });
            assert_eq!(advice, expected, "{text}");
        }
        let hidden = advice("[hunter2]", "tokens", "tokens").unwrap();
        assert!(!hidden.contains("hunter2"), "{hidden}");
    }
}
