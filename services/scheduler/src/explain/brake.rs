//! Tasks and runs that the brake of the fleet holds (docs/runs.md#the-brake-of-the-fleet).

use chrono::SecondsFormat;
use cts_core::runs::{RunKind, RunStatus};
use cts_core::{Blocked, TaskName, losses_text};
use cts_store::ShownRun;
use cts_store::cancel::SUSPENDED_UNTIL;

/// Whether the brake holds this run: only the brake and the wait for consent put off an apply without an end.
pub(super) fn is_braked(run: &ShownRun) -> bool {
    run.kind == RunKind::Apply
        && run.awaits.is_none()
        && run.status == RunStatus::Queued
        && run.due_at.timestamp_micros() == SUSPENDED_UNTIL
}

/// Describes a block by the brake and its possible ends. A run that went back to the queue has no losses to show.
pub(super) fn brake_text(blocked: Option<&Blocked>, task: &TaskName) -> String {
    let mut text = "the brake of the fleet holds it".to_owned();
    if let Some(blocked) = blocked {
        let since = blocked.since.to_rfc3339_opts(SecondsFormat::Secs, true);
        let losses = losses_text(&blocked.losses).unwrap_or_default();
        text = format!("{text} since {since}: {losses}");
    }
    format!(
        "{text}; it goes on when it is released (`cts task release {task}`), when all tasks are \
         (`cts task release -all`), or when the instances are back"
    )
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use cts_core::{InstanceCounts, Loss, RunId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn only_a_queued_apply_without_a_due_time_is_held() {
        let run = |kind, status, due_at| ShownRun {
            id: RunId::from_uuid(Uuid::from_u128(1)),
            task: "web".parse().unwrap(),
            kind,
            status,
            awaits: None,
            waiting_for: None,
            due_at,
            started_at: None,
            worker: None,
            phase: None,
            error: None,
        };
        let never = DateTime::from_timestamp_micros(SUSPENDED_UNTIL).unwrap();
        assert!(is_braked(&run(RunKind::Apply, RunStatus::Queued, never)));
        assert!(!is_braked(&run(RunKind::Destroy, RunStatus::Queued, never)));
        assert!(!is_braked(&run(RunKind::Apply, RunStatus::Running, never)));
        let awaits = ShownRun {
            awaits: Some("ab".to_owned()),
            ..run(RunKind::Apply, RunStatus::Queued, never)
        };
        assert!(!is_braked(&awaits));
        let later = never - TimeDelta::seconds(1);
        assert!(!is_braked(&run(RunKind::Apply, RunStatus::Queued, later)));
    }

    #[test]
    fn text_names_the_losses_and_both_releases() {
        let blocked = Blocked {
            since: DateTime::from_timestamp(1_770_110_130, 0).unwrap(),
            losses: vec![Loss {
                service: "api".to_owned(),
                applied: 4,
                now: 1,
            }],
            counts: InstanceCounts::default(),
            brake: Some(InstanceCounts::default()),
            causes: Vec::new(),
        };
        let task = "web".parse().unwrap();
        assert_eq!(
            brake_text(Some(&blocked), &task),
            "the brake of the fleet holds it since 2026-02-03T09:15:30Z: api has 1 of the 4 instances that were \
             applied last; it goes on when it is released (`cts task release web`), when all tasks are \
             (`cts task release -all`), or when the instances are back"
        );
        let text = brake_text(None, &task);
        assert!(
            text.starts_with("the brake of the fleet holds it; it goes on"),
            "{text}"
        );
    }
}
