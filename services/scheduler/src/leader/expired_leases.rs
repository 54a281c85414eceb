//! Leases whose holders have fallen silent.

use std::convert::Infallible;
use std::time::Duration;

use cts_core::Chain;
use cts_core::runs::RunStatus;
use cts_store::{ExpiredLeases, LeaderError, Requeued};
use tokio::time::{Instant, MissedTickBehavior, sleep};

use super::Leader;
use super::leader_context::LeaderContext;
use super::lost_workers::{FurtherLosses, LostWorkers};
use crate::run_spans::EndedLease;
use crate::term::Term;

/// Time before a write that the store refused is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Leases taken back by one statement; if more have expired, the next statement follows at once.
const REAPED_AT_ONCE: usize = 16;

impl Leader {
    /// Takes back leases whose holders have fallen silent.
    pub(super) async fn reap(&self, term: &Term) -> Infallible {
        let every =
            (self.context.lease / 30).clamp(Duration::from_millis(10), Duration::from_secs(1));
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut workers = LostWorkers::new(self.context.lease);
        loop {
            ticks.tick().await;
            for further in workers.due(Instant::now()) {
                log_further(&further);
            }
            let epoch = term.in_force().await;
            let each: [ExpiredLeases; REAPED_AT_ONCE] = std::array::from_fn(|_| ExpiredLeases {
                event: self.context.identities.event_id(),
                retry_run: self.context.identities.run_id(),
                jitter: self.context.identities.jitter(),
            });
            match self.context.store.reap(epoch, &each).await {
                Ok(requeued) => {
                    if requeued.len() == each.len() {
                        ticks.reset_immediately();
                    }
                    for run in &requeued {
                        log(run, &mut workers);
                        self.lost(run).await;
                    }
                    if requeued.is_empty() && workers.is_empty() && self.rest().await {
                        ticks.reset();
                    }
                }
                Err(LeaderError::Deposed { .. }) => term.end(epoch),
                Err(LeaderError::Store(error)) => {
                    cts_store::log_store_failure!(error, &error, error = %Chain(&error), "cannot take back expired leases");
                    sleep(RETRY).await;
                }
            }
        }
    }

    /// If no run is open, waits until a run may be queued. Returns whether it has waited.
    ///
    /// A wait is shorter than a lease, so that a run without a hint keeps no expired lease.
    async fn rest(&self) -> bool {
        let LeaderContext {
            store,
            notifier,
            lease,
            ..
        } = &*self.context;
        if !notifier.is_alone() || !matches!(store.has_open_runs().await, Ok(false)) {
            return false;
        }
        tokio::select! {
            () = notifier.open_runs.notified() => {}
            () = sleep(notifier.poll(RETRY).min(*lease / 4)) => {}
        }
        true
    }

    /// A run has lost its worker.
    async fn lost(&self, run: &Requeued) {
        let (task, id) = (&run.task, run.run);
        self.context.metrics.lease_expired();
        self.context
            .notifier
            .run_changed(id, task, run.kind, run.status);
        self.context.notifier.queue_changed();
        if run.status.is_end() {
            // A task that was created or deleted may have gone with it.
            self.context.notifier.tasks_changed();
        }
        if let Some(record) = self.context.spans.of_run(id).await {
            let ended = EndedLease {
                lease: None,
                held_for: None,
                outcome: "lost",
                failed: true,
            };
            self.context.spans.lease_ended(&record, ended).await;
        }
    }
}

/// Logs that a lease has expired, or that a cancelled run has ended without a lease.
fn log(run: &Requeued, workers: &mut LostWorkers) {
    let Requeued {
        run: id,
        task,
        status,
        holder,
        ..
    } = run;
    let Some(worker) = holder else {
        tracing::info!(task_name = %task, run.id = %id, "a cancelled run has ended in the queue");
        return;
    };
    if *status == RunStatus::Failed {
        tracing::error!(task_name = %task, run.id = %id, worker.id = %worker, "a worker was lost, and its run has failed: too many of its attempts ended like that or otherwise failed");
    } else if workers.expired(worker, task, *id, Instant::now()) {
        tracing::warn!(task_name = %task, run.id = %id, worker.id = %worker, status = status.as_str(), "a worker was lost, its lease of the run has expired");
    } else {
        tracing::debug!(task_name = %task, run.id = %id, worker.id = %worker, status = status.as_str(), "a further lease of a lost worker has expired");
    }
}

fn log_further(further: &FurtherLosses) {
    let FurtherLosses {
        worker,
        runs,
        tasks,
    } = further;
    tracing::warn!(worker.id = %worker, runs, tasks, "further leases of a lost worker have expired");
}
