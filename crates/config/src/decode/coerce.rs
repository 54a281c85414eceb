//! Conversions between types (docs/configuration.md#types). Files in the field rely on them.

use cts_core::go::{parse_bool, parse_duration};
use cts_hcl1::{Number, Span, Value, ValueKind};

use crate::report::mask::may_hold_secret;

const BEYOND: &str = "a number beyond 64 bits";

/// A value whose type cannot be converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    pub(crate) expected: &'static str,
    pub(crate) found: String,
    pub(crate) span: Span,
    pub(crate) help: Option<String>,
}

impl Mismatch {
    fn new(expected: &'static str, found: impl Into<String>, value: &Value) -> Self {
        Self {
            expected,
            found: found.into(),
            span: value.span.clone(),
            help: None,
        }
    }
}

/// The word for an object in HCL; JSON has a different one.
pub(crate) const A_BLOCK: &str = "a block";

/// The kind of a value, never its content: it may be a secret.
pub(crate) fn describe(value: &Value) -> &'static str {
    match &value.kind {
        ValueKind::String(_) => "text",
        ValueKind::Number(_) => "a number",
        ValueKind::Bool(_) => "a boolean",
        ValueKind::List(values) if values.is_empty() => "an empty list",
        ValueKind::List(_) => "a list",
        ValueKind::Object(_) => A_BLOCK,
        ValueKind::Null => "null",
    }
}

/// Text for a message; not if there may be a secret in it, or more of the file than one value.
pub(crate) fn quoted(text: &str) -> String {
    if text.contains('\n') || may_hold_secret(text.as_bytes()) {
        "a text that is not shown".to_owned()
    } else {
        format!("{text:?}")
    }
}

pub(crate) fn text(value: &Value) -> Result<String, Mismatch> {
    match &value.kind {
        // Neither Terraform nor Postgres takes such a text.
        ValueKind::String(text) if text.contains('\0') => {
            let found = "text with the character U+0000";
            Err(Mismatch::new("text", found, value))
        }
        ValueKind::String(text) => Ok(text.clone()),
        ValueKind::Number(Number::Integer(number)) => Ok(number.to_string()),
        ValueKind::Number(Number::Float(number)) => Ok(number.to_string()),
        ValueKind::Bool(flag) => Ok(if *flag { "1" } else { "0" }.to_owned()),
        // A key that is `null` is absent and does not get here; in a list it is an empty text.
        ValueKind::Null => Ok(String::new()),
        ValueKind::List(_) | ValueKind::Object(_) => {
            Err(Mismatch::new("text", describe(value), value))
        }
    }
}

pub(crate) fn flag(value: &Value) -> Result<bool, Mismatch> {
    const EXPECTED: &str = "true or false";
    match &value.kind {
        ValueKind::Bool(flag) => Ok(*flag),
        ValueKind::Number(Number::Integer(number)) => Ok(*number != 0),
        ValueKind::Number(Number::Float(number)) => Ok(*number != 0.0),
        ValueKind::String(text) if text.is_empty() => Ok(false),
        ValueKind::String(text) => {
            parse_bool(text).ok_or_else(|| Mismatch::new(EXPECTED, quoted(text), value))
        }
        ValueKind::List(_) | ValueKind::Object(_) | ValueKind::Null => {
            Err(Mismatch::new(EXPECTED, describe(value), value))
        }
    }
}

pub(crate) fn integer(value: &Value) -> Result<i64, Mismatch> {
    const EXPECTED: &str = "a whole number";
    match &value.kind {
        ValueKind::Number(number) => {
            truncated(*number).ok_or_else(|| Mismatch::new(EXPECTED, BEYOND, value))
        }
        ValueKind::Bool(flag) => Ok(i64::from(*flag)),
        ValueKind::String(text) if text.is_empty() => Ok(0),
        ValueKind::String(text) => {
            parse_integer(text).ok_or_else(|| Mismatch::new(EXPECTED, quoted(text), value))
        }
        ValueKind::List(_) | ValueKind::Object(_) | ValueKind::Null => {
            Err(Mismatch::new(EXPECTED, describe(value), value))
        }
    }
}

/// A duration in nanoseconds, which may be negative.
pub(crate) fn duration(value: &Value) -> Result<i64, Mismatch> {
    const EXPECTED: &str = "a duration such as \"30s\" or \"1m30s\"";
    match &value.kind {
        ValueKind::Number(number) => {
            truncated(*number).ok_or_else(|| Mismatch::new(EXPECTED, BEYOND, value))
        }
        ValueKind::Bool(flag) => Ok(i64::from(*flag)),
        ValueKind::String(text) => parse_duration(text).map_err(|_invalid| Mismatch {
            help: text
                .parse::<f64>()
                .is_ok()
                .then(|| format!("give a unit, for example \"{text}s\"")),
            ..Mismatch::new(EXPECTED, quoted(text), value)
        }),
        ValueKind::List(_) | ValueKind::Object(_) | ValueKind::Null => {
            Err(Mismatch::new(EXPECTED, describe(value), value))
        }
    }
}

