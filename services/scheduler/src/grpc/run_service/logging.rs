//! Log lines about the beginning and the end of attempts, with the names and messages of the original's log
//! (docs/cli.md#log).

use cts_core::runs::{AttemptOutcome, RunKind, RunStatus, brief_error};
use cts_core::{TaskName, whole_milliseconds};
use cts_store::{Completed, Completion, Lease};

use super::RunEndpoint;
use crate::mode::Mode;

impl RunEndpoint {
    /// Logs that an attempt begins. The repetition of a failed attempt was announced when that attempt failed.
    pub(super) fn log_begin(&self, lease: &Lease) {
        let Lease {
            run, task, holder, ..
        } = lease;
        match (lease.kind, lease.attempt) {
            (RunKind::Plan, _) => {
                tracing::info!(target: "ctrl", task_name = %task, run.id = %run, worker.id = %holder, "inspecting task");
            }
            (RunKind::Apply, ..=1) if self.first_pass.has(task) => {
                tracing::info!(target: "ctrl", task_name = %task, run.id = %run, worker.id = %holder, "running task once");
            }
            (RunKind::Apply, ..=1) => {
                tracing::info!(target: "tasksmanager", task_name = %task, run.id = %run, worker.id = %holder, "executing task");
            }
            (RunKind::Apply | RunKind::Check | RunKind::Destroy | RunKind::DestroyPlan, _) => {}
        }
    }

    /// Logs how an attempt ended.
    pub(super) fn log_end(&self, completion: &Completion, completed: &Completed) {
        if completed.kind == RunKind::Check {
            // The leader may wait for it.
            self.notifier.tasks_changed();
        }
        let task = &completed.task;
        let run = completion.run;
        let failure = completed.failure.as_ref();
        let code = code(completion);
        let details = completion.details.as_ref();
        let attempts = completed.attempt;
        let changes = details.and_then(|details| details.resources);
        let changes = changes.map(|changes| changes.to_string());
        let took = details.map(|details| details.phases.unwrap_or_default().total());
        let took = took.map(whole_milliseconds).map(tracing::field::debug);
        // A pass makes one attempt, and its caller reads only its log.
        let brief = |error: &str| match self.mode {
            Mode::OnRequest => error.to_owned(),
            Mode::Daemon => brief_error(error),
        };
        match (&completion.outcome, completed.status) {
            // Its worker logs what is wrong with the machine, once for all its runs.
            (AttemptOutcome::Failed(error), _) if completed.given_back => {
                tracing::info!(
                    target: "ctrl",
                    task_name = %task,
                    run.id = %run,
                    worker.id = %completion.holder,
                    error = brief_error(error),
                    "run given back: the machine of its worker is at fault, and the attempt does not count"
                );
            }
            (AttemptOutcome::Planned(plan), RunStatus::Succeeded) => {
                if self.mode == Mode::OnRequest {
                    tracing::info!(target: "ctrl", task_name = %task, plan = plan.text, run.id = %run, "inspection results");
                }
                let changes_present = plan.changes_present;
                tracing::info!(target: "ctrl", task_name = %task, run.id = %run, changes_present, "inspected task");
            }
            (AttemptOutcome::Failed(error), _) if completed.kind == RunKind::Destroy => {
                tracing::error!(
                    target: "tasksmanager",
                    task_name = %task,
                    error = format!("its infrastructure cannot be destroyed: {}", brief(error)),
                    run.id = %run,
                    retry_after = ?completed.next_due,
                    code,
                    "unable to delete task"
                );
            }
            (AttemptOutcome::Failed(error), RunStatus::Failed) if completed.kind.only_plans() => {
                tracing::error!(target: "ctrl", task_name = %task, run.id = %run, error = brief(error), code, "error inspecting task");
            }
            (AttemptOutcome::Checked, RunStatus::Succeeded) => {
                tracing::info!(target: "ctrl", task_name = %task, run.id = %run, "task checked");
            }
            (AttemptOutcome::Failed(error), RunStatus::Failed)
                if completed.kind == RunKind::Check =>
            {
                tracing::error!(target: "ctrl", task_name = %task, run.id = %run, error = brief(error), code, "error checking task");
            }
            (AttemptOutcome::Destroyed, RunStatus::Succeeded) => {
                tracing::info!(target: "ctrl", task_name = %task, run.id = %run, changes, took, "infrastructure of a deleted task destroyed");
            }
            (_, RunStatus::Succeeded) if self.first_pass.has(task) => {
                tracing::info!(target: "ctrl", task_name = %task, run.id = %run, changes, took, attempts, "task completed");
                self.first_pass.ended(task, false);
            }
            (_, RunStatus::Succeeded) => {
                tracing::info!(target: "tasksmanager", task_name = %task, run.id = %run, changes, took, attempts, "task completed");
            }
            (AttemptOutcome::Failed(error), RunStatus::Failed) if lacks_variable(task, error) => {
                tracing::error!(target: "ctrl", task_name = %task, error, run.id = %run, code, "error initializing task");
                self.first_pass.ended(task, true);
            }
            (AttemptOutcome::Failed(_), RunStatus::Failed) => {
                let error = failure.map_or("", |failure| &failure.error);
                let error = format!("could not apply changes for task {task}: {}", brief(error));
                // A pass ends before the retry: the next start retries.
                let retry_after = completed.next_due.filter(|_| self.mode == Mode::Daemon);
                let retry_after = retry_after.map(tracing::field::debug);
                tracing::error!(target: "tasksmanager", task_name = %task, error, run.id = %run, retry_after, code, "error running task");
                self.first_pass.ended(task, true);
            }
            (AttemptOutcome::Failed(error), _) => {
                tracing::warn!(
                    target: "retry",
                    attempt_number = failure.map_or(1, |failure| failure.attempt) + 1,
                    description = ?format!("ApplyTask {task}"),
                    task_name = %task,
                    run.id = %run,
                    error = brief_error(error),
                    retry_after = ?completed.next_due.unwrap_or_default(),
                    code,
                    "retrying"
                );
            }
            (AttemptOutcome::Declined(error), _) => {
                tracing::error!(target: "ctrl", task_name = %task, run.id = %run, error = brief(error), code, "the run was ended on its server");
                if completed.kind.applies() && completed.status.is_end() {
                    self.first_pass.ended(task, true);
                }
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
}

/// Logs what Terraform has reported of an apply that will not be tried again, before the line that ends its run.
pub(super) fn log_failed_apply(completion: &Completion, completed: &Completed) {
    let task = &completed.task;
    if let (AttemptOutcome::Failed(error), RunStatus::Failed, RunKind::Apply) =
        (&completion.outcome, completed.status, completed.kind)
        && !lacks_variable(task, error)
    {
        let error = brief_error(error);
        tracing::error!(target: "tasksmanager", task_name = %task, error, run.id = %completion.run, code = code(completion), "error applying task");
    }
}

/// The code of a failed attempt (docs/runbook.md#error-codes).
fn code(completion: &Completion) -> Option<&str> {
    let code = completion.details.as_ref()?.error_code.as_str();
    (!code.is_empty()).then_some(code)
}

/// Whether Terraform was not started because the module lacks a variable of its condition.
fn lacks_variable(task: &TaskName, error: &str) -> bool {
    error.contains(&format!("module for task \"{task}\" is missing the"))
}
