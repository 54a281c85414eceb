//! The tree as HCL 1.

use serde_json::{Map, Value};

use crate::dump_body::{Body, Item};

pub(super) fn text(body: &Body) -> String {
    let mut text = String::new();
    write_body(&mut text, body, 0);
    text
}

fn write_body(text: &mut String, body: &Body, depth: usize) {
    for (index, item) in body.items.iter().enumerate() {
        let is_block = matches!(item, Item::Block { .. });
        if depth == 0 && is_block && index > 0 {
            text.push('\n');
        }
        match item {
            Item::Attribute {
                value: Value::Null, ..
            } => continue,
            Item::Attribute { name, value } => {
                indent(text, depth);
                text.push_str(&key(name));
                text.push_str(" = ");
                write_value(text, value, depth);
            }
            Item::Block {
                name, label, body, ..
            } => {
                indent(text, depth);
                text.push_str(name);
                if let Some(label) = label {
                    text.push(' ');
                    text.push_str(&quoted(label));
                }
                if body.items.is_empty() {
                    text.push_str(" {}");
                } else {
                    text.push_str(" {\n");
                    write_body(text, body, depth + 1);
                    indent(text, depth);
                    text.push('}');
                }
            }
            Item::Note(note) => {
                indent(text, depth);
                text.push_str("# ");
                // A line break would end the comment.
                text.extend(note.chars().map(|c| if c.is_control() { ' ' } else { c }));
            }
        }
        text.push('\n');
    }
}

fn write_value(text: &mut String, value: &Value, depth: usize) {
    match value {
        // As the reader takes it inside a list; an attribute is left out.
        Value::Null => text.push_str("\"\""),
        Value::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => text.push_str(&number.to_string()),
        Value::String(string) => text.push_str(&quoted(string)),
        Value::Array(values) => {
            text.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                write_value(text, value, depth);
            }
            text.push(']');
        }
        Value::Object(map) => write_object(text, map, depth),
    }
}

fn write_object(text: &mut String, map: &Map<String, Value>, depth: usize) {
    let entries = || map.iter().filter(|(_, value)| !value.is_null());
    if entries().next().is_none() {
        text.push_str("{}");
        return;
    }
    text.push_str("{\n");
    for (name, value) in entries() {
        indent(text, depth + 1);
        text.push_str(&key(name));
        text.push_str(" = ");
        write_value(text, value, depth + 1);
        text.push('\n');
    }
    indent(text, depth);
    text.push('}');
}

fn indent(text: &mut String, depth: usize) {
    for _ in 0..depth {
        text.push_str("  ");
    }
}

fn key(name: &str) -> String {
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        && !matches!(name, "true" | "false");
    if is_word {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// A string as HCL 1 reads it: what would begin an interpolation, in which other rules hold, is
/// escaped as well.
fn quoted(string: &str) -> String {
    let mut text = String::with_capacity(string.len() + 2);
    text.push('"');
    let mut characters = string.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '$' if characters.peek() == Some(&'{') => text.push_str("\\x24"),
            // The last two are refused by the scanner of HCL 1 wherever they stand.
            '\u{feff}' | '\u{e123}' => push_escaped(&mut text, character),
            other if other.is_control() => push_escaped(&mut text, other),
            other => text.push(other),
        }
    }
    text.push('"');
    text
}

fn push_escaped(text: &mut String, character: char) {
    let escaped = format!("\\u{:04x}", u32::from(character));
    text.push_str(&escaped);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn strings_are_escaped_for_version_one() {
        let cases = [
            ("a", r#""a""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("a\nb\tc\u{7}", r#""a\nb\tc\u0007""#),
            ("${x} $x $", r#""\x24{x} $x $""#),
        ];
        for (text, expected) in cases {
            assert_eq!(quoted(text), expected);
        }
    }

    proptest! {
        #[test]
        fn written_keys_and_texts_are_read_back_unchanged(name in any::<String>(), text in any::<String>()) {
            let source = format!("{} = {}\n", key(&name), quoted(&text));
            let body = cts_hcl1::parse(source.as_bytes()).unwrap();
            let [item] = body.items.as_slice() else { panic!("{source}") };
            prop_assert_eq!(&item.keys[0].text, &name);
            prop_assert_eq!(&item.value.kind, &cts_hcl1::ValueKind::String(text));
        }
    }
}
