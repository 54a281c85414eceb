//! Runs as they are told: to callers, and to the log.

use cts_core::runs::{AttemptOutcome, ERRORS_BYTES, RunKind, RunStatus, shortened};
use cts_proto::run::v1 as proto;
use cts_rpc::convert;
use cts_store::{Completed, Completion, RunRecord, RunRequest};

/// A run for the wire. Errors that were stored when more of them was kept are cut, so that it fits into a message.
pub(crate) fn run_to_wire(record: RunRecord) -> proto::Run {
    proto::Run {
        id: record.id.to_string(),
        kind: convert::kind_to_wire(record.kind).into(),
        single: record.single,
        status: convert::status_to_wire(record.status).into(),
        attempts: record.attempts,
        error: record
            .error()
            .map(|error| shortened(&error, ERRORS_BYTES))
            .unwrap_or_default(),
        plan: record.plan.map(convert::plan_to_wire),
        queued_at: Some(convert::timestamp_to_wire(record.created_at)),
        started_at: record.started_at.map(convert::timestamp_to_wire),
        finished_at: record.finished_at.map(convert::timestamp_to_wire),
        task_name: record.task.into(),
        waiting_for: String::new(),
    }
}

/// A run that was requested and is not stored yet, because its input is not complete.
pub(super) fn requested_to_wire(request: RunRequest) -> proto::Run {
    proto::Run {
        id: request.run.to_string(),
        kind: convert::kind_to_wire(request.kind).into(),
        single: true,
        status: convert::status_to_wire(RunStatus::Queued).into(),
        queued_at: Some(convert::timestamp_to_wire(request.requested_at)),
        task_name: request.task.into(),
        waiting_for: "the data of all views of its task".to_owned(),
        ..proto::Run::default()
    }
}

/// Tells the log how an attempt ended.
pub(super) fn report(completion: &Completion, completed: &Completed) {
    let task = &completed.task;
    let run = completion.run;
    match (&completion.outcome, completed.status) {
        (AttemptOutcome::Planned(plan), RunStatus::Succeeded) => {
            let changes_present = plan.changes_present;
            tracing::info!(target: "ctrl", task_name = %task, run.id = %run, changes_present, "task inspected");
        }
        (AttemptOutcome::Failed(error), RunStatus::Failed) if completed.kind == RunKind::Plan => {
            tracing::error!(target: "ctrl", task_name = %task, run.id = %run, error, "error inspecting task");
        }
        (AttemptOutcome::Checked, RunStatus::Succeeded) => {
            tracing::info!(target: "ctrl", task_name = %task, run.id = %run, "task checked");
        }
        (AttemptOutcome::Failed(error), RunStatus::Failed) if completed.kind == RunKind::Check => {
            tracing::error!(target: "ctrl", task_name = %task, run.id = %run, error, "error checking task");
        }
        (_, RunStatus::Succeeded) => {
            tracing::info!(target: "ctrl", task_name = %task, run.id = %run, "task completed");
        }
        (AttemptOutcome::Failed(error), RunStatus::Failed) => {
            tracing::error!(target: "ctrl", task_name = %task, run.id = %run, error, "error applying task");
        }
        (AttemptOutcome::Failed(error), _) => {
            tracing::warn!(
                target: "ctrl",
                task_name = %task,
                run.id = %run,
                error,
                retry_after = ?completed.next_due.unwrap_or_default(),
                "attempt failed, trying again"
            );
        }
        (AttemptOutcome::Interrupted, _) => {
            tracing::info!(target: "ctrl", task_name = %task, run.id = %run, "run interrupted");
        }
        (AttemptOutcome::Applied | AttemptOutcome::Planned(_) | AttemptOutcome::Checked, _) => {
            let error = completion.outcome.error(completed.kind).unwrap_or_default();
            tracing::error!(target: "ctrl", task_name = %task, run.id = %run, error, "a worker did something else than it was to do");
        }
    }
}
