//! Reads JSON into the same tree as HCL, so that every key and value has its place.
//!
//! The language is that of RFC 8259 and nothing beyond it (docs/configuration.md#json). Two parsers read the
//! text: the one that records places reads dialects of JSON too and lets some of their freedoms pass even
//! when configured not to, so the strict one has the last word.

mod advice;
mod json_error;

use cts_hcl1::{Body, Item, Key, MAXIMUM_DEPTH, Number, Span, Value, ValueKind};
use jsonc_parser::ast;
use jsonc_parser::common::Range;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::de::IgnoredAny;

pub(crate) use self::json_error::JsonError;

/// Nothing but what the RFC allows.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads a whole file, whose top must be an object, or `null` for an empty one.
///
/// Repeated keys are all kept, in their order. Time and memory are linear in the length of the file;
/// deeper nesting than [`MAXIMUM_DEPTH`] is an error.
pub(crate) fn parse(bytes: &[u8]) -> Result<Body, JsonError> {
    let text = advice::text(bytes)?;
    check_depth(text)?;
    let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT)
        .map_err(|error| advice::explain(text, &error))?;
    check_characters(text)?;
    serde_json::from_str::<IgnoredAny>(text)
        .map_err(|error| advice::explain_strict(text, &error))?;
    let whole = 0..text.len();
    match parsed.value {
        Some(ast::Value::Object(object)) => body(object),
        Some(ast::Value::NullKeyword(_)) => Ok(Body {
            items: Vec::new(),
            span: whole,
        }),
        Some(other) => {
            let value = value(other)?;
            let found = advice::describe(&value.kind);
            let message =
                format!("found {found} at the top of the file, expected an object, `{{ … }}`");
            Err(JsonError::new(message, value.span))
        }
        // The strict parser has refused a text without a value.
        None => Err(advice::empty(text)),
    }
}

