//! The data that the module of a run got, and what differs from the data applied before.

use std::collections::BTreeMap;

use askama::Template;
use cts_proto::run::v1::planned_value::Value;
use cts_proto::run::v1::{InputBasis, InputData, InputItem, PlannedValue};
use http::StatusCode;
use serde_json::value::RawValue;

use super::answer::RunCalls;
use super::value::{Budget, Shown, bytes};
use crate::context::{Context, Refusal};
use crate::link::Link;
use crate::text::Foreign;

#[derive(Template)]
#[template(path = "run/input.html")]
struct InputSection<'a> {
    input: &'a InputData,
    id: &'a str,
    compared_with: Link<'a>,
    changed: Vec<Difference<'a>>,
    /// Number of further items that differ, which do not fit.
    more_changed: usize,
    same: Vec<&'a InputItem>,
    /// Number of further items that do not differ, which do not fit.
    more_same: usize,
}

/// An item that differs.
struct Difference<'a> {
    item: &'a InputItem,
    symbol: &'static str,
    word: &'static str,
    /// Members of the value that differ, each with the value before and now; one without a name for a value without
    /// members.
    members: Vec<(String, Option<PlannedValue>, Option<PlannedValue>)>,
}

pub(super) async fn render(calls: &RunCalls, context: &Context<'_>) -> Result<String, Refusal> {
    let input = match calls.input(context).await {
        Err(refusal) if refusal.status == StatusCode::CONFLICT => {
            let reason = Foreign(&refusal.message);
            return Ok(format!("<p class=\"missing\">{reason}</p>"));
        }
        answer => answer?,
    };
    let run = calls.run(context).await?;
    let length = |it: &&InputItem| {
        let values = bytes(it.value.as_ref()) + bytes(it.before.as_ref());
        it.name.len() + it.service.len() + values
    };
    let mut budget = Budget::new();
    let (changed, same): (Vec<_>, Vec<_>) = input.items.iter().partition(|it| it.changed);
    let (changed, more_changed) = budget.take(changed, length);
    let (same, more_same) = budget.take(same, length);
    let template = InputSection {
        input: &input,
        id: &run.id,
        compared_with: Link::run(context, &input.compared_with),
        changed: changed.into_iter().map(Difference::of).collect(),
        more_changed,
        same,
        more_same,
    };
    Ok(template.render().unwrap_or_default())
}

impl<'a> Difference<'a> {
    fn of(item: &'a InputItem) -> Self {
        let (symbol, word) = match (&item.before, &item.value) {
            (_, None) => ("−", "gone"),
            (None, _) => ("+", "new"),
            _ => ("~", "changed"),
        };
        Self {
            item,
            symbol,
            word,
            members: members(item.before.as_ref(), item.value.as_ref()),
        }
    }
}

/// The members of two values that differ.
fn members(
    before: Option<&PlannedValue>,
    now: Option<&PlannedValue>,
) -> Vec<(String, Option<PlannedValue>, Option<PlannedValue>)> {
    let (earlier, present) = (before.map(object), now.map(object));
    if matches!(earlier, Some(None)) || matches!(present, Some(None)) {
        return vec![(String::new(), before.cloned(), now.cloned())];
    }
    let [mut earlier, present] = [earlier, present].map(|it| it.flatten().unwrap_or_default());
    let mut found = Vec::new();
    for (name, value) in present {
        let old = earlier.remove(&name);
        if old.as_ref().map(|it| it.get()) != Some(value.get()) {
            found.push((name, old.as_deref().map(json), Some(json(&value))));
        }
    }
    found.extend(
        earlier
            .into_iter()
            .map(|(name, old)| (name, Some(json(&old)), None)),
    );
    found
}

/// The members of an object, with their texts as they were sent; `None` for any other value.
fn object(value: &PlannedValue) -> Option<BTreeMap<String, Box<RawValue>>> {
    match &value.value {
        Some(Value::Json(text)) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

fn json(value: &RawValue) -> PlannedValue {
    PlannedValue {
        value: Some(Value::Json(value.get().to_owned())),
        hash: Vec::new(),
    }
}
