//! Values as texts of HCL expressions (docs/rest.md#task-objects): compact JSON, which Terraform reads as well. Only what
//! would begin a template is escaped, and control characters for which HCL has no short form.

use std::io::{self, Write};

use serde::Serialize as _;
use serde_json::ser::{CharEscape, Formatter, Serializer};

/// The text of an expression with this value.
pub(super) fn expression_text(value: &serde_json::Value) -> String {
    let mut text = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut text, Expression));
    match written.map(|()| String::from_utf8(text)) {
        Ok(Ok(text)) => text,
        _ => value.to_string(),
    }
}

struct Expression;

impl Formatter for Expression {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + Write,
    {
        let mut before = ['\0', '\0'];
        for character in fragment.chars() {
            if character == '{' {
                match before {
                    // A further dollar would not escape the brace: `$$${` begins a template after a dollar.
                    ['$', '$'] => writer.write_all(br"\u0024")?,
                    ['%', '%'] => writer.write_all(br"\u0025")?,
                    [_, '$'] => writer.write_all(b"$$")?,
                    [_, '%'] => writer.write_all(b"%%")?,
                    [_, other] => write_pending(writer, other)?,
                }
            } else {
                write_pending(writer, before[1])?;
            }
            before = [before[1], character];
        }
        write_pending(writer, before[1])
    }

    fn write_char_escape<W>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()>
    where
        W: ?Sized + Write,
    {
        let text: &[u8] = match escape {
            CharEscape::Backspace => br"\u0008",
            CharEscape::FormFeed => br"\u000c",
            other => return serde_json::ser::CompactFormatter.write_char_escape(writer, other),
        };
        writer.write_all(text)
    }
}

/// Writes a character that was held until the next character was known.
fn write_pending<W: ?Sized + Write>(writer: &mut W, character: char) -> io::Result<()> {
    if character == '\0' {
        return Ok(());
    }
    writer.write_all(character.encode_utf8(&mut [0; 4]).as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn values_are_compact_json() {
        for text in [
            r#""eu-west""#,
            "3",
            "true",
            "null",
            r#"["a","b"]"#,
            r#"{"a":{"b":[1,2.5]},"c":"x \"y\" \\ \n"}"#,
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(expression_text(&value), text);
        }
    }

    #[test]
    fn templates_are_escaped() {
        let text = expression_text(&json!("eu \"west\" ${x} %{y} $ % $x {z}"));
        assert_eq!(text, r#""eu \"west\" $${x} %%{y} $ % $x {z}""#);
        assert_eq!(expression_text(&json!("$${x}")), r#""$\u0024{x}""#);
    }

    #[test]
    fn each_text_has_the_value_that_it_was_made_of() {
        for value in [
            json!(
                "${x} $${x} $$${x} %{x} %%{x} $% {x} \u{8}\u{c}\u{1}\u{1f}\n\r\t / \\ \" \u{e9}\u{1f600}"
            ),
            json!({"a ${b}": ["%{c}", {"d": null}], "e": -1.5}),
        ] {
            let text = format!("v = {}\n", expression_text(&value));
            let read: Value = hcl::from_str(&text).unwrap();
            assert_eq!(read["v"], value, "{text}");
        }
    }
}
