//! Parts of texts.

use std::fmt::Display;

/// Asserts that a text has each of these parts. A failure shows both.
#[track_caller]
pub fn assert_contains(text: impl Display, parts: impl IntoIterator<Item: AsRef<str>>) {
    let text = text.to_string();
    for part in parts {
        let part = part.as_ref();
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}
