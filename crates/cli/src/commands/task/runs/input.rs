//! `cts runs input`: the data that the module of a run got.

use cts_proto::run::v1::planned_value::Value as Shown;
use cts_proto::run::v1::{InputBasis, InputData, InputItem, PlannedValue};
use serde_json::{Map, Value};

use super::failure::failed;
use super::plan::values::Values;
use super::run_id::run_id;
use crate::arguments::{Output, QueryOptions};
use crate::commands::task::session::{ExitStatus, Session};
use crate::commands::terminal_text::on_one_line;

/// Runs `cts runs input`; with `diff` it shows what differs from the input applied before.
pub(crate) async fn run(
    session: &mut Session<'_>,
    query: &QueryOptions,
    diff: bool,
    id: &str,
) -> Result<(), ExitStatus> {
    let client = session.client(&query.client)?;
    let id = run_id(session, &client, id).await?;
    let input = client.input(&id).await;
    let input = input.map_err(|error| failed(session, "show the input of the run", &error))?;
    let text = match query.output {
        // Not by way of a value, whose numbers would be rounded.
        Output::Json => serde_json::to_string_pretty(&input).map(|text| text + "\n"),
        Output::Table => Ok(text(&input, diff)),
    };
    session.ui.result(&text.unwrap_or_default());
    Ok(())
}

/// The items of the input for people, or with `diff` those that differ.
fn text(input: &InputData, diff: bool) -> String {
    let mut values = Values::default();
    let [task, run, hidden] =
        [&input.task_name, &input.compared_with, &input.values_hidden].map(|it| on_one_line(it));
    let mut lines = vec![match input.basis() {
        _ if !diff => format!("Input of '{task}':"),
        InputBasis::Applied => format!("Compared with run {run}, which applied '{task}' before:"),
        InputBasis::None => format!("'{task}' was not applied before."),
        _ => format!("No run that applied '{task}' before is kept, or there was none."),
    }];
    let notes = input.notes.iter().filter(|_| diff);
    lines.extend(notes.map(|note| format!("  {}", on_one_line(note))));
    let items = input.items.iter().filter(|item| item.changed || !diff);
    let items = items.filter(|item| item.value.is_some() || diff);
    lines.extend(items.map(|item| line(item, diff, &mut values)));
    if lines.len() == 1 && lines.iter().all(|line| line.ends_with(':')) {
        lines.push("  nothing".to_owned());
    }
    if !hidden.is_empty() {
        lines.push(format!("Values are hidden: {hidden}."));
    }
    if values.has_cut {
        lines.push("Values that end with `…` are cut; -o json has them in full.".to_owned());
    }
    lines.join("\n") + "\n"
}

/// `~ services web-1.node.dc1 (web): port 80 -> 81`.
fn line(item: &InputItem, diff: bool, values: &mut Values) -> String {
    let mut label = format!("{} {}", item.list, item.name);
    if !item.service.is_empty() {
        label.extend([" (", &item.service, ")"]);
    }
    let before = item.before.as_ref().filter(|_| diff);
    let symbol = match (before, &item.value) {
        _ if !diff => "",
        (_, None) => "- ",
        (None, _) => "+ ",
        _ => "~ ",
    };
    let value = item.value.as_ref();
    let value = value.map(|it| format!(": {}", change(before, it, values)));
    format!(
        "  {symbol}{}{}",
        on_one_line(&label),
        value.unwrap_or_default()
    )
}

/// A value, or its difference to the value before; of an object its members that are not empty, or that differ.
fn change(before: Option<&PlannedValue>, value: &PlannedValue, values: &mut Values) -> String {
    let Some(members) = object(value) else {
        return values.change(before, Some(value));
    };
    let before = before.and_then(object);
    let is_shown = |(name, value): &(String, Value)| match &before {
        Some(before) => before.get(name) != Some(value),
        None => !matches!(value.to_string().as_str(), "\"\"" | "[]" | "{}"),
    };
    let members = members.into_iter().filter(is_shown).map(|(name, value)| {
        let json = |value: &Value| PlannedValue {
            value: Some(Shown::Json(value.to_string())),
            hash: Vec::new(),
        };
        let before = before.as_ref().and_then(|it| it.get(&name)).map(json);
        let change = values.change(before.as_ref(), Some(&json(&value)));
        format!("{} {change}", on_one_line(&name))
    });
    members.collect::<Vec<_>>().join(", ")
}

fn object(value: &PlannedValue) -> Option<Map<String, Value>> {
    match &value.value {
        Some(Shown::Json(text)) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
