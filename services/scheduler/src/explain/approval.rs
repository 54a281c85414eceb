//! Runs that wait for the consent of a person (docs/runs.md#consent).

use chrono::SecondsFormat;
use cts_core::RunId;
use cts_core::runs::RunStatus;
use cts_store::{Approval, ShownRun};

/// Whether a run waits in the queue for the consent to its effect.
pub(super) fn awaits_consent(run: &ShownRun) -> bool {
    run.status == RunStatus::Queued && run.awaits.is_some()
}

/// The condition that such a run waits for.
pub(super) fn consent_text(run: RunId) -> String {
    format!("the consent of a person: `cts approvals show {run}` shows what it would do")
}

/// Describes such a wait. The consent is unknown for a moment after its end.
pub(super) fn approval_text(run: &ShownRun, approval: Option<&Approval>) -> String {
    let effect = run.awaits.as_deref().unwrap_or_default();
    let since = approval.map_or_else(String::new, |approval| {
        let since = approval.asked_at.to_rfc3339_opts(SecondsFormat::Secs, true);
        format!(" since {since}")
    });
    let gone = match approval.and_then(|approval| approval.gone_at) {
        Some(_) => "; the data of the task do not need it at the moment, so it is withdrawn soon",
        None => "",
    };
    let differs = match approval {
        Some(approval) if !approval.summary.differs.is_empty() => {
            let differs = approval.summary.differs.join("; ");
            format!("; the plan differs from the plan before: {differs}")
        }
        _ => String::new(),
    };
    let (id, text) = (run.id, consent_text(run.id));
    format!("run {id} with the effect {effect} waits{since} for {text}{gone}{differs}")
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cts_core::runs::RunKind;
    use cts_proto::run::v1::ApprovalState;
    use cts_store::PlanSummary;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn text_names_the_effect_the_time_and_the_command() {
        let at = DateTime::from_timestamp(1_770_110_130, 0).unwrap();
        let id = RunId::from_uuid(Uuid::from_u128(1));
        let run = ShownRun {
            id,
            task: "web".parse().unwrap(),
            kind: RunKind::Apply,
            status: RunStatus::Queued,
            awaits: Some("ab".to_owned()),
            waiting_for: None,
            due_at: at,
            started_at: None,
            worker: None,
            phase: None,
            error: None,
        };
        let mut approval = Approval {
            task: run.task.clone(),
            effect: "ab".to_owned(),
            run: id,
            state: ApprovalState::Waiting,
            summary: PlanSummary::default(),
            asked_at: at,
            gone_at: None,
            decided: None,
            requested_by: None,
            cause: None,
        };
        let consent =
            format!("the consent of a person: `cts approvals show {id}` shows what it would do");
        assert_eq!(
            approval_text(&run, Some(&approval)),
            format!("run {id} with the effect ab waits since 2026-02-03T09:15:30Z for {consent}")
        );
        approval.gone_at = Some(at);
        assert!(approval_text(&run, Some(&approval)).ends_with("withdrawn soon"));
        approval.summary.differs = vec!["t.a: tags".to_owned(), "t.b: its actions".to_owned()];
        let text = approval_text(&run, Some(&approval));
        assert!(
            text.ends_with("the plan before: t.a: tags; t.b: its actions"),
            "{text}"
        );
        assert!(approval_text(&run, None).contains("ab waits for the consent"));
        assert!(awaits_consent(&run));
    }
}
