//! Values that the engine marks as sensitive, and that a plan has in other places without a mark: a provider may copy an
//! argument into a computed attribute.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use cts_core::hidden::HIDDEN;
use cts_proto::run::v1::planned_value::Value as Shown;
use cts_proto::run::v1::{PlanData, PlanExtent, PlannedValue};
use serde_json::value::RawValue;
use serde_json::{Error, Value};

use super::context::PlanContext;
use super::extent::{MOST_PLAN_BYTES, without_attributes};
use super::json::{Shape, encode, is_true, text};

/// Texts with this many characters or fewer are not secrets: they would be found everywhere.
const TOO_SHORT: usize = 5;

/// Most bytes of texts that are looked for.
const MOST: usize = 256 * 1024;

/// Characters that Go escapes in JSON, and other writers do not.
const GO_ESCAPES: [(char, &str); 5] = [
    ('<', "\\u003c"),
    ('>', "\\u003e"),
    ('&', "\\u0026"),
    ('\u{2028}', "\\u2028"),
    ('\u{2029}', "\\u2029"),
];

/// The texts in sensitive values of a plan.
#[derive(Default)]
pub(super) struct Secrets {
    texts: BTreeSet<String>,
    bytes: usize,
}

impl Secrets {
    /// Adds the texts in a sensitive value.
    pub(super) fn add(&mut self, value: &RawValue, depth: usize) -> Result<(), Error> {
        match Shape::of(value, depth)? {
            Shape::List(list) => list
                .into_iter()
                .try_for_each(|value| self.add(value, depth + 1)),
            Shape::Map(map) => map
                .into_values()
                .try_for_each(|value| self.add(value, depth + 1)),
            Shape::Leaf => {
                let found = text(value)?.filter(|text| text.chars().count() > TOO_SHORT);
                for spelling in found.iter().flat_map(|text| spellings(text)) {
                    let length = spelling.len();
                    if self.bytes <= MOST && self.texts.insert(spelling) {
                        self.bytes += length;
                    }
                }
                Ok(())
            }
        }
    }

    /// Adds the texts in those parts of a value that have a mark.
    pub(super) fn add_marked(
        &mut self,
        value: &RawValue,
        marks: &RawValue,
        depth: usize,
    ) -> Result<(), Error> {
        if is_true(marks) {
            if value.get().len() > MOST_PLAN_BYTES {
                self.bytes = usize::MAX;
                return Ok(());
            }
            return self.add(value, depth);
        }
        match Shape::of(marks, depth)? {
            Shape::Leaf => {}
            Shape::List(marks) => {
                if let Shape::List(list) = Shape::of(value, depth)? {
                    for (value, marks) in list.into_iter().zip(marks) {
                        self.add_marked(value, marks, depth + 1)?;
                    }
                }
            }
            Shape::Map(marks) => {
                if let Shape::Map(map) = Shape::of(value, depth)? {
                    for (name, marks) in marks {
                        if let Some(value) = map.get(&name) {
                            self.add_marked(value, marks, depth + 1)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Hides every value, path and id of the plan in which one of the texts is. If the texts are too many, no values
    /// and no ids are kept.
    pub(super) fn hide(self, plan: &mut PlanData, context: &PlanContext) -> Result<(), Error> {
        let are_too_many = self.bytes > MOST;
        if plan.extent() == PlanExtent::Counts || self.texts.is_empty() && !are_too_many {
            return Ok(());
        }
        let search = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(self.texts.iter().filter(|_text| !are_too_many));
        let (Ok(search), false) = (search, are_too_many) else {
            without_attributes(plan);
            let importing = plan.changes.iter_mut().map(|change| &mut change.importing);
            importing
                .filter(|importing| !importing.is_empty())
                .for_each(|importing| HIDDEN.clone_into(importing));
            return Ok(());
        };
        let is_secret =
            |value: &Option<PlannedValue>| match value.as_ref().map(|value| &value.value) {
                Some(Some(Shown::Json(text))) => is_found(&search, text),
                _ => false,
            };
        for change in &mut plan.changes {
            if search.is_match(&change.importing) {
                HIDDEN.clone_into(&mut change.importing);
            }
            for attribute in &mut change.attributes {
                if search.is_match(&attribute.path) {
                    HIDDEN.clone_into(&mut attribute.path);
                }
                if is_secret(&attribute.before) || is_secret(&attribute.after) {
                    let place = [change.address.as_bytes(), attribute.path.as_bytes()];
                    hide(&mut attribute.before, context, place)?;
                    hide(&mut attribute.after, context, place)?;
                }
            }
        }
        for output in &mut plan.outputs {
            if is_secret(&output.before) || is_secret(&output.after) {
                let place = [b"output".as_slice(), output.name.as_bytes()];
                hide(&mut output.before, context, place)?;
                hide(&mut output.after, context, place)?;
            }
        }
        Ok(())
    }
}

/// A text itself, as it is between the quotes of JSON, and as Go writes JSON.
fn spellings(text: &str) -> [String; 3] {
    let quoted = Value::from(text).to_string();
    let quoted = &quoted[1..quoted.len() - 1];
    let escaped = GO_ESCAPES
        .iter()
        .fold(quoted.to_owned(), |text, (c, escape)| {
            text.replace(*c, escape)
        });
    [text.to_owned(), quoted.to_owned(), escaped]
}

/// Whether one of the texts is in a value, in any spelling.
fn is_found(search: &AhoCorasick, json: &str) -> bool {
    // A value that cannot be read may have anything in it.
    let read = || serde_json::from_str(json).map_or(true, |value| is_inside(search, &value));
    search.is_match(json) || json.contains('\\') && read()
}

fn is_inside(search: &AhoCorasick, value: &Value) -> bool {
    match value {
        Value::String(text) => search.is_match(text),
        Value::Array(list) => list.iter().any(|value| is_inside(search, value)),
        Value::Object(map) => map
            .iter()
            .any(|(name, value)| search.is_match(name) || is_inside(search, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn hide(
    value: &mut Option<PlannedValue>,
    context: &PlanContext,
    place: [&[u8]; 2],
) -> Result<(), Error> {
    if let Some(PlannedValue {
        value: shown @ Some(Shown::Json(_)),
        hash,
    }) = value
    {
        let mut bytes = Vec::new();
        if let Some(Shown::Json(text)) = shown.replace(Shown::Hidden(true)) {
            encode(serde_json::from_str(&text)?, &mut bytes)?;
        }
        *hash = context.hash(place, &bytes);
    }
    Ok(())
}
