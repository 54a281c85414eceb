//! Values that the engine marks as sensitive, and that a plan has in other places without a mark: a provider may copy an
//! argument into a computed attribute.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use cts_proto::run::v1::planned_value::Value as Shown;
use cts_proto::run::v1::{PlanData, PlanExtent, PlannedValue};
use serde_json::value::RawValue;
use serde_json::{Error, Value};

use super::context::PlanContext;
use super::extent::without_attributes;
use super::json::{Shape, encode, text};

/// Texts with this many characters or fewer are not secrets: they would be found everywhere.
const TOO_SHORT: usize = 5;

/// Most bytes of texts that are looked for.
const MOST: usize = 256 * 1024;

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
                if let Some(text) = found.filter(|_text| self.bytes <= MOST) {
                    self.bytes += text.len();
                    self.texts.insert(text);
                }
                Ok(())
            }
        }
    }

    /// Hides every value of the plan in which one of the texts is. If the texts are too many, no values are kept.
    pub(super) fn hide(self, plan: &mut PlanData, context: &PlanContext) -> Result<(), Error> {
        if self.texts.is_empty() || plan.extent() != PlanExtent::All {
            return Ok(());
        }
        // As between the quotes of a text of JSON.
        let quoted = |text: &String| {
            let quoted = Value::from(text.as_str()).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        };
        let search = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(
                self.texts
                    .iter()
                    .filter(|_text| self.bytes <= MOST)
                    .map(quoted),
            );
        let (Ok(search), true) = (search, self.bytes <= MOST) else {
            without_attributes(plan);
            return Ok(());
        };
        let is_secret =
            |value: &Option<PlannedValue>| match value.as_ref().map(|value| &value.value) {
                Some(Some(Shown::Json(text))) => search.is_match(text),
                _ => false,
            };
        for change in &mut plan.changes {
            for attribute in &mut change.attributes {
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
