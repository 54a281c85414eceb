//! The worker as a whole: takes runs as slots become free, and works on several at a time.

mod observed_metrics;
mod own_check;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use cts_bundle::Retention;
use cts_core::Chain;
use cts_proto::bundle::v1::bundle_service_client::BundleServiceClient;
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::run::v1::approval_service_client::ApprovalServiceClient;
use cts_proto::run::v1::plan_service_client::PlanServiceClient;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::worker::v1::worker_service_client::WorkerServiceClient;
use cts_runtime::{Outage, log_failure};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::calls::inputs::Contents;
use crate::calls::registered::Registered;
use crate::calls::requests::Requests;
use crate::calls::scheduler::Scheduler;
use crate::calls::{RETRIES, is_outage};
use crate::execute::execute;
use crate::failed_runs::FailedRuns;
use crate::health::Health;
use crate::heartbeat::heartbeat;
use crate::journal::Journal;
use crate::leased_run::LeasedRun;
use crate::metrics::Metrics;
use crate::options::{Dependencies, Driver, Options, ShutdownTokens};
use crate::redaction::Redactors;
use crate::shared::{Console, Shared};
use crate::slots::Slots;

/// How long a call for a run may still take after the worker has begun to drain: the scheduler ends the call
/// once it learns of the drain.
const LAST_CALL: Duration = Duration::from_secs(3);

/// Most calls for runs at a time. A call that has brought a run is at once free for the next run.
const TAKERS: u32 = 32;

/// How often the cache is searched for unused modules.
const BUNDLES_EVERY: Duration = Duration::from_hours(1);

/// Bundles of tasks that change seldom are not fetched again for each change.
const BUNDLES_KEPT: Retention = Retention {
    most_recent: 100,
    unused_for: Duration::from_hours(24),
};

/// One worker process, before its start.
#[derive(Debug)]
pub struct Worker {
    shared: Arc<Shared>,
}

impl Worker {
    /// Makes a worker that has not begun. Reads and writes its journal.
    pub fn new(options: Options, dependencies: Dependencies) -> Self {
        let Dependencies {
            scheduler,
            driver,
            bundles,
            guard,
            values,
            handlers,
            console,
            signals,
        } = dependencies;
        let scheduler = Scheduler {
            worker: options.record.id.clone(),
            registered: Registered::new(options.registration.clone()),
            capabilities: options.record.capabilities.clone(),
            runs: RunServiceClient::new(scheduler.clone()),
            plans: PlanServiceClient::new(scheduler.clone()),
            approvals: ApprovalServiceClient::new(scheduler.clone()),
            logs: LogServiceClient::new(scheduler.clone()),
            bundles: BundleServiceClient::new(scheduler.clone()),
            workers: WorkerServiceClient::new(scheduler),
            contents: Contents::default(),
            asks_permission: matches!(driver, Driver::Terraform(_)),
            names_previous_backend: options.previous_backend.is_some(),
            reports: Arc::default(),
        };
        let journal = options.keeps_journal.then(|| {
            let (directory, life) = (&options.working_dir, &options.record.id);
            Arc::new(Journal::open(directory, life, options.syncs_journal))
        });
        let shared = Shared {
            journal,
            slots: Slots::new(options.record.slots),
            health: Health::new(),
            options,
            scheduler,
            driver,
            bundles,
            guard,
            console: Console(console),
            values,
            handlers,
            adopted: Mutex::default(),
            directories: parking_lot::Mutex::default(),
            started: Instant::now(),
            requests: Requests::default(),
            failed_runs: FailedRuns::default(),
            redactors: Redactors::default(),
            metrics: Metrics::new(&signals.meter),
            traces: signals.traces,
        };
        let shared = Arc::new(shared);
        observed_metrics::observe(&signals.meter, &Arc::downgrade(&shared));
        Self { shared }
    }

    /// Works until it is ordered to end, and returns when the last run has ended and is reported.
    pub async fn run(self, shutdown: ShutdownTokens) -> Result<(), Infallible> {
        let ended = CancellationToken::new();
        let heartbeats = heartbeat(&self.shared, &shutdown, &ended);
        let work = async {
            self.work(&shutdown).await;
            ended.cancel();
        };
        let house = ended.run_until_cancelled(forget_bundles(&self.shared));
        let token = ended.run_until_cancelled(keep_token(&self.shared));
        let health = ended.run_until_cancelled(self.shared.health.keep(&self.shared));
        tokio::join!(heartbeats, work, house, token, health);
        Ok(())
    }

