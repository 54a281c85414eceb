//! From an explanation to a timeline: what changed, what was buffered, queued and waited for, what ran, what it wrote.

use chrono::{DateTime, Utc};
use cts_proto::run::v1::{Run, RunKind, RunStatus};
use cts_proto::task::v1::{DecisionKind, Explanation};
use cts_proto::time::timestamp_from_wire;
use prost_types::Timestamp;

use super::timeline::Entry;
use super::words::resources;
use crate::state::kind;
use crate::time::{Millis, between};

/// The entries, in no order.
pub(super) fn story(task: &Explanation) -> Vec<Entry<'_>> {
    let runs = || task.last_run.iter().chain(&task.current_run);
    let mut entries: Vec<_> = runs().flat_map(of_run).collect();
    let queued = runs().filter_map(|run| moment(run.queued_at)).max();
    for view in &task.views {
        let at = moment(view.changed_at);
        // A run has the changes from before it was queued.
        if at.is_some() && (at > queued || !view.triggers) {
            entries.push(Entry {
                at,
                word: "changed",
                lines: vec![&view.name],
                note: if view.triggers {
                    ""
                } else {
                    "it does not trigger the task"
                }
                .to_owned(),
                idle: !view.triggers,
                begins: true,
                ..Entry::default()
            });
        }
    }
    if let Some(decision) = &task.last_decision
        && !matches!(decision.kind(), DecisionKind::Queued | DecisionKind::Merged)
    {
        entries.push(Entry {
            at: moment(decision.at),
            word: "decided",
            lines: vec![&decision.text],
            idle: decision.kind() == DecisionKind::SkippedUnchanged,
            ..Entry::default()
        });
    }
    entries.extend(task.obstacles.iter().map(|obstacle| Entry {
        word: "waits",
        lines: vec![&obstacle.text],
        until: moment(obstacle.until),
        ..Entry::default()
    }));
    entries
}

fn of_run<'a>(run: &'a Run) -> Vec<Entry<'a>> {
    let [triggered, queued] = [run.triggered_at, run.queued_at].map(moment);
    let entry = |at: Option<DateTime<Utc>>, word| Entry {
        at,
        word,
        ..Entry::default()
    };
    let part = |at: Option<Timestamp>, word, note, text: &'a String| Entry {
        note,
        lines: Vec::from_iter(Some(text.as_str()).filter(|text| !text.is_empty())),
        run: Some(&run.id),
        ..entry(moment(at), word)
    };
    let is_requested = !run.requested_by.is_empty();
    let mut entries = vec![Entry {
        lines: run.cause.iter().map(String::as_str).collect(),
        causes: &run.cause_ids,
        begins: true,
        ..entry(
            triggered.or(queued),
            if is_requested { "requested" } else { "changed" },
        )
    }];
    let blocked = moment(run.blocked_since);
    let held = blocked.map(|since| (since, "blocked"));
    let held = held.or(triggered.map(|since| (since, "buffered")));
    if let Some((since, word)) = held.filter(|(since, _)| Some(*since) < queued) {
        entries.push(Entry {
            until: queued,
            ..entry(Some(since), word)
        });
    }
    entries.push(Entry {
        note: kind(run),
        run: Some(&run.id),
        ..entry(queued, "queued")
    });
    if !run.waiting_for.is_empty() {
        entries.push(part(None, "waits", String::new(), &run.waiting_for));
    }
    if run.started_at.is_some() {
        entries.push(part(run.started_at, "ran", steps(run), &run.worker_id));
    }
    if run.finished_at.is_some() {
        let word = match (run.status(), run.kind()) {
            (RunStatus::Failed, _) => "failed",
            (RunStatus::Cancelled, _) => "cancelled",
            (_, RunKind::Plan | RunKind::DestroyPlan) => "planned",
            (_, RunKind::Check) => "checked",
            _ => "wrote",
        };
        entries.push(part(run.finished_at, word, resources(run), &run.error));
    }
    entries
}

/// Length, attempts and phases of a run that has begun.
fn steps(run: &Run) -> String {
    let took = between(run.started_at.as_ref(), run.finished_at.as_ref());
    let mut parts: Vec<_> = took.iter().map(|took| format!("for {took}")).collect();
    if run.attempts > 1 {
        parts.push(format!("{} attempts", run.attempts));
    }
    let phases = run.details.as_ref().and_then(|details| details.phases);
    let phases = phases.unwrap_or_default();
    let phases = [
        ("render", phases.render),
        ("init", phases.init),
        ("validate", phases.validate),
        ("plan", phases.plan),
        ("wait", phases.wait),
        ("apply", phases.apply),
    ];
    let phases = phases
        .iter()
        .filter_map(|(phase, time)| Some((phase, time.as_ref()?)));
    parts.extend(phases.map(|(phase, time)| format!("{phase} {}", Millis::of(time))));
    parts.join(", ")
}

fn moment(at: Option<Timestamp>) -> Option<DateTime<Utc>> {
    timestamp_from_wire(at.as_ref())
}
