//! The map that the original decodes its configuration from, made of our tree by its rules: shows that
//! our tree holds everything that these rules ask for.

use std::collections::{BTreeMap, BTreeSet};

use cts_hcl1::{Body, Key, Number, Value, ValueKind};
use serde_json::{Value as Json, json};

use crate::tree;

/// The whole document, or why it cannot be decoded.
pub(crate) fn decoded(body: &Body, source: &str) -> Result<Json, &'static str> {
    let rules = Rules { source };
    Ok(Plain::Map(rules.map(&entries(body))?).to_json())
}

/// A decoded value.
#[derive(Debug, Clone)]
enum Plain {
    Scalar(ValueKind),
    /// The flag means that only maps may be added: it began with a block.
    List(Vec<Self>, bool),
    Map(BTreeMap<String, Self>),
}

/// An item, some keys of which have been handled.
#[derive(Debug, Clone, Copy)]
struct Entry<'a> {
    keys: &'a [Key],
    value: &'a Value,
}

fn entries(body: &Body) -> Vec<Entry<'_>> {
    let items = body.items.iter();
    items
        .map(|item| Entry {
            keys: &item.keys,
            value: &item.value,
        })
        .collect()
}

const UNLABELLED: &str = "map must have string keys";

struct Rules<'a> {
    source: &'a str,
}

impl Rules<'_> {
    fn map(&self, entries: &[Entry<'_>]) -> Result<BTreeMap<String, Plain>, &'static str> {
        let mut map = BTreeMap::new();
        let mut done = BTreeSet::new();
        for entry in entries {
            let (key, labels) = entry.keys.split_first().ok_or(UNLABELLED)?;
            if done.contains(&key.text) {
                continue;
            }
            let earlier = map.remove(&key.text);
            let value = if labels.is_empty() {
                match earlier {
                    Some(earlier) => self.joined(earlier, entry.value)?,
                    None => self.value(entry.value, false)?,
                }
            } else {
                // Joins entries that differ only in case, and gives the result to each spelling.
                let same = entries.iter().filter_map(|other| {
                    let (first, rest) = other.keys.split_first()?;
                    folds_to(&first.text, &key.text).then_some(Entry {
                        keys: rest,
                        value: other.value,
                    })
                });
                let same: Vec<Entry<'_>> = same.collect();
                done.insert(key.text.clone());
                self.labelled(earlier, &same)?
            };
            map.insert(key.text.clone(), value);
        }
        Ok(map)
    }

    fn labelled(&self, earlier: Option<Plain>, same: &[Entry<'_>]) -> Result<Plain, &'static str> {
        let mut blocks = match earlier {
            None => Vec::new(),
            Some(Plain::List(blocks, true)) => blocks,
            Some(_) => return Err("a label joined to something that is no block"),
        };
        for entry in same {
            blocks.push(Plain::Map(self.map(&[*entry])?));
        }
        Ok(Plain::List(blocks, true))
    }

    fn value(&self, value: &Value, in_list: bool) -> Result<Plain, &'static str> {
        Ok(match &value.kind {
            ValueKind::Object(body) => {
                let map = Plain::Map(self.map(&entries(body))?);
                if in_list {
                    map
                } else {
                    Plain::List(vec![map], true)
                }
            }
            ValueKind::List(elements) => {
                let elements = elements.iter().map(|element| self.value(element, true));
                Plain::List(elements.collect::<Result<_, _>>()?, false)
            }
            scalar => Plain::Scalar(scalar.clone()),
        })
    }

    /// A key that is there again: the first value decides on the type.
    fn joined(&self, earlier: Plain, value: &Value) -> Result<Plain, &'static str> {
        match earlier {
            Plain::Map(_) => Err("a map is joined to nothing"),
            Plain::List(mut elements, only_maps) => {
                let added = match &value.kind {
                    ValueKind::Object(_) => std::slice::from_ref(value),
                    ValueKind::List(added) => added,
                    _ => return Err("a scalar joined to a list"),
                };
                for element in added {
                    if only_maps && !matches!(element.kind, ValueKind::Object(_)) {
                        return Err("not an object type for map");
                    }
                    elements.push(self.value(element, true)?);
                }
                Ok(Plain::List(elements, only_maps))
            }
            Plain::Scalar(earlier) => self.converted(&earlier, value).map(Plain::Scalar),
        }
    }

    fn converted(&self, earlier: &ValueKind, value: &Value) -> Result<ValueKind, &'static str> {
        const MISMATCH: &str = "of another type than the first value";
        let written = &self.source[value.span.clone()];
        match (earlier, &value.kind) {
            (ValueKind::String(_), ValueKind::String(_))
            | (ValueKind::Bool(_), ValueKind::Bool(_))
            | (ValueKind::Number(Number::Integer(_)), ValueKind::Number(Number::Integer(_)))
            | (ValueKind::Number(Number::Float(_)), ValueKind::Number(Number::Float(_))) => {
                Ok(value.kind.clone())
            }
            (ValueKind::String(_), ValueKind::Number(Number::Integer(_))) => {
                Ok(ValueKind::String(written.to_owned()))
            }
            (ValueKind::Number(Number::Float(_)), ValueKind::Number(Number::Integer(_))) => {
                // Its decimal text: 010 is ten here.
                let float = written.parse().or(Err(MISMATCH))?;
                Ok(ValueKind::Number(Number::Float(float)))
            }
            (ValueKind::Number(Number::Integer(_)), ValueKind::String(text)) => {
                let integer = integer(text).ok_or(MISMATCH)?;
                Ok(ValueKind::Number(Number::Integer(integer)))
            }
            _ => Err(MISMATCH),
        }
    }
}

/// The text as an integer, base by prefix, `_` between digits if the text has a prefix.
fn integer(text: &str) -> Option<i64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = if text.starts_with('-') { "-" } else { "" };
    let lower = unsigned.to_ascii_lowercase();
    let (radix, digits) = if let Some(digits) = lower.strip_prefix("0x") {
        (16, digits)
    } else if let Some(digits) = lower.strip_prefix("0o") {
        (8, digits)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        (2, digits)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, &lower[1..])
    } else {
        (10, lower.as_str())
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    i64::from_str_radix(&format!("{sign}{digits}"), radix).ok()
}

/// Equal without regard to case, character by character.
fn folds_to(left: &str, right: &str) -> bool {
    let fold = |text: &str| -> Vec<char> {
        let characters = text.chars().flat_map(char::to_uppercase);
        characters.flat_map(char::to_lowercase).collect()
    };
    fold(left) == fold(right)
}

impl Plain {
    fn to_json(&self) -> Json {
        match self {
            Self::Scalar(ValueKind::String(text)) => tree::string(text),
            Self::Scalar(ValueKind::Number(number)) => tree::number(*number),
            Self::Scalar(ValueKind::Bool(flag)) => json!({"bool": flag}),
            // No HCL file holds the first, and the others are no scalars.
            Self::Scalar(ValueKind::Null | ValueKind::List(_) | ValueKind::Object(_)) => Json::Null,
            Self::List(elements, _) => {
                let elements: Vec<Json> = elements.iter().map(Self::to_json).collect();
                json!({"list": elements})
            }
            Self::Map(map) => {
                let entries = map.iter();
                let entries: Vec<Json> = entries
                    .map(|(key, value)| json!([tree::string(key), value.to_json()]))
                    .collect();
                json!({"map": entries})
            }
        }
    }
}