/// Guards the stack: both parsers and all code that walks the tree recurse.
fn check_depth(text: &str) -> Result<(), JsonError> {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                if depth > MAXIMUM_DEPTH {
                    let message = format!(
                        "found `{}` inside {MAXIMUM_DEPTH} others, expected no deeper nesting",
                        char::from(byte)
                    );
                    return Err(JsonError::new(message, at..at + 1));
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// In a text that is JSON otherwise: control characters within strings, and blanks that are none.
fn check_characters(text: &str) -> Result<(), JsonError> {
    let mut in_string = false;
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '\0'..=' ' if in_string && character != ' ' => {
                let message = "found a control character, expected text without any";
                return Err(JsonError::new(message, at..at + 1).with_help(
                    "write it as an escape: \\n for a line break, \\t for a tab, \\u000b for others",
                ));
            }
            ' ' | '\t' | '\n' | '\r' => {}
            _ if !in_string && character.is_whitespace() => {
                let span = at..at + character.len_utf8();
                return Err(JsonError::new("unexpected character", span)
                    .with_help("this is not an ordinary blank; replace it by one"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn span(range: Range) -> Span {
    range.start..range.end
}

fn body(object: ast::Object<'_>) -> Result<Body, JsonError> {
    let mut items = Vec::with_capacity(object.properties.len());
    for property in object.properties {
        let (text, range) = match property.name {
            ast::ObjectPropName::String(name) => (name.value.into_owned(), name.range),
            ast::ObjectPropName::Word(name) => (name.value.to_owned(), name.range),
        };
        items.push(Item {
            keys: vec![Key {
                text,
                quoted: true,
                span: span(range),
            }],
            value: value(property.value)?,
            assigned: true,
            span: span(property.range),
        });
    }
    Ok(Body {
        items,
        span: span(object.range),
    })
}

fn value(value: ast::Value<'_>) -> Result<Value, JsonError> {
    Ok(match value {
        ast::Value::StringLit(text) => Value {
            kind: ValueKind::String(text.value.into_owned()),
            span: span(text.range),
        },
        ast::Value::NumberLit(number) => Value {
            kind: ValueKind::Number(read_number(number.value).ok_or_else(|| {
                JsonError::new("this number is beyond 64 bits", span(number.range))
                    .with_help("if all its digits matter, put it between double quotes")
            })?),
            span: span(number.range),
        },
        ast::Value::BooleanLit(flag) => Value {
            kind: ValueKind::Bool(flag.value),
            span: span(flag.range),
        },
        ast::Value::NullKeyword(null) => Value {
            kind: ValueKind::Null,
            span: span(null.range),
        },
        ast::Value::Object(object) => {
            let body = body(object)?;
            Value {
                span: body.span.clone(),
                kind: ValueKind::Object(body),
            }
        }
        ast::Value::Array(array) => Value {
            span: span(array.range),
            kind: ValueKind::List(
                array
                    .elements
                    .into_iter()
                    .map(self::value)
                    .collect::<Result<_, _>>()?,
            ),
        },
    })
}

/// `None` for a number that 64 bits cannot hold: the nearest one they can would be another number.
fn read_number(written: &str) -> Option<Number> {
    if written.contains(['.', 'e', 'E']) {
        let float: f64 = written.parse().ok()?;
        return float.is_finite().then_some(Number::Float(float));
    }
    written.parse().ok().map(Number::Integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: impl AsRef<[u8]>) -> (Span, String, String) {
        let error = parse(text.as_ref()).unwrap_err();
        (error.span, error.message, error.help.unwrap_or_default())
    }

    #[test]
    fn every_node_knows_its_place() {
        let text = r#" {"a": {"b\u0041": [1, -2.5e1, true, null, "ö\n"]}} "#;
        let file = parse(text.as_bytes()).unwrap();
        assert_eq!(&text[file.span], text.trim());
        let item = &file.items[0];
        assert_eq!(
            (&text[item.keys[0].span.clone()], &*item.keys[0].text),
            ("\"a\"", "a")
        );
        let ValueKind::Object(inner) = &item.value.kind else {
            panic!("{item:?}");
        };
        assert_eq!(inner.items[0].keys[0].text, "bA");
        let list = &inner.items[0].value;
        assert_eq!(
            &text[list.span.clone()],
            r#"[1, -2.5e1, true, null, "ö\n"]"#
        );
        let ValueKind::List(elements) = &list.kind else {
            panic!("{list:?}");
        };
        let kinds: Vec<&ValueKind> = elements.iter().map(|element| &element.kind).collect();
        let expected = [
            ValueKind::Number(Number::Integer(1)),
            ValueKind::Number(Number::Float(-25.0)),
            ValueKind::Bool(true),
            ValueKind::Null,
            ValueKind::String("ö\n".into()),
        ];
        assert_eq!(kinds, expected.iter().collect::<Vec<_>>());
        assert_eq!(&text[elements[3].span.clone()], "null");
    }

    #[test]
    fn null_at_the_top_is_an_empty_file() {
        assert!(parse(b" null\n").unwrap().items.is_empty());
        assert!(parse(b"{}").unwrap().items.is_empty());
    }

    #[test]
    fn repeated_keys_are_all_kept() {
        assert_eq!(parse(br#"{"a": 1, "a": 2}"#).unwrap().items.len(), 2);
    }

    #[test]
    fn faults_are_named_where_they_are() {
        let cases = [
            ("", 0, "empty"),
            (" \n", 0, "empty"),
            (
                "[]",
                0,
                "found an empty list at the top of the file, expected an object",
            ),
            ("\"a\"", 0, "found text at the top"),
            (r#"{"a": 1,}"#, 7, "comma behind the last"),
            (r#"{"a": [1,]}"#, 8, "comma behind the last"),
            (r#"{"a": 1 "b": 2}"#, 7, "expected `,`"),
            (r#"{"a": [1 2]}"#, 8, "expected `,`"),
            (r#"{"a" 1}"#, 5, "expected `:`"),
            ("{\"a\" = 1}", 5, "unexpected"),
            (r#"{"a": }"#, 6, "expected a value"),
            (r#"{"a": 1"#, 0, "not closed"),
            (r#"{"a": [1"#, 6, "not closed"),
            (r#"{"a": "x"#, 6, "not closed"),
            (r#"{"a": 1}}"#, 8, "behind the end"),
            (r#"{"a": 1} {}"#, 9, "behind the end"),
            ("{a: 1}", 1, "double quotes"),
            ("{'a': 1}", 1, "double quotes"),
            (r#"{"a": 'x'}"#, 6, "double quotes"),
            ("// x\n{}", 0, "comments"),
            ("{ # x\n}", 2, "unexpected"),
            (r#"{"a": yes}"#, 6, "unexpected word"),
            (r#"{"a": +1}"#, 6, "number"),
            (r#"{"a": 0x10}"#, 6, "number"),
            (r#"{"a": 01}"#, 7, "expected `,`"),
            (r#"{"a": .5}"#, 6, "number"),
            (r#"{"a": 1.}"#, 6, "number"),
            (r#"{"a": 1e}"#, 8, "number"),
            (r#"{"a": -}"#, 7, "number"),
            (r#"{"a": NaN}"#, 6, "unexpected word"),
            (r#"{"a": "\x41"}"#, 7, "escape"),
            (r#"{"a": "\u12"}"#, 7, "escape"),
            (r#"{"a": "\ud800"}"#, 7, "escape"),
            ("{\"a\": \"\t\"}", 7, "control character"),
            ("{\u{a0}}", 1, "unexpected"),
            ("\u{feff}{}", 0, "byte order mark"),
            (r#"{"a": 9223372036854775808}"#, 6, "beyond 64 bits"),
            (r#"{"a": 1e400}"#, 6, "beyond 64 bits"),
        ];
        for (text, at, part) in cases {
            let (span, message, _) = fault(text);
            assert!(message.contains(part), "{text}: {message}");
            assert_eq!(span.start, at, "{text}: {message}");
            assert!(span.end <= text.len(), "{text}: {span:?}");
        }
        let (span, message, _) = fault(b"{\"a\": \"\xff\"}");
        assert!(message.contains("UTF-8"), "{message}");
        assert_eq!(span, 7..8);
    }

    #[test]
    fn help_is_given_for_habits_of_other_languages() {
        for (text, part) in [
            ("# x\n{}", "no comments"),
            (r#"{"a": 1,}"#, "remove"),
            ("{\"a\" = 1}", "`:`"),
            (r#"{"a": True}"#, "`true`"),
            (r#"{"a": 18446744073709551616}"#, "quotes"),
        ] {
            let (_, message, help) = fault(text);
            assert!(help.contains(part), "{text}: {message}: {help}");
        }
    }

    #[test]
    fn nesting_is_limited_before_anything_recurses() {
        let nested = |depth: usize| {
            let inside = depth - 1;
            format!("{{\"a\":{}{}}}", "[".repeat(inside), "]".repeat(inside))
        };
        assert!(parse(nested(MAXIMUM_DEPTH).as_bytes()).is_ok());
        let (span, message, _) = fault(nested(MAXIMUM_DEPTH + 1));
        assert!(message.contains("no deeper nesting"), "{message}");
        assert_eq!(span.start, 5 + MAXIMUM_DEPTH - 1);
        assert!(parse("[".repeat(1_000_000).as_bytes()).is_err());
        assert!(parse("{\"a\":".repeat(200_000).as_bytes()).is_err());
        let in_text = format!("{{\"a\": \"{}\"}}", "[".repeat(1000));
        assert!(parse(in_text.as_bytes()).is_ok());
    }
}
