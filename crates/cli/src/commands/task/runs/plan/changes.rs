//! The changes of a plan in the order of their harm, each with its lines.

use cts_proto::run::v1::{
    DeferredChange, PlanData, PlannedAction, PlannedAttribute, PlannedChange, PlannedInvocation,
    PlannedOutput,
};

use super::values::Values;
use crate::commands::terminal_text::on_one_line;

/// Lines of each change, invocation, deferred change and of the outputs.
pub(super) fn sections(plan: &PlanData, values: &mut Values) -> Vec<Vec<String>> {
    let mut changes: Vec<_> = plan.changes.iter().filter(|it| rank(it) < LAST).collect();
    changes.sort_by_key(|change| rank(change));
    let mut sections: Vec<_> = changes.into_iter().map(|it| change(it, values)).collect();
    sections.extend(plan.invocations.iter().map(|it| vec![invocation(it)]));
    sections.extend(plan.deferred.iter().map(|it| vec![deferred(it)]));
    let outputs: Vec<_> = plan.outputs.iter().map(|it| output(it, values)).collect();
    if !outputs.is_empty() {
        sections.push([vec!["Outputs:".to_owned()], outputs].concat());
    }
    sections
}

/// The place of resources that do not change, which are not shown.
const LAST: u8 = 9;

/// The place of a change among the others.
fn rank(change: &PlannedChange) -> u8 {
    match change.action() {
        PlannedAction::Unspecified => 0,
        PlannedAction::Delete => 1,
        PlannedAction::DeleteThenCreate | PlannedAction::CreateThenDelete => 2,
        PlannedAction::Update => 3,
        PlannedAction::Create => 4,
        PlannedAction::Forget => 5,
        PlannedAction::Read => 8,
        PlannedAction::None if !change.previous_address.is_empty() => 6,
        PlannedAction::None if !change.importing.is_empty() => 7,
        PlannedAction::None => LAST,
    }
}

const fn symbol(action: PlannedAction) -> &'static str {
    match action {
        PlannedAction::Unspecified => "?",
        PlannedAction::None => " ",
        PlannedAction::Create => "+",
        PlannedAction::Read => "<=",
        PlannedAction::Update => "~",
        PlannedAction::Delete => "-",
        PlannedAction::DeleteThenCreate => "-/+",
        PlannedAction::CreateThenDelete => "+/-",
        PlannedAction::Forget => ".",
    }
}

/// `-/+ address (why)`, and a line for each attribute that changes.
fn change(change: &PlannedChange, values: &mut Values) -> Vec<String> {
    let with = |label: &str, text: &str| match text {
        "" => String::new(),
        text => format!("{label}{text}"),
    };
    let unknown = match change.action() {
        PlannedAction::Unspecified => change.actions.join(", "),
        _ => String::new(),
    };
    let notes = [
        with("unknown actions: ", &unknown),
        with("deposed object ", &change.deposed),
        with("moved from ", &change.previous_address),
        with("imported by the id ", &change.importing),
        change.reason.replace('_', " "),
    ];
    let notes: Vec<_> = notes.into_iter().filter(|it| !it.is_empty()).collect();
    let notes = with(
        " ",
        &match notes.join("; ").as_str() {
            "" => String::new(),
            notes => format!("({notes})"),
        },
    );
    let mut lines = vec![line(change.action(), &(change.address.clone() + &notes))];
    let (changed, same): (Vec<_>, Vec<_>) = change.attributes.iter().partition(|it| it.changed);
    lines.extend(changed.into_iter().map(|it| attribute(it, values)));
    lines.extend(match same.len() {
        0 => None,
        1 => Some("        (1 unchanged attribute)".to_owned()),
        number => Some(format!("        ({number} unchanged attributes)")),
    });
    lines
}

fn line(action: PlannedAction, text: &str) -> String {
    format!("{:>3} {}", symbol(action), on_one_line(text))
}

fn attribute(it: &PlannedAttribute, values: &mut Values) -> String {
    let value = values.change(it.before.as_ref(), it.after.as_ref());
    let forces = if it.forces_replacement {
        " # forces replacement"
    } else {
        ""
    };
    let ignored = if it.ignored {
        " # not part of the effect"
    } else {
        ""
    };
    format!(
        "        {} = {value}{forces}{ignored}",
        on_one_line(&it.path)
    )
}

fn invocation(it: &PlannedInvocation) -> String {
    let after = match it.triggered_by.as_str() {
        "" => String::new(),
        resource => format!(" ({} {resource})", it.event).replace("( ", "("),
    };
    format!("  ! {}", on_one_line(&(it.address.clone() + &after)))
}

fn deferred(it: &DeferredChange) -> String {
    let text = format!("{} (deferred: {})", it.address, it.reason.replace('_', " "));
    format!("  > {}", on_one_line(&text))
}

fn output(it: &PlannedOutput, values: &mut Values) -> String {
    let value = values.change(it.before.as_ref(), it.after.as_ref());
    line(it.action(), &it.name) + " = " + &value
}
