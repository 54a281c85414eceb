//! Consents for people.

use cts_proto::run::v1::{Approval, ApprovalState, PlanCounts, PlanData};
use serde::Serialize;

use crate::arguments::TableWidth;
use crate::commands::table::table;
use crate::commands::task::runs::plan;
use crate::commands::terminal_text::on_one_line;
use crate::commands::time_text::{local, moment};

/// A table of effects, and the set of those that wait.
pub fn listing<'a>(
    approvals: impl Iterator<Item = &'a Approval>,
    set: &str,
    shown_id: impl Fn(&str) -> String,
    width: TableWidth,
) -> String {
    let rows = approvals.map(|approval| {
        let since = moment(approval.asked_at).map(local).unwrap_or_default();
        [
            approval.task_name.clone(),
            shown_id(&approval.run_id),
            changes(approval),
            since,
            state(approval),
            cause(approval),
        ]
    });
    let header = ["TASK", "RUN", "CHANGES", "SINCE", "STATE", "CAUSE"];
    let text = table(header, rows, width);
    match set {
        "" => text,
        set => format!("{text}\nSet: {}\n", on_one_line(set)),
    }
}

/// One line for each fact about a consent.
fn details(approval: &Approval) -> String {
    let time = |at| moment(at).map(local).unwrap_or_default();
    let facts = [
        ("Task:", approval.task_name.clone()),
        ("Run:", approval.run_id.clone()),
        ("Effect:", approval.effect.clone()),
        ("Changes:", changes(approval)),
        ("State:", state(approval)),
        ("Since:", time(approval.asked_at)),
        ("Cause:", cause(approval)),
        ("Decided:", time(approval.decided_at)),
        ("Comment:", approval.comment.clone()),
        ("Expires:", time(approval.expires_at)),
    ];
    let differs = approval.differs.iter();
    let differs = differs.map(|line| ("Differs:", line.clone()));
    let facts = facts.into_iter().chain(differs);
    let known = facts.filter(|(_, text)| !text.is_empty());
    let lines = known.map(|(name, text)| format!("{name:<9} {}\n", on_one_line(&text)));
    lines.collect()
}

/// A consent with its plan, for programs.
pub fn document(approval: &impl Serialize, plan: Option<&PlanData>) -> String {
    #[derive(Serialize)]
    struct Shown<'a, A> {
        approval: &'a A,
        plan: Option<&'a PlanData>,
    }
    // Not by way of a value, whose numbers would be rounded.
    serde_json::to_string_pretty(&Shown { approval, plan }).unwrap_or_default() + "\n"
}

/// A consent with its plan, for people.
pub fn shown(approval: &Approval, plan: Option<&PlanData>) -> String {
    let plan = plan.map_or_else(|| "The plan is no longer kept.\n".to_owned(), plan::text);
    format!("{}\n{plan}", details(approval))
}

/// The sentence after a decision.
pub fn decided(approval: &Approval, rejects: bool) -> String {
    let (effect, task) = (&approval.effect, &approval.task_name);
    if rejects {
        return format!(
            "The effect {effect} of '{task}' is rejected; `cts approvals reopen` forgets that"
        );
    }
    let end = moment(approval.expires_at).map(local);
    let end = end.map_or_else(String::new, |end| format!(" until {end}"));
    format!("The effect {effect} of '{task}' is approved{end}")
}

/// The sentence after the approval of a set.
pub fn approved<'a>(approvals: impl Iterator<Item = &'a Approval>) -> String {
    let tasks: Vec<_> = approvals.map(|it| it.task_name.as_str()).collect();
    format!("Approved: {} ({})", tasks.len(), tasks.join(", "))
}

/// The tasks that came, went and changed since a set was shown, a line for each that has any.
pub fn differences(lists: [&[String]; 3]) -> Vec<String> {
    let words = ["Came", "Went", "Changed"];
    let lists = words.into_iter().zip(lists);
    let lines = lists.filter(|(_word, tasks)| !tasks.is_empty());
    lines
        .map(|(word, tasks)| format!("{word}: {}", on_one_line(&tasks.join(", "))))
        .collect()
}

