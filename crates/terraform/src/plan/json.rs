//! Values of a plan, as texts of JSON: every number stays as the engine has written it.

use std::collections::BTreeMap;

use cts_core::IgnoredPaths;
use serde::de::Error as _;
use serde_json::Error;
use serde_json::value::RawValue;

/// Deeper nested values cannot be read: functions here call themselves.
const DEEPEST: usize = 100;

/// The form of a value.
pub(super) enum Shape<'v> {
    /// `null`, a boolean, a number, a text, or an empty list or map.
    Leaf,
    List(Vec<&'v RawValue>),
    Map(BTreeMap<String, &'v RawValue>),
}

impl<'v> Shape<'v> {
    /// The form of a value at this depth.
    pub(super) fn of(value: &'v RawValue, depth: usize) -> Result<Self, Error> {
        let shape = match value.get().as_bytes().first() {
            Some(b'[') => Self::List(serde_json::from_str(value.get())?),
            Some(b'{') => Self::Map(serde_json::from_str(value.get())?),
            _ => return Ok(Self::Leaf),
        };
        if depth > DEEPEST {
            return Err(Error::custom("a value is nested too deeply"));
        }
        Ok(match shape {
            Self::List(list) if list.is_empty() => Self::Leaf,
            Self::Map(map) if map.is_empty() => Self::Leaf,
            shape => shape,
        })
    }

    pub(super) const fn is_leaf(&self) -> bool {
        matches!(self, Self::Leaf)
    }
}

/// Whether a value is `true`.
pub(super) fn is_true(value: &RawValue) -> bool {
    value.get() == "true"
}

/// The text of a value that is a text.
pub(super) fn text(value: &RawValue) -> Result<Option<String>, Error> {
    if value.get().starts_with('"') {
        serde_json::from_str(value.get()).map(Some)
    } else {
        Ok(None)
    }
}

/// Appends a byte string with its length.
pub(super) fn put(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend((bytes.len() as u64).to_be_bytes());
    out.extend(bytes);
}

/// Appends bytes that are the same for equal values, and for them only: members are in the order of their names, and
/// numbers are as they are written.
pub(super) fn encode(value: &RawValue, out: &mut Vec<u8>) -> Result<(), Error> {
    encode_except(value, &IgnoredPaths::default(), out)
}

/// As [`encode`], without the ignored parts of the value.
pub(super) fn encode_except(
    value: &RawValue,
    ignored: &IgnoredPaths<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    encode_at(value, (ignored, 0), out)
}

fn encode_at(
    value: &RawValue,
    (ignored, depth): (&IgnoredPaths<'_>, usize),
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    match Shape::of(value, depth)? {
        Shape::List(values) => {
            out.push(b'[');
            out.extend((values.len() as u64).to_be_bytes());
            for (index, value) in values.into_iter().enumerate() {
                match ignored.of_index(index) {
                    Some(ignored) => encode_at(value, (&ignored, depth + 1), out)?,
                    None => out.push(b'-'),
                }
            }
        }
        Shape::Map(members) => {
            let members = members.into_iter();
            let members = members.filter_map(|(name, value)| {
                let ignored = ignored.of_key(&name)?;
                Some((name, value, ignored))
            });
            let members: Vec<_> = members.collect();
            out.push(b'{');
            out.extend((members.len() as u64).to_be_bytes());
            for (name, value, ignored) in members {
                put(name.as_bytes(), out);
                encode_at(value, (&ignored, depth + 1), out)?;
            }
        }
        Shape::Leaf => {
            if let Some(text) = text(value)? {
                out.push(b'"');
                put(text.as_bytes(), out);
            } else {
                out.push(b'#');
                put(leaf(value).as_bytes(), out);
            }
        }
    }
    Ok(())
}

/// The text of a leaf, which has no spaces.
pub(super) fn leaf(value: &RawValue) -> &str {
    match value.get().as_bytes().first() {
        Some(b'[') => "[]",
        Some(b'{') => "{}",
        _ => value.get(),
    }
}

/// Appends the places of all marks that are `true` and not ignored, and returns whether there are any. Other marks mean
/// nothing.
pub(super) fn encode_marks(
    marks: &RawValue,
    ignored: &IgnoredPaths<'_>,
    out: &mut Vec<u8>,
) -> Result<bool, Error> {
    encode_marks_at(marks, (ignored, 0), out)
}

fn encode_marks_at(
    marks: &RawValue,
    (ignored, depth): (&IgnoredPaths<'_>, usize),
    out: &mut Vec<u8>,
) -> Result<bool, Error> {
    let mut any = false;
    let mut member = |start: usize, inner: bool, out: &mut Vec<u8>| {
        any |= inner;
        if inner {
            out.push(b')');
        } else {
            out.truncate(start);
        }
    };
    match Shape::of(marks, depth)? {
        Shape::Leaf if is_true(marks) => {
            out.push(b't');
            return Ok(true);
        }
        Shape::Leaf => {}
        Shape::List(values) => {
            for (index, value) in values.into_iter().enumerate() {
                let Some(ignored) = ignored.of_index(index) else {
                    continue;
                };
                let start = out.len();
                out.push(b'[');
                out.extend((index as u64).to_be_bytes());
                let inner = encode_marks_at(value, (&ignored, depth + 1), out)?;
                member(start, inner, out);
            }
        }
        Shape::Map(members) => {
            for (name, value) in members {
                let Some(ignored) = ignored.of_key(&name) else {
                    continue;
                };
                let start = out.len();
                out.push(b'{');
                put(name.as_bytes(), out);
                let inner = encode_marks_at(value, (&ignored, depth + 1), out)?;
                member(start, inner, out);
            }
        }
    }
    Ok(any)
}

/// Whether any mark is `true`.
pub(super) fn has_mark(marks: &RawValue) -> Result<bool, Error> {
    encode_marks(marks, &IgnoredPaths::default(), &mut Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    fn encoded(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        encode(raw(text), &mut out).unwrap();
        out
    }

    #[test]
    fn equal_values_have_equal_bytes_and_different_ones_have_not() {
        let equal = [
            (r#"{"a":1,"b":[2]}"#, r#"{ "b" : [ 2 ], "a" : 1 }"#),
            (r#""\u003c""#, r#""<""#),
            ("{ }", "{}"),
        ];
        for (one, other) in equal {
            assert_eq!(encoded(one), encoded(other), "{one}");
        }
        let all = [
            "1",
            "1.0",
            "10",
            "1e1",
            "12345678901234567890123",
            "12345678901234567890124",
            "\"1\"",
            "null",
            "\"null\"",
            "true",
            "[]",
            "{}",
            "[[]]",
            "[1,2]",
            "[12]",
            "[[1],2]",
            "[[1,2]]",
            "{\"a\":1}",
            "{\"a\":{\"b\":1}}",
            "{\"a\":{},\"b\":1}",
            "\"[]\"",
        ];
        for (index, one) in all.iter().enumerate() {
            for other in &all[index + 1..] {
                assert_ne!(encoded(one), encoded(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn only_marks_that_are_true_count() {
        let marks = |text: &str| {
            let mut out = Vec::new();
            let any = encode_marks(raw(text), &IgnoredPaths::default(), &mut out).unwrap();
            assert_eq!(any, !out.is_empty());
            out
        };
        assert_eq!(
            marks(r#"{"a":[false,true],"b":{}}"#),
            marks(r#"{"a":[{},true]}"#)
        );
        assert_ne!(
            marks(r#"{"a":[false,true]}"#),
            marks(r#"{"a":[true,false]}"#)
        );
        assert_ne!(
            marks(r#"{"a":{"b":true}}"#),
            marks(r#"{"a":true,"b":true}"#)
        );
        assert!(marks(r#"{"a":[false,{}]}"#).is_empty());
    }

    #[test]
    fn a_value_that_is_nested_too_deeply_is_an_error() {
        let text = format!("{}1{}", "[".repeat(2000), "]".repeat(2000));
        assert!(encode(raw(&text), &mut Vec::new()).is_err());
        assert!(has_mark(raw(&text)).is_err());
    }
}
