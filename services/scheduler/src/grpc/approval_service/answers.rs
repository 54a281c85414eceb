//! Effects on the wire and in texts.

use chrono::SecondsFormat;
use cts_proto::run::v1 as proto;
use cts_rpc::convert;
use cts_store::{Approval, Decided};

use crate::wire::EVENT_CHANGES;

pub(in crate::grpc) fn approval_to_wire(approval: Approval) -> proto::Approval {
    let Approval {
        task,
        effect,
        run,
        state,
        summary,
        asked_at,
        gone_at,
        decided,
        requested_by,
        cause,
    } = approval;
    let requested = requested_by.map(|caller| format!("requested by {caller}"));
    let triggers = cause.map(|cause| cause.lines(EVENT_CHANGES));
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
        differs: summary.differs,
        cause: (requested.into_iter())
            .chain(triggers.into_iter().flatten())
            .collect(),
    }
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

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};
    use cts_core::RunId;
    use cts_core::runs::RunCause;
    use cts_store::PlanSummary;
    use uuid::Uuid;

    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_770_110_130, 0).unwrap() + TimeDelta::seconds(seconds)
    }

    #[test]
    fn the_cause_has_the_request_or_the_triggers() {
        let mut approval = Approval {
            task: "web".parse().unwrap(),
            effect: "ab".into(),
            run: RunId::from_uuid(Uuid::from_u128(1)),
            state: proto::ApprovalState::Waiting,
            summary: PlanSummary::default(),
            asked_at: at(0),
            gone_at: None,
            decided: None,
            requested_by: None,
            cause: None,
        };
        let cause = |approval: &Approval| approval_to_wire(approval.clone()).cause;
        assert_eq!(cause(&approval), Vec::<String>::new());
        let mut changed = RunCause::default();
        changed.note("web: -web-3");
        approval.cause = Some(changed);
        assert_eq!(cause(&approval), ["web: -web-3"]);
        approval.requested_by = Some("token anna".into());
        assert_eq!(cause(&approval)[0], "requested by token anna");
    }

    #[test]
    fn texts_name_the_person_and_the_comment() {
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
    }
}