    async fn work(&self, shutdown: &ShutdownTokens) {
        let mut work = JoinSet::new();
        let outage = Arc::<parking_lot::Mutex<Outage>>::default();
        let (leased, mut runs) = mpsc::unbounded_channel();
        for _ in 0..self.shared.options.record.slots.clamp(1, TAKERS) {
            let (shared, shutdown) = (Arc::clone(&self.shared), shutdown.clone());
            let outage = Arc::clone(&outage);
            work.spawn(take_runs(shared, shutdown, leased.clone(), outage));
        }
        drop(leased);
        let mut overdue = std::pin::pin!(async {
            shutdown.drain.cancelled().await;
            tokio::time::sleep(self.shared.options.drain_timeout).await;
        });
        let mut waited = false;
        loop {
            tokio::select! {
                // Checked first, so that no run is left when the last task has ended.
                biased;
                Some(run) = runs.recv() => {
                    let stop = shutdown.stop.clone();
                    let span = run.spans.log_span();
                    let working = async move { Box::pin(execute(run, &stop)).await };
                    work.spawn(working.instrument(span));
                }
                ended = work.join_next() => match ended {
                    None => return,
                    Some(Err(error)) if error.is_panic() => {
                        // The supervisor of this worker must learn of the panic.
                        std::panic::resume_unwind(error.into_panic());
                    }
                    Some(_) => {}
                },
                () = &mut overdue, if !waited => {
                    waited = true;
                    tracing::warn!("runs took longer than the drain timeout and are interrupted");
                    shutdown.stop.cancel();
                }
            }
        }
    }
}

async fn keep_token(shared: &Shared) -> Infallible {
    match &shared.values.vault {
        Some(vault) => vault.keep_token().await,
        None => std::future::pending().await,
    }
}

/// Removes unpacked modules that no task has used for a long time, once an hour.
async fn forget_bundles(shared: &Shared) -> Infallible {
    let Some(bundles) = &shared.bundles else {
        return std::future::pending().await;
    };
    loop {
        match bundles.forget_unused(BUNDLES_KEPT).await {
            Ok(forgotten) => {
                tracing::debug!(
                    bundles = forgotten.len(),
                    "forgot modules that are not used"
                );
            }
            Err(error) => {
                tracing::warn!(error = %Chain(&error), "modules that are not used cannot be removed");
            }
        }
        tokio::time::sleep(BUNDLES_EVERY).await;
    }
}

/// Returns when a run that has waited wants the slot of a call that waits for a new run, or the worker takes no new
/// runs.
async fn no_longer_wanted(shared: &Shared) {
    tokio::select! {
        () = shared.slots.wanted() => {}
        () = shared.health.unable() => {}
    }
}

/// Takes runs for one slot after the other, until the worker drains.
async fn take_runs(
    shared: Arc<Shared>,
    shutdown: ShutdownTokens,
    leased: mpsc::UnboundedSender<Box<LeasedRun>>,
    outage: Arc<parking_lot::Mutex<Outage>>,
) {
    let mut pauses = RETRIES.pauses(fastrand::f64);
    tokio::select! {
        // A scheduler refuses calls before the heartbeat that registers the worker.
        () = shared.scheduler.registered.first_answer() => {}
        () = shutdown.drain.cancelled() => return,
    }
    loop {
        let slot = tokio::select! {
            biased;
            () = shutdown.drain.cancelled() => return,
            slot = shared.free_slot() => slot,
        };
        let Ok(slot) = slot else { return };
        let asked = Instant::now();
        let request = shared.requests.next();
        let mut call = std::pin::pin!(shared.scheduler.acquire(request.clone()));
        let answer = tokio::select! {
            biased;
            answer = &mut call => answer,
            () = no_longer_wanted(&shared) => {
                // A run that was granted at this moment is given back.
                shared.requests.unanswered(request, Instant::now());
                continue;
            }
            () = shutdown.drain.cancelled() => {
                // A run that was granted a moment ago must not be lost.
                match tokio::time::timeout(LAST_CALL, call).await {
                    Ok(answer) => answer,
                    Err(_elapsed) => {
                        shared.requests.unanswered(request, Instant::now());
                        return;
                    }
                }
            }
        };
        match answer {
            Ok(lease) => {
                pauses.reset();
                outage.lock().works();
                if let Some(lease) = lease {
                    let drain = shutdown.drain.clone();
                    let run = LeasedRun::new(Arc::clone(&shared), (lease, slot), asked, drain);
                    if leased.send(Box::new(run)).is_err() {
                        return;
                    }
                }
            }
            Err(error) => {
                shared.requests.unanswered(request, Instant::now());
                let wait = pauses.next_pause();
                if is_outage(&error) {
                    tracing::debug!(error = %Chain(&error), retry_after = ?wait, "cannot ask the scheduler for runs");
                } else {
                    log_failure!(outage.lock(), error = %Chain(&error), retry_after = ?wait, "cannot ask the scheduler for runs");
                }
                tokio::select! {
                    () = shutdown.drain.cancelled() => {}
                    () = tokio::time::sleep(wait) => {}
                }
            }
        }
        if shutdown.drain.is_cancelled() {
            return;
        }
    }
}
