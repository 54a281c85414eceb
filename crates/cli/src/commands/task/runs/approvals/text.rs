//! Consents for people.

use cts_api_client::{Approval, Approvals};
use cts_proto::run::v1::{ApprovalState, PlanCounts};

use crate::arguments::TableWidth;
use crate::commands::table::table;
use crate::commands::terminal_text::on_one_line;
use crate::commands::time_text::{local, moment};

/// A table of effects, and the set of those that wait.
pub(super) fn listing(
    list: &Approvals,
    shown_id: impl Fn(&str) -> String,
    width: TableWidth,
) -> String {
    let rows = list.approvals.iter().map(|approval| {
        let since = moment(approval.asked_at).map(local).unwrap_or_default();
        [
            approval.task_name.clone(),
            shown_id(&approval.run_id),
            changes(approval),
            since,
            state(approval),
        ]
    });
    let text = table(["TASK", "RUN", "CHANGES", "SINCE", "STATE"], rows, width);
    match list.set.as_str() {
        "" => text,
        set => format!("{text}\nSet: {}\n", on_one_line(set)),
    }
}

/// One line for each fact about a consent.
pub(super) fn details(approval: &Approval) -> String {
    let time = |at| moment(at).map(local).unwrap_or_default();
    let facts = [
        ("Task:", approval.task_name.clone()),
        ("Run:", approval.run_id.clone()),
        ("Effect:", approval.effect.clone()),
        ("Changes:", changes(approval)),
        ("State:", state(approval)),
        ("Since:", time(approval.asked_at)),
        ("Decided:", time(approval.decided_at)),
        ("Comment:", approval.comment.clone()),
        ("Expires:", time(approval.expires_at)),
    ];
    let known = facts.iter().filter(|(_, text)| !text.is_empty());
    let lines = known.map(|(name, text)| format!("{name:<9} {}\n", on_one_line(text)));
    lines.collect()
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
        }))
        .unwrap()
    }

    #[test]
    fn effects_are_shown_in_the_order_of_their_harm() {
        let list = Approvals {
            approvals: vec![approval("waiting"), approval("rejected")],
            set: "77c2".to_owned(),
        };
        let text = listing(&list, str::to_owned, TableWidth::Whole);
        let expected = "\
TASK     RUN  CHANGES                                  SINCE  STATE
edge-lb  r-1  2 destroyed, 1 replaced, not all is shown         waiting
edge-lb  r-1  2 destroyed, 1 replaced, not all is shown         rejected by user \"ann\"

Set: 77c2
";
        let words = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&text), words(expected), "{text}");
        let none = Approvals {
            set: String::new(),
            ..list
        };
        assert!(!listing(&none, str::to_owned, TableWidth::Whole).contains("Set:"));
    }

    #[test]
    fn details_are_lines_that_cannot_steer_a_terminal() {
        let text = details(&approval("approved"));
        assert!(
            text.contains("State:    approved by user \"ann\"\n"),
            "{text}"
        );
        assert!(
            !text.contains('\u{1b}') && !text.contains("Expires"),
            "{text}"
        );
    }
}
