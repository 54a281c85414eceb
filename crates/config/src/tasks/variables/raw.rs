//! `variables` of a task's block, and values as the text of expressions.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cts_hcl1::{Value as Written, ValueKind};
use serde_json::Value;

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::location::SourceLocation;
use crate::tasks::variables::{evaluate_text, without_text};

/// A variable of the block.
#[derive(Debug)]
pub(crate) struct Variable {
    /// The text of an HCL 2 expression.
    pub(crate) text: String,
    pub(crate) value: Value,
    /// Place of the name.
    pub(crate) place: SourceLocation,
}

/// Reads the map `variables`, whose texts are expressions.
///
/// A bare `true` is not text either. In the original it arrives as the number 1 (docs/compatibility.md), here
/// unchanged.
pub(crate) fn decode_variables(task: &mut Block<'_>) -> BTreeMap<String, Variable> {
    let block = task.united("variables");
    let sink = block.sink();
    let mut variables = BTreeMap::new();
    for entry in block.into_entries() {
        let Some(written) = entry.single_value() else {
            let message = format!("variable `{}` must be text, not a block", entry.name());
            sink.error(&entry.key_place(), message);
            continue;
        };
        if entry.is_unset() {
            continue;
        }
        let place = SourceLocation::new(entry.source(), written.span.clone());
        match variable(entry.name(), written) {
            Ok((text, value)) => {
                let place = entry.key_place();
                variables.insert(entry.name().to_owned(), Variable { text, value, place });
            }
            Err((message, help)) => sink.error_with_help(&place, message, help),
        }
    }
    variables
}

/// The text of the expression, and its value.
fn variable(name: &str, written: &Written) -> Result<(String, Value), (String, Option<String>)> {
    if let ValueKind::Bool(flag) = written.kind {
        return Ok((flag.to_string(), Value::Bool(flag)));
    }
    let text = coerce::text(written).map_err(|mismatch| {
        let message = format!("variable `{name}` must be text, not {}", mismatch.found);
        let help = "the value is the text of an expression, as in \"[1, 2]\"";
        (message, Some(help.to_owned()))
    })?;
    match evaluate_text(&text) {
        Ok(value) => Ok((text, value)),
        Err(reason) => {
            let reason = without_text(name, &reason);
            let message = format!("variable `{name}` is no HCL expression: {reason}");
            let help = "the value is the text of an expression, so a string needs quotes of its own: \
                        \"\\\"text\\\"\"";
            Err((message, Some(help.to_owned())))
        }
    }
}

/// The text of an expression with this value, as the API takes it. Unlike the original's it is not plain
/// JSON, in which a `${` that is part of a value would begin a template (docs/compatibility.md).
pub(crate) fn expression_of(value: &Value) -> String {
    let mut text = String::new();
    push(&mut text, value);
    text
}

fn push(text: &mut String, value: &Value) {
    match value {
        Value::String(string) => push_string(text, string),
        Value::Array(values) => {
            text.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                push(text, value);
            }
            text.push(']');
        }
        Value::Object(members) => {
            text.push('{');
            for (index, (name, value)) in members.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                push_string(text, name);
                text.push_str(" = ");
                push(text, value);
            }
            text.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => text.push_str(&value.to_string()),
    }
}

fn push_string(text: &mut String, string: &str) {
    text.push('"');
    let mut characters = string.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '$' | '%' if characters.peek() == Some(&'{') => {
                text.push(character);
                text.push(character);
            }
            control if control.is_control() => {
                let written = write!(text, "\\u{:04x}", u32::from(control));
                written.expect("writing into a string does not fail");
            }
            other => text.push(other),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_expressions() {
        let cases = [
            (json!("a\"b\\c\n"), r#""a\"b\\c\n""#),
            (json!("${x} %{y} $ % $$"), r#""$${x} %%{y} $ % $$""#),
            (json!("\u{8}"), r#""\u0008""#),
            (json!([1, 2.5, true, null]), "[1, 2.5, true, null]"),
            (json!({"a b": {"c": []}}), r#"{"a b" = {"c" = []}}"#),
        ];
        for (value, expected) in cases {
            assert_eq!(expression_of(&value), expected);
            assert_eq!(evaluate_text(expected), Ok(value));
        }
    }

    proptest! {
        #[test]
        fn the_text_of_any_string_evaluates_to_it(string in "[a${}%\"\\\\\n\t\u{1}-\u{ff}]{0,20}") {
            let value = Value::from(string);
            prop_assert_eq!(evaluate_text(&expression_of(&value)), Ok(value));
        }
    }
}
