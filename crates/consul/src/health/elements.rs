//! The elements of a JSON list, without looking into them.

use serde::de::IgnoredAny;
use serde_json::Deserializer;

/// The text of each element of the list in `body`; `None` if `body` is not a complete list. Numbers that are too large,
/// odd escapes and deep nesting inside an element do no harm here.
pub(super) fn split(body: &[u8]) -> Option<Vec<&[u8]>> {
    let mut elements = Vec::new();
    let mut rest = after(body, b'[')?;
    if let Some(rest) = after(rest, b']') {
        return ends(rest).then_some(elements);
    }
    loop {
        let mut element = Deserializer::from_slice(rest).into_iter::<IgnoredAny>();
        element.next()?.ok()?;
        let (element, behind) = rest.split_at_checked(element.byte_offset())?;
        elements.push(element);
        match after(behind, b',') {
            Some(behind) => rest = behind,
            None => return ends(after(behind, b']')?).then_some(elements),
        }
    }
}

/// Returns the text after `mark`, which may have blanks before it.
fn after(text: &[u8], mark: u8) -> Option<&[u8]> {
    text.trim_ascii_start().strip_prefix(&[mark])
}

fn ends(rest: &[u8]) -> bool {
    rest.trim_ascii().is_empty()
}
