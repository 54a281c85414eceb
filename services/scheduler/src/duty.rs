//! The loop that turns changes into queued runs: one subscription, one desk, one writer.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use cts_core::runs::{EnqueueDecision, RunStatus};
use cts_core::{Chain, RunInput, TaskName};
use cts_proto::watch::v1::watch_service_client::WatchServiceClient;
use cts_store::{EnqueueRequest, Enqueued, Store};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::changes::Changes;
use crate::desk::{Desk, DueTask};
use crate::follow::{FollowError, Subscription};
use crate::identities::Identities;
use crate::recent_inputs::RecentInputs;
use crate::scheduler::SettingsDigest;

/// Wait before an input that could not be stored is tried again.
const STORE_RETRY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Duty {
    pub(crate) desk: Desk,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) watcher: WatchServiceClient<Channel>,
    pub(crate) identities: Arc<dyn Identities>,
    pub(crate) settings_digest: SettingsDigest,
    pub(crate) changes: Arc<Changes>,
    pub(crate) recent_inputs: Arc<RecentInputs>,
    pub(crate) started: Instant,
}

impl Duty {
    pub(crate) async fn run(mut self, shutdown: CancellationToken) {
        let stopped = shutdown.clone();
        tokio::select! {
            () = stopped.cancelled() => {}
            () = self.follow_for_ever() => {}
        }
    }

    async fn follow_for_ever(&mut self) {
        if self.desk.views().is_empty() {
            tracing::info!(target: "ctrl", "no enabled tasks are configured");
            return std::future::pending().await;
        }
        loop {
            let mut waits = ExponentialBuilder::default()
                .with_min_delay(Duration::from_millis(50))
                .with_max_delay(Duration::from_secs(5))
                .with_jitter()
                .without_max_times()
                .build();
            let mut subscription = loop {
                match Subscription::open(self.watcher.clone(), self.desk.views()).await {
                    Ok(subscription) => break subscription,
                    Err(error) => {
                        let wait = waits.next().unwrap_or(Duration::from_secs(5));
                        tracing::warn!(error = %Chain(&error), retry_after = ?wait, "cannot follow the watcher");
                        tokio::time::sleep(wait).await;
                    }
                }
            };
            let error = self.follow(&mut subscription).await;
            tracing::warn!(error = %Chain(&error), "following the watcher afresh");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn follow(&mut self, subscription: &mut Subscription) -> FollowError {
        loop {
            let due = self.desk.next_due();
            tokio::select! {
                delta = subscription.next() => match delta {
                    Ok((id, delta)) => {
                        if let Err(error) = self.desk.observe(&id, delta, self.started.elapsed()) {
                            tracing::debug!(view.id = %id, error = %error, "a delta does not fit");
                            return FollowError::Ended;
                        }
                    }
                    Err(error) => return error,
                },
                () = sleep_until(self.started, due) => {}
            }
            self.freeze_due().await;
        }
    }

    /// Freezes and queues what is due.
    async fn freeze_due(&mut self) {
        let due = self.desk.take_due(self.started.elapsed());
        if due.is_empty() {
            return;
        }
        let mut requests = Vec::with_capacity(due.len());
        for DueTask {
            definition,
            services,
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
                    requests.push(EnqueueRequest {
                        task: definition.name.clone(),
                        input: frozen,
                        run: self.identities.run_id(),
                    });
                }
                Err(error) => {
                    tracing::error!(task_name = %definition.name, error = %error, "cannot freeze the input of a task");
                    self.postpone(&definition.name);
                }
            }
        }
        let tasks: Vec<TaskName> = requests
            .iter()
            .map(|request| request.task.clone())
            .collect();
        match self.store.enqueue(requests).await {
            Ok(enqueued) => {
                for enqueued in &enqueued {
                    self.report(enqueued);
                }
            }
            Err(error) => {
                tracing::error!(error = %Chain(&error), "cannot queue runs, trying again");
                for task in &tasks {
                    self.postpone(task);
                }
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
            self.changes.tell(run, task, RunStatus::Cancelled);
        }
        match (enqueued.decision, enqueued.queued) {
            (Some(EnqueueDecision::Enqueue | EnqueueDecision::Replace), Some(run)) => {
                self.changes.tell(run, task, RunStatus::Queued);
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
