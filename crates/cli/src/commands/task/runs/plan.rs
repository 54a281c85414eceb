//! `cts runs plan`: what a run would do.

mod changes;
pub(super) mod values;

use cts_proto::run::v1::{PlanCounts, PlanData, PlanExtent};

use self::changes::sections;
use self::values::Values;
use super::failure::failed;
use super::run_id::{is_beginning, only};
use crate::arguments::{Output, QueryOptions};
use crate::commands::task::session::{ExitStatus, Session};
use crate::commands::terminal_text::on_one_line;

/// Runs `cts runs plan`.
pub(crate) async fn run(
    session: &mut Session<'_>,
    query: &QueryOptions,
    id: &str,
) -> Result<(), ExitStatus> {
    let client = session.client(&query.client)?;
    let plan = match client.plan(id).await {
        Err(error) if error.is_not_found() && is_beginning(id) => {
            let id = only(session, &client, id).await?;
            client.plan(&id).await
        }
        answer => answer,
    };
    let plan = plan.map_err(|error| failed(session, "show the plan of the run", &error))?;
    let text = match query.output {
        // Not by way of a value, whose numbers would be rounded.
        Output::Json => serde_json::to_string_pretty(&plan).map(|text| text + "\n"),
        Output::Table => Ok(text(&plan)),
    };
    session.ui.result(&text.unwrap_or_default());
    Ok(())
}

/// The plan for people: numbers, changes in the order of their harm, and the effect.
pub(crate) fn text(plan: &PlanData) -> String {
    let mut values = Values::default();
    let mut lines = vec![numbers(&plan.counts.unwrap_or_default())];
    lines.extend(match plan.extent() {
        PlanExtent::Addresses => {
            Some("The plan was too large: its values are not kept.".to_owned())
        }
        PlanExtent::Counts => Some("Only the numbers of the changes are kept.".to_owned()),
        PlanExtent::All | PlanExtent::Unspecified => None,
    });
    let unclear = plan.unclear.iter();
    lines.extend(unclear.map(|why| format!("Not shown: {}", on_one_line(why))));
    for section in sections(plan, &mut values) {
        lines.push(String::new());
        lines.extend(section);
    }
    let mut end = Vec::new();
    if values.has_cut {
        end.push("Values that end with `…` are cut; -o json has them in full.".to_owned());
    }
    if !plan.effect.is_empty() {
        end.push(format!("Effect: {}", on_one_line(&plan.effect)));
    }
    if !end.is_empty() {
        lines.push(String::new());
        lines.extend(end);
    }
    lines.join("\n") + "\n"
}

/// `Plan: 1 to destroy, 2 to create, 5 unchanged`.
pub fn numbers(counts: &PlanCounts) -> String {
    let PlanCounts {
        created,
        updated,
        deleted,
        replaced,
        imported,
        moved,
        forgotten,
        unknown,
        read,
        unchanged,
        invoked,
        deferred,
    } = *counts;
    let numbers = [
        (unknown, "with unknown actions"),
        (deleted, "to destroy"),
        (replaced, "to replace"),
        (updated, "to update"),
        (created, "to create"),
        (forgotten, "to forget"),
        (moved, "to move"),
        (imported, "to import"),
        (read, "to read"),
        (invoked, "to invoke"),
        (deferred, "deferred"),
        (unchanged, "unchanged"),
    ];
    let numbers = numbers.into_iter().filter(|(number, _)| *number > 0);
    let numbers: Vec<_> = numbers.map(|(it, what)| format!("{it} {what}")).collect();
    if numbers.is_empty() {
        return "Plan: no changes of resources".to_owned();
    }
    format!("Plan: {}", numbers.join(", "))
}

#[cfg(test)]
mod tests;