/// A number of bytes, with its unit.
pub(crate) fn size(value: &Value) -> Result<u64, Mismatch> {
    const EXPECTED: &str = "a size such as \"512MiB\" or \"20GiB\"";
    match &value.kind {
        ValueKind::String(text) => cts_core::parse_size(text).ok_or_else(|| Mismatch {
            help: text
                .parse::<u64>()
                .is_ok()
                .then(|| format!("give a unit, for example \"{text}MiB\"")),
            ..Mismatch::new(EXPECTED, quoted(text), value)
        }),
        ValueKind::Number(_)
        | ValueKind::Bool(_)
        | ValueKind::List(_)
        | ValueKind::Object(_)
        | ValueKind::Null => Err(Mismatch::new(EXPECTED, describe(value), value)),
    }
}

/// Without its fraction; `None` beyond 64 bits, where no number is the one that was meant.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "fractions are cut off by definition, and the limits are powers of two"
)]
fn truncated(number: Number) -> Option<i64> {
    match number {
        Number::Integer(number) => Some(number),
        Number::Float(number) => {
            let limits = i64::MIN as f64..-(i64::MIN as f64);
            limits.contains(&number).then_some(number as i64)
        }
    }
}

/// A sign, a base prefix and `_` between digits are understood; a leading zero means octal.
fn parse_integer(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = [("0x", 16), ("0o", 8), ("0b", 2), ("0", 8)]
        .into_iter()
        .find_map(|(prefix, radix)| Some((radix, lower.strip_prefix(prefix)?)))
        .filter(|(_, rest)| !rest.is_empty())
        .unwrap_or((10, &lower));
    // An underscore may follow a base prefix, but must stand before a digit.
    let misplaced = digits.contains("__") || digits.ends_with('_');
    if misplaced || (radix == 10 && digits.starts_with('_')) {
        return None;
    }
    let digits = digits.replace('_', "");
    if !digits.starts_with(|c: char| c.is_digit(radix)) {
        return None;
    }
    let magnitude = i128::from_str_radix(&digits, radix).ok()?;
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        let body = cts_hcl1::parse(format!("x = {text}").as_bytes()).unwrap();
        body.items.into_iter().next().unwrap().value
    }

    #[test]
    fn scalars_become_text() {
        let cases = [
            ("\"a\"", "a"),
            ("5", "5"),
            ("1.5", "1.5"),
            ("1e3", "1000"),
            ("true", "1"),
            ("false", "0"),
        ];
        for (written, expected) in cases {
            assert_eq!(text(&value(written)).unwrap(), expected, "{written}");
        }
        for bad in ["[]", "[\"a\"]", "{}", "\"a\\u0000\""] {
            assert!(text(&value(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_and_known_words_become_booleans() {
        for yes in ["true", "1", "-2", "0.5", "\"t\"", "\"True\""] {
            assert_eq!(flag(&value(yes)), Ok(true), "{yes}");
        }
        for no in ["false", "0", "\"\"", "\"F\"", "\"False\""] {
            assert_eq!(flag(&value(no)), Ok(false), "{no}");
        }
        for bad in ["\"yes\"", "\"on\"", "\"tRUE\"", "\" true\"", "[]", "{}"] {
            assert!(flag(&value(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn numeric_text_becomes_an_integer() {
        let cases = [
            ("7", 7),
            ("7.9", 7),
            ("true", 1),
            ("\"\"", 0),
            ("\"0x10\"", 16),
            ("\"010\"", 8),
            ("\"0o17\"", 15),
            ("\"0b11\"", 3),
            ("\"-5\"", -5),
            ("\"+5\"", 5),
            ("\"1_000\"", 1000),
            ("\"0\"", 0),
            ("\"-9223372036854775808\"", i64::MIN),
        ];
        for (written, expected) in cases {
            assert_eq!(integer(&value(written)), Ok(expected), "{written}");
        }
        for bad in [
            "\" 5\"",
            "\"5.0\"",
            "\"_5\"",
            "\"5_\"",
            "\"0x\"",
            "\"089\"",
            "\"--5\"",
            "\"9223372036854775808\"",
            "1e19",
            "-1e300",
            "[]",
        ] {
            assert!(integer(&value(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn bare_numbers_are_nanoseconds() {
        assert_eq!(duration(&value("5")), Ok(5));
        assert_eq!(duration(&value("true")), Ok(1));
        assert_eq!(duration(&value("\"-2s\"")), Ok(-2_000_000_000));
        for bad in ["\"10\"", "\"\"", "\" \"", "\"1d\"", "[]", "{}"] {
            assert!(duration(&value(bad)).is_err(), "{bad}");
        }
    }
}
