//! The loop that turns changes into queued runs: one desk, one writer.

use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::{EnqueueDecision, RunKind, RunStatus};
use cts_core::{Chain, LeaderEpoch, RunInput, TaskName};
use cts_rpc::Peers;
use cts_store::{EnqueueRequest, Enqueued, LeaderError, Store, Unchanged};
use tokio::time::Instant;

use crate::campaign::TenureEnd;
use crate::changes::Changes;
use crate::desk::{Desk, DueTask};
use crate::following::Following;
use crate::identities::Identities;
use crate::mode::{Mode, Round};
use crate::recent_inputs::RecentInputs;
use crate::scheduler::SettingsDigest;

/// Wait before what could not be stored is tried again.
const STORE_RETRY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Duty {
    pub(crate) desk: Desk,
    pub(crate) epoch: LeaderEpoch,
    pub(crate) mode: Mode,
    pub(crate) round: Arc<Round>,
    /// What the first input of each task means that is applied already.
    pub(crate) first_pass: Unchanged,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) watchers: Peers,
    pub(crate) identities: Arc<dyn Identities>,
    pub(crate) settings_digest: SettingsDigest,
    pub(crate) changes: Arc<Changes>,
    pub(crate) recent_inputs: Arc<RecentInputs>,
    pub(crate) started: Instant,
}

impl Duty {
    /// Works until the epoch is over, or until a write to the store has failed.
    pub(crate) async fn run(mut self) -> TenureEnd {
        if self.desk.is_empty() {
            tracing::info!(target: "ctrl", "no enabled tasks are configured");
            return std::future::pending().await;
        }
        let mut following = Following::new(&self.watchers, self.desk.views());
        loop {
            let due = self.desk.next_due();
            tokio::select! {
                (view, delta) = following.next() => {
                    if let Err(error) = self.desk.observe(&view, delta, self.started.elapsed()) {
                        tracing::debug!(view.id = %view, error = %error, "a delta does not fit");
                        following.again(&view);
                    }
                }
                () = sleep_until(self.started, due) => {}
            }
            if let Err(end) = self.freeze_due().await {
                return end;
            }
        }
    }

    /// Freezes and queues what is due.
    async fn freeze_due(&mut self) -> Result<(), TenureEnd> {
        let due = self.desk.take_due(self.started.elapsed());
        if due.is_empty() {
            return Ok(());
        }
        let mut requests = Vec::with_capacity(due.len());
        for DueTask {
            definition,
            services,
            first,
        } in due
        {
            let settings_digest = self.settings_digest.of(&definition);
            let input = RunInput {
                definition: (*definition).clone(),
                settings_digest,
                services,
            };
            match input.freeze() {
                Ok(frozen) => {
                    self.recent_inputs.keep(frozen.hash, &frozen.bytes);
                    let run = self.identities.run_id();
                    let one_round = self.mode.is_one_round();
                    requests.push(EnqueueRequest {
                        task: definition.name.clone(),
                        input: frozen,
                        run: if one_round {
                            self.round.run_of(&definition.name, run)
                        } else {
                            run
                        },
                        kind: self.mode.kind(),
                        single: one_round,
                        unchanged: match self.mode.unchanged() {
                            Some(unchanged) => unchanged,
                            None if first => self.first_pass,
                            None => Unchanged::AsTaskSays,
                        },
                    });
                }
                Err(error) => {
                    tracing::error!(task_name = %definition.name, error = %error, "cannot freeze the input of a task");
                    self.postpone(&definition.name);
                }
            }
        }
        match self.store.enqueue(self.epoch, requests).await {
            Ok(enqueued) => {
                for enqueued in &enqueued {
                    self.report(enqueued);
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

    fn postpone(&mut self, task: &TaskName) {
        let now = self.started.elapsed();
        self.desk.postpone(task, now, now + STORE_RETRY);
    }

    fn report(&self, enqueued: &Enqueued) {
        let task = &enqueued.task;
        if let Some(run) = enqueued.cancelled {
            let kind = RunKind::Apply;
            self.changes.tell(run, task, kind, RunStatus::Cancelled);
        }
        match (enqueued.decision, enqueued.queued) {
            (
                Some(
                    EnqueueDecision::Enqueue
                    | EnqueueDecision::Replace
                    | EnqueueDecision::Supersede,
                ),
                Some(run),
            ) => {
                self.changes
                    .tell(run, task, self.mode.kind(), RunStatus::Queued);
                self.changes.queue_changed();
                tracing::debug!(target: "ctrl", task_name = %task, run.id = %run, "run queued");
            }
            (Some(EnqueueDecision::Skip { .. }), _) => {
                tracing::info!(target: "ctrl", task_name = %task, "task input is unchanged, no run needed");
            }
            (_, _) => {}
        }
    }
}

async fn sleep_until(started: Instant, due: Option<Duration>) {
    match due {
        Some(due) => tokio::time::sleep_until(started + due).await,
        None => std::future::pending().await,
    }
}
