//! Blocks in files that Terraform reads, without a parser.

use serde_json::Value;

/// How deep brackets are nested, those in texts and comments counted, too.
pub fn depth(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The elements of an array, or the value itself: in JSON syntax one block can be written either way.
pub fn each(value: &Value) -> impl Iterator<Item = &Value> {
    let elements = value.as_array().map_or(&[][..], Vec::as_slice);
    let single = (!value.is_array()).then_some(value);
    elements.iter().chain(single)
}