fn cause(approval: &Approval) -> String {
    approval.cause.join("; ")
}

/// `2 destroyed, 1 replaced`: most harmful first.
fn changes(approval: &Approval) -> String {
    let counts = approval.counts.unwrap_or_default();
    let PlanCounts {
        created,
        updated,
        deleted,
        replaced,
        imported,
        moved,
        forgotten,
        unknown,
        read: _,
        unchanged: _,
        invoked,
        deferred,
    } = counts;
    let numbers = [
        (unknown, "with unknown actions"),
        (deleted, "destroyed"),
        (replaced, "replaced"),
        (forgotten, "forgotten"),
        (invoked, "invoked"),
        (updated, "updated"),
        (created, "created"),
        (moved, "moved"),
        (imported, "imported"),
        (deferred, "deferred"),
    ];
    let numbers = numbers.into_iter().filter(|(number, _)| *number > 0);
    let mut parts: Vec<_> = numbers.map(|(it, what)| format!("{it} {what}")).collect();
    if !approval.unclear.is_empty() {
        parts.push("not all is shown".to_owned());
    }
    parts.join(", ")
}

fn state(approval: &Approval) -> String {
    let by = match approval.decided_by.as_str() {
        "" => String::new(),
        by => format!(" by {by}"),
    };
    match approval.state() {
        ApprovalState::Waiting if approval.gone_at.is_some() => "gone for now".to_owned(),
        ApprovalState::Waiting => "waiting".to_owned(),
        ApprovalState::Approved => format!("approved{by}"),
        ApprovalState::Rejected => format!("rejected{by}"),
        ApprovalState::Used => format!("applied, approved{by}"),
        ApprovalState::Unspecified => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn approval(state: &str) -> Approval {
        serde_json::from_value(json!({
            "run_id": "r-1", "task_name": "edge-lb", "effect": "0af1", "state": state,
            "counts": {"deleted": 2, "replaced": 1, "unchanged": 7}, "decided_by": "user \"ann\"",
            "unclear": ["the plan is not complete"], "comment": "on call\n\u{1b}[2J",
            "differs": ["t.a: tags\u{1b}[2J", "t.b: its actions"],
            "cause": ["web: -web-3"],
        }))
        .unwrap()
    }

    #[test]
    fn effects_are_shown_in_the_order_of_their_harm() {
        let all = [approval("waiting"), approval("rejected")];
        let text = listing(all.iter(), "77c2", str::to_owned, TableWidth::Whole);
        let expected = "\
TASK     RUN  CHANGES                                  SINCE  STATE                      CAUSE
edge-lb  r-1  2 destroyed, 1 replaced, not all is shown         waiting                    web: -web-3
edge-lb  r-1  2 destroyed, 1 replaced, not all is shown         rejected by user \"ann\"  web: -web-3

Set: 77c2
";
        let words = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&text), words(expected), "{text}");
        assert!(!listing(all.iter(), "", str::to_owned, TableWidth::Whole).contains("Set:"));
    }

    #[test]
    fn differences_name_tasks() {
        let [one, two] = [vec!["a".to_owned(), "b\n".to_owned()], vec!["c".to_owned()]];
        let lines = differences([&one, &[], &two]);
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("Came: a, b") && !lines[0].contains('\n'),
            "{lines:?}"
        );
        assert_eq!(lines[1], "Changed: c");
    }

    #[test]
    fn details_are_lines_that_cannot_steer_a_terminal() {
        let text = details(&approval("approved"));
        assert!(
            text.contains("State:    approved by user \"ann\"\n"),
            "{text}"
        );
        assert!(text.ends_with("Differs:  t.b: its actions\n"), "{text}");
        assert!(
            !text.contains('\u{1b}') && !text.contains("Expires"),
            "{text}"
        );
    }
}
