//! Results of queueing: lines of the log, decisions of tasks and figures.

use cts_core::runs::{EnqueueDecision, RunKind, RunStatus};
use cts_core::{TaskName, excerpt, losses_text};
use cts_store::{EnqueueRequest, Enqueued, Unchanged};
use tokio::time::Instant;

use super::LeaderLoop;
use crate::metrics::Skipped;
use crate::planner::Decision;

/// Characters of the cause of a run in the log.
const CAUSE_LOGGED: usize = 300;

impl LeaderLoop {
    /// Logs, counts and notes what the store has decided.
    pub(super) fn report(&mut self, enqueued: &Enqueued, request: &EnqueueRequest) {
        let task = &enqueued.task;
        if let Some(run) = enqueued.cancelled {
            let kind = RunKind::Apply;
            self.context
                .notifier
                .run_changed(run, task, kind, RunStatus::Cancelled);
        }
        if enqueued.refused.is_some() {
            tracing::info!(target: "ctrl", task_name = %task, run.id = %request.run, "a run that was to follow is blocked, and the task owes it");
            self.context
                .notifier
                .run_changed(request.run, task, request.kind, RunStatus::Failed);
        }
        if let Some(failed) = &request.fails {
            self.report_failed(enqueued, request, failed);
            return;
        }
        let losses = losses_text(&enqueued.losses);
        self.measure(enqueued, request);
        match (enqueued.decision, enqueued.queued) {
            (Some(EnqueueDecision::Block), _) => {
                self.planner.give_back(task, request.causes.clone());
                self.note_hold(task, &losses.unwrap_or_default(), enqueued.by_brake);
            }
            (
                Some(
                    decision @ (EnqueueDecision::Enqueue
                    | EnqueueDecision::Replace
                    | EnqueueDecision::Supersede),
                ),
                Some(run),
            ) => {
                self.context
                    .notifier
                    .run_changed(run, task, request.kind, RunStatus::Queued);
                self.context.notifier.queue_changed();
                let cause = self.cause(request);
                tracing::info!(task_name = %task, run.id = %run, kind = request.kind.as_str(), cause, "run queued");
                if let Some(losses) = losses {
                    tracing::warn!(target: "ctrl", task_name = %task, run.id = %run, losses, "a run was asked for, so it takes more away than the task may lose");
                }
                let decision = match decision {
                    EnqueueDecision::Replace => Decision::Merged(run),
                    _ => Decision::Queued(run),
                };
                self.decide(task, decision);
            }
            (Some(EnqueueDecision::Keep), Some(run)) => self.decide(task, Decision::Merged(run)),
            (Some(EnqueueDecision::Withhold), _) => {
                self.planner.give_back(task, request.causes.clone());
                tracing::info!(target: "ctrl", task_name = %task, "the run of this task input was cancelled, it waits for newer data or a request");
                self.context.first_pass.ended(task, true);
                self.decide(task, Decision::Withheld);
            }
            (Some(EnqueueDecision::Skip { .. }), _) => {
                if request.tick.is_some() {
                    tracing::info!(target: "tasksmanager", task_name = %task, "scheduled task triggered but had no changes");
                } else {
                    tracing::debug!(target: "ctrl", task_name = %task, "task input is unchanged, no run needed");
                }
                self.context.first_pass.ended(task, false);
                self.decide(task, Decision::Unchanged);
            }
            (_, _) => {}
        }
    }

    /// The cause of a run in the log: its triggers and the changes of data, folded if they are long.
    fn cause(&self, request: &EnqueueRequest) -> String {
        if request.unchanged == Unchanged::Run {
            return "request".to_owned();
        }
        let Some(cause) = &request.cause else {
            return "change".to_owned();
        };
        let is_first = cause.takeover || self.context.first_pass.has(&request.task);
        let first = is_first.then(|| self.beginning.to_owned());
        let tick = cause.tick.then(|| "schedule".to_owned());
        let parts = first.into_iter().chain(tick).chain(cause.change_lines());
        let text = parts.collect::<Vec<_>>().join("; ");
        if text.is_empty() {
            return "change".to_owned();
        }
        excerpt(&text, CAUSE_LOGGED)
    }

    /// Counts an input without a run, and follows the run of a change.
    fn measure(&self, enqueued: &Enqueued, request: &EnqueueRequest) {
        let metrics = &self.context.metrics;
        let skipped = match enqueued.decision {
            Some(EnqueueDecision::Skip { .. }) => Some(Skipped::Unchanged),
            Some(EnqueueDecision::Keep) => Some(Skipped::Queued),
            Some(EnqueueDecision::Block) => Some(Skipped::Blocked),
            Some(EnqueueDecision::Withhold) => Some(Skipped::Withheld),
            _ => None,
        };
        let queued = enqueued
            .queued
            .filter(|_| matches!(skipped, None | Some(Skipped::Queued)));
        let now = Instant::now();
        metrics.passed(metrics.changes.queued(request.run, queued, now));
        if let Some(reason) = skipped {
            metrics.skipped(reason);
        }
    }

    /// Logged once, and again if something else is lost.
    fn note_hold(&mut self, task: &TaskName, losses: &str, by_brake: bool) {
        let decision = Decision::Held(losses.to_owned());
        if self.planner.last_decision(task) == Some(&decision) {
        } else if by_brake {
            // One warning for all tasks was logged when the brake was set.
            tracing::info!(target: "ctrl", task_name = %task, losses, "the brake of the fleet holds the task: it would take instances away");
        } else {
            tracing::warn!(target: "ctrl", task_name = %task, losses, "the task is blocked: it would lose more than it may; release it, or wait until the instances are back");
        }
        self.context.first_pass.ended(task, true);
        self.decide(task, decision);
    }

    fn decide(&mut self, task: &TaskName, decision: Decision) {
        self.planner.decided(task, self.started.elapsed(), decision);
    }
}
