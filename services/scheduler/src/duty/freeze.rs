//! Freezing inputs and queueing runs.

use std::time::Duration;

use cts_core::runs::{EnqueueDecision, RunKind, RunStatus};
use cts_core::{Chain, FrozenInput, RunId, TaskName, ViewId};
use cts_store::{EnqueueRequest, Enqueued, LeaderError, Unchanged};

use super::{Duty, STORE_RETRY};
use crate::campaign::TenureEnd;
use crate::desk::{Decision, Due, DueData, DueTask, Overdue, Why};
use crate::task_work::NOT_INITIALIZED;

impl Duty {
    /// Freezes and queues what is due, and refuses what is overdue.
    pub(super) async fn carry_out(&mut self) -> Result<(), TenureEnd> {
        let Due { tasks, overdue } = self.desk.take_due(self.started.elapsed());
        for overdue in overdue {
            let reason = not_complete(&overdue, self.input_patience);
            self.refuse(overdue.run, &reason).await?;
        }
        if tasks.is_empty() {
            return Ok(());
        }
        let mut requests = Vec::with_capacity(tasks.len());
        for task in tasks {
            match self.frozen(&task) {
                Ok(frozen) => requests.push(self.enqueue_request(&task, frozen)),
                Err(error) => self.not_frozen(&task, &error).await?,
            }
        }
        let kinds: Vec<RunKind> = requests.iter().map(|request| request.kind).collect();
        match self.store.enqueue(self.epoch, requests).await {
            Ok(enqueued) => {
                for (enqueued, kind) in enqueued.iter().zip(kinds) {
                    self.report(enqueued, kind);
                }
                Ok(())
            }
            Err(LeaderError::Deposed { .. }) => Err(TenureEnd::Deposed),
            Err(LeaderError::Store(error)) => {
                tracing::error!(error = %Chain(&error), "cannot queue runs, trying again");
                tokio::time::sleep(STORE_RETRY).await;
                Err(TenureEnd::Doubtful)
            }
        }
    }

    fn frozen(&self, task: &DueTask) -> Result<FrozenInput, serde_json::Error> {
        let settings_digest = self.settings_digest.of(&task.definition);
        match &task.data {
            DueData::Complete(input) => input.freeze(settings_digest),
            DueData::NotNeeded => {
                FrozenInput::for_check_without_data(&task.definition, settings_digest)
            }
        }
    }

    fn enqueue_request(&self, task: &DueTask, input: FrozenInput) -> EnqueueRequest {
        self.recent_inputs.keep(input.hash, &input.bytes);
        let name = task.definition.name.clone();
        match task.why {
            Why::Request(wanted) => EnqueueRequest {
                task: name,
                input,
                run: wanted.run,
                kind: wanted.kind,
                single: true,
                unchanged: Unchanged::Run,
            },
            Why::Change { first } => {
                let run = self.identities.run_id();
                let one_round = self.mode.is_one_round();
                EnqueueRequest {
                    input,
                    run: if one_round {
                        self.round.run_of(&name, run)
                    } else {
                        run
                    },
                    task: name,
                    kind: self.mode.kind(),
                    single: one_round,
                    unchanged: match self.mode.unchanged() {
                        Some(unchanged) => unchanged,
                        None if first => self.first_pass,
                        None => Unchanged::AsTaskSays,
                    },
                }
            }
        }
    }

    async fn not_frozen(
        &mut self,
        task: &DueTask,
        error: &serde_json::Error,
    ) -> Result<(), TenureEnd> {
        let name = &task.definition.name;
        tracing::error!(task_name = %name, error = %error, "cannot freeze the input of a task");
        let now = self.started.elapsed();
        let decision = Decision::Failed(error.to_string());
        self.desk.decided(name, now, decision);
        match task.why {
            Why::Change { .. } => {
                self.desk.postpone(name, now, now + STORE_RETRY);
                Ok(())
            }
            Why::Request(wanted) => {
                let reason = format!("the input of task {name} cannot be used: {error}");
                self.refuse(wanted.run, &reason).await
            }
        }
    }

    /// Says that a request cannot be carried out. If that cannot be stored, the next look finds the request
    /// again, and it gets more time.
    async fn refuse(&self, run: RunId, reason: &str) -> Result<(), TenureEnd> {
        tracing::warn!(target: "ctrl", reason, run.id = %run, "a run that was asked for is refused");
        match self.store.refuse(self.epoch, run, reason).await {
            Ok(()) => Ok(()),
            Err(LeaderError::Deposed { .. }) => Err(TenureEnd::Deposed),
            Err(LeaderError::Store(error)) => {
                tracing::error!(error = %Chain(&error), "cannot refuse a run, trying again");
                Ok(())
            }
        }
    }

    fn report(&mut self, enqueued: &Enqueued, kind: RunKind) {
        let task = &enqueued.task;
        if let Some(run) = enqueued.cancelled {
            let kind = RunKind::Apply;
            self.changes.tell(run, task, kind, RunStatus::Cancelled);
        }
        match (enqueued.decision, enqueued.queued) {
            (
                Some(
                    decision @ (EnqueueDecision::Enqueue
                    | EnqueueDecision::Replace
                    | EnqueueDecision::Supersede),
                ),
                Some(run),
            ) => {
                self.changes.tell(run, task, kind, RunStatus::Queued);
                self.changes.queue_changed();
                tracing::debug!(target: "ctrl", task_name = %task, run.id = %run, "run queued");
                let decision = match decision {
                    EnqueueDecision::Replace => Decision::Merged(run),
                    _ => Decision::Queued(run),
                };
                self.decide(task, decision);
            }
            (Some(EnqueueDecision::Keep), Some(run)) => self.decide(task, Decision::Merged(run)),
            (Some(EnqueueDecision::Skip { .. }), _) => {
                tracing::info!(target: "ctrl", task_name = %task, "task input is unchanged, no run needed");
                self.decide(task, Decision::Unchanged);
            }
            (_, _) => {}
        }
    }

    fn decide(&mut self, task: &TaskName, decision: Decision) {
        self.desk.decided(task, self.started.elapsed(), decision);
    }
}

fn not_complete(overdue: &Overdue, patience: Duration) -> String {
    let missing: Vec<&str> = overdue.missing.iter().map(ViewId::as_str).collect();
    format!(
        "{NOT_INITIALIZED} {}: the data that it needs was not complete within {}s; nothing is known of {}",
        overdue.task,
        patience.as_secs(),
        missing.join(", ")
    )
}
