//! JSON values as HCL expressions, laid out like `terraform fmt` does (docs/terraform.md#how-files-are-written).
//!
//! `depth` is always the nesting depth of the line on which an expression begins; the first line gets
//! no indentation here, the others get theirs.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

/// Whether `text` can stand bare as a name: HCL 2's identifiers, with dashes.
pub(super) fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    characters
        .next()
        .is_some_and(|first| first == '_' || unicode_ident::is_xid_start(first))
        && characters.all(|c| c == '-' || unicode_ident::is_xid_continue(c))
}

/// `text` as a string literal that Terraform reads back as the same text.
pub(super) fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    write_quoted(&mut literal, text);
    literal
}

fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '$' | '%' if characters.peek() == Some(&'{') => {
                out.push(c);
                out.push(c);
            }
            c if is_printable(c) => out.push(c),
            c => write_escape(out, c),
        }
    }
    out.push('"');
}

/// Whether `c` can be written to a file without an escape. Combining marks count as not printable: they would merge
/// with the character before them, a quote for instance.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~') || (!c.is_ascii() && c.escape_debug().len() == 1)
}

/// `c` as `\uXXXX` or `\UXXXXXXXX`.
pub(super) fn write_escape(out: &mut String, c: char) {
    let code = u32::from(c);
    let written = if code <= 0xffff {
        write!(out, "\\u{code:04x}")
    } else {
        write!(out, "\\U{code:08x}")
    };
    written.expect("a String takes every write");
}

/// A key of an object: bare if it can be. `for` alone would begin a `for` expression; other scripts are
/// quoted because alignment then need not know the width of their bare form.
pub(super) fn key(text: &str) -> Cow<'_, str> {
    if text.is_ascii() && is_identifier(text) && text != "for" {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(quoted(text))
    }
}

/// `value` as an expression.
pub(super) fn value(value: &Value, depth: usize) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => plain_number(number),
        Value::String(text) => quoted(text),
        Value::Array(elements) => sequence("[", "]", elements, depth, self::value),
        Value::Object(members) => {
            let pairs: Vec<_> = sorted(members)
                .into_iter()
                .map(|(name, member)| (key(name), self::value(member, depth + 1)))
                .collect();
            object(&pairs, depth)
        }
    }
}

/// A map of strings as an object.
pub(super) fn string_map<'a>(
    map: impl IntoIterator<Item = (&'a String, &'a String)>,
    depth: usize,
) -> String {
    let pairs: Vec<_> = map
        .into_iter()
        .map(|(name, text)| (key(name), quoted(text)))
        .collect();
    object(&pairs, depth)
}

/// A list of strings, on one line.
pub(super) fn string_list(elements: &[String]) -> String {
    let mut list = String::from("[");
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            list.push_str(", ");
        }
        write_quoted(&mut list, element);
    }
    list.push(']');
    list
}

/// The type of `value` as a type constraint (docs/terraform.md#variablestf, #variables-and-providers).
///
/// `null` has no type of its own, and an object type can only name identifiers: values of these two kinds become `any`.
pub(super) fn type_constraint(value: &Value, depth: usize) -> String {
    match value {
        Value::Null => "any".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(elements) => sequence("tuple([", "])", elements, depth, type_constraint),
        Value::Object(members) => object_type(&sorted(members), depth),
    }
}

/// The type of an object with these members, which are sorted.
pub(super) fn object_type(members: &[(&str, &Value)], depth: usize) -> String {
    if members
        .iter()
        .any(|(name, _value)| !is_identifier(name) || *name == "for")
    {
        return "any".to_owned();
    }
    let pairs: Vec<_> = members
        .iter()
        .map(|(name, member)| (*name, type_constraint(member, depth + 1)))
        .collect();
    format!("object({})", object(&pairs, depth))
}

/// Elements between `open` and `close`: on one line, unless an element needs several lines.
///
/// Each element is rendered once: on a separate line it has the depth of that line, and text that fits on one line is
/// the same at any depth.
fn sequence(
    open: &str,
    close: &str,
    elements: &[Value],
    depth: usize,
    render: fn(&Value, usize) -> String,
) -> String {
    let rendered: Vec<_> = elements
        .iter()
        .map(|element| render(element, depth + 1))
        .collect();
    if !rendered.iter().any(|element| element.contains('\n')) {
        return format!("{open}{}{close}", rendered.join(", "));
    }
    let mut text = format!("{open}\n");
    for element in rendered {
        indent(&mut text, depth + 1);
        text.push_str(&element);
        text.push_str(",\n");
    }
    indent(&mut text, depth);
    text.push_str(close);
    text
}

/// Pairs between braces, one per line; `{}` if none are given.
pub(super) fn object<K: AsRef<str>>(pairs: &[(K, String)], depth: usize) -> String {
    if pairs.is_empty() {
        return "{}".to_owned();
    }
    let mut text = String::from("{\n");
    write_assignments(&mut text, pairs, depth + 1);
    indent(&mut text, depth);
    text.push('}');
    text
}

/// The `=` follows a longer name directly: a name of a megabyte must not make a megabyte of blanks on each
/// line.
const WIDEST_NAME: usize = 512;

/// One `name = value` per line, with `=` aligned over runs of values that fit on their line.
pub(super) fn write_assignments<K: AsRef<str>>(
    out: &mut String,
    pairs: &[(K, String)],
    depth: usize,
) {
    for run in pairs.chunk_by(|one, next| !one.1.contains('\n') && !next.1.contains('\n')) {
        let width = run
            .iter()
            .map(|(name, _value)| name.as_ref().chars().count())
            .filter(|width| *width <= WIDEST_NAME)
            .max()
            .unwrap_or_default();
        for (name, value) in run {
            let name = name.as_ref();
            indent(out, depth);
            out.push_str(name);
            out.extend(std::iter::repeat_n(
                ' ',
                width.saturating_sub(name.chars().count()),
            ));
            out.push_str(" = ");
            out.push_str(value);
            out.push('\n');
        }
    }
}

/// Indentation of a line at `depth`.
pub(super) fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

/// Integers as they are, all other numbers as a plain decimal: HCL supports exponents, but readers of the file should
/// not need them.
fn plain_number(number: &Number) -> String {
    let text = number.to_string();
    if text.contains(['e', 'E', '.']) {
        number.as_f64().map_or(text, |float| float.to_string())
    } else {
        text
    }
}

/// Members of `map` by name, whatever order the map itself keeps.
pub(super) fn sorted(map: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut members: Vec<_> = map
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    members.sort_unstable_by_key(|(name, _value)| *name);
    members
}

#[cfg(test)]
mod tests;
