//! Blocks in files that Terraform reads, without a parser.

use serde_json::Value;

/// Nesting depth of brackets, including brackets in texts and comments.
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

/// The elements of an array, or the value itself: JSON syntax allows both forms for one block.
pub fn each(value: &Value) -> impl Iterator<Item = &Value> {
    let elements = value.as_array().map_or(&[][..], Vec::as_slice);
    let single = (!value.is_array()).then_some(value);
    elements.iter().chain(single)
}
