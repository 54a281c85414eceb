//! Log lines about the end of an attempt.

use cts_core::runs::{AttemptOutcome, RunKind, RunStatus};
use cts_store::{Completed, Completion};

/// Logs how an attempt ended.
pub(super) fn log_end(completion: &Completion, completed: &Completed) {
    let task = &completed.task;
    let run = completion.run;
    match (&completion.outcome, completed.status) {
        (AttemptOutcome::Planned(plan), RunStatus::Succeeded) => {
            let changes_present = plan.changes_present;
            tracing::info!(target: "ctrl", task_name = %task, run.id = %run, changes_present, "task inspected");
        }
        (AttemptOutcome::Failed(error), _) if completed.kind == RunKind::Destroy => {
            tracing::error!(
                target: "ctrl",
                task_name = %task,
                run.id = %run,
                error,
                retry_after = ?completed.next_due,
                "error destroying the infrastructure of a deleted task"
            );
        }
        (AttemptOutcome::Failed(error), RunStatus::Failed) if completed.kind.only_plans() => {
            tracing::error!(target: "ctrl", task_name = %task, run.id = %run, error, "error inspecting task");
        }
        (AttemptOutcome::Checked, RunStatus::Succeeded) => {
            tracing::info!(target: "ctrl", task_name = %task, run.id = %run, "task checked");
        }
        (AttemptOutcome::Failed(error), RunStatus::Failed) if completed.kind == RunKind::Check => {
            tracing::error!(target: "ctrl", task_name = %task, run.id = %run, error, "error checking task");
        }
        (AttemptOutcome::Destroyed, RunStatus::Succeeded) => {
            tracing::info!(target: "ctrl", task_name = %task, run.id = %run, "infrastructure of a deleted task destroyed");
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
        (
            AttemptOutcome::Applied
            | AttemptOutcome::Planned(_)
            | AttemptOutcome::Checked
            | AttemptOutcome::Destroyed,
            _,
        ) => {
            let error = completion.outcome.error(completed.kind).unwrap_or_default();
            tracing::error!(target: "ctrl", task_name = %task, run.id = %run, error, "a worker did something else than it was to do");
        }
    }
}
