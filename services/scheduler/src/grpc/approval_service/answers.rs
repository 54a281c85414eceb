//! Effects on the wire and in texts.

use chrono::SecondsFormat;
use cts_core::Digest;
use cts_proto::run::v1 as proto;
use cts_rpc::convert;
use cts_store::{Approval, Decided, PlanSummary};

/// Digits of the digest of a set.
const SET_DIGITS: usize = 32;

pub(super) fn approval_to_wire(approval: Approval) -> proto::Approval {
    let Approval {
        task,
        effect,
        run,
        state,
        summary,
        asked_at,
        gone_at,
        decided,
    } = approval;
    let (decided_by, decided_at, comment, expires_at) = match decided {
        Some(decided) => (
            decided.by,
            Some(decided.at),
            decided.comment,
            decided.expires_at,
        ),
        None => (String::new(), None, String::new(), None),
    };
    proto::Approval {
        run_id: run.to_string(),
        task_name: task.into(),
        effect,
        state: state.into(),
        counts: Some(summary.counts()),
        unclear: summary.unclear,
        asked_at: Some(convert::timestamp_to_wire(asked_at)),
        gone_at: gone_at.map(convert::timestamp_to_wire),
        decided_by,
        decided_at: decided_at.map(convert::timestamp_to_wire),
        comment,
        expires_at: expires_at.map(convert::timestamp_to_wire),
    }
}

/// Digest of effects in the order of their tasks; empty without any.
pub(super) fn set_of(waiting: &[&Approval]) -> String {
    if waiting.is_empty() {
        return String::new();
    }
    let parts = waiting.iter();
    let parts = parts.flat_map(|it| [it.task.as_str().as_bytes(), it.effect.as_bytes()]);
    let mut set = Digest::of_parts(parts).to_string();
    set.truncate(SET_DIGITS);
    set
}

/// Who has decided what, and when.
pub(super) fn decided_text(decided: &Decided) -> String {
    let word = match decided.expires_at {
        Some(_) => "approved",
        None => "rejected",
    };
    let at = decided.at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let text = format!("{word} by {} at {at}", decided.by);
    match &*decided.comment {
        "" => text,
        comment => format!("{text}: {comment}"),
    }
}

/// The numbers of a plan in words, with the harm first.
pub(super) fn counts_text(summary: &PlanSummary) -> String {
    let counts = [
        (summary.deleted, "to destroy"),
        (summary.replaced, "to replace"),
        (summary.forgotten, "to forget"),
        (summary.unknown, "with unknown actions"),
        (summary.invoked, "actions of providers"),
        (summary.updated, "to update"),
        (summary.created, "to create"),
        (summary.imported, "to import"),
        (summary.moved, "to move"),
        (summary.deferred, "put off"),
    ];
    let counts = counts.iter().filter(|(number, _)| *number > 0);
    let counts: Vec<String> = counts
        .map(|(number, what)| format!("{number} {what}"))
        .collect();
    counts.join(", ")
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};
    use cts_core::RunId;
    use uuid::Uuid;

    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_770_110_130, 0).unwrap() + TimeDelta::seconds(seconds)
    }

    #[test]
    fn a_set_names_tasks_and_effects_in_32_digits() {
        let approval = |task: &str, effect: &str| Approval {
            task: task.parse().unwrap(),
            effect: effect.into(),
            run: RunId::from_uuid(Uuid::from_u128(1)),
            state: proto::ApprovalState::Waiting,
            summary: PlanSummary::default(),
            asked_at: at(0),
            gone_at: None,
            decided: None,
        };
        let (api, web) = (approval("api", "a"), approval("web", "b"));
        let set = set_of(&[&api, &web]);
        assert_eq!((set.len(), set_of(&[])), (SET_DIGITS, String::new()));
        assert_ne!(set, set_of(&[&api]));
        assert_ne!(set, set_of(&[&api, &approval("web", "c")]));
    }

    #[test]
    fn texts_name_the_person_and_the_harm_first() {
        let decided = |comment: &str, expires_at| Decided {
            by: "token anna".into(),
            at: at(0),
            comment: comment.into(),
            expires_at,
        };
        assert_eq!(
            decided_text(&decided("too many", None)),
            "rejected by token anna at 2026-02-03T09:15:30Z: too many"
        );
        assert_eq!(
            decided_text(&decided("", Some(at(1)))),
            "approved by token anna at 2026-02-03T09:15:30Z"
        );
        let summary = PlanSummary {
            created: 2,
            deleted: 1,
            ..PlanSummary::default()
        };
        assert_eq!(counts_text(&summary), "1 to destroy, 2 to create");
        assert_eq!(counts_text(&PlanSummary::default()), "");
    }
}
