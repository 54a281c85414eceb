//! State that all slots of a worker share.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cts_bundle::BundleCache;
use cts_handlers::Handlers;
use cts_telemetry::Traces;
use cts_terraform::guard::Guard;
use cts_terraform::{OutputSink, TaskDirectory};
use tokio::sync::{AcquireError, Mutex, OwnedMutexGuard};
use tokio::time::Instant;

use crate::calls::requests::Requests;
use crate::calls::scheduler::Scheduler;
use crate::failed_runs::FailedRuns;
use crate::health::Health;
use crate::journal::Journal;

use crate::metrics::Metrics;
use crate::options::{Driver, Options};
use crate::redaction::Redactors;
use crate::slots::{Slot, Slots};
use crate::values::ValueSources;

/// Between two polls for a guard.
const GUARD_POLL: Duration = Duration::from_millis(50);

/// State that all slots share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) scheduler: Scheduler,
    pub(crate) driver: Driver,
    pub(crate) bundles: Option<Arc<BundleCache>>,
    pub(crate) guard: Option<Guard>,
    pub(crate) console: Console,
    pub(crate) values: ValueSources,
    pub(crate) handlers: Handlers,
    pub(crate) slots: Slots,
    pub(crate) health: Health,
    pub(crate) redactors: Redactors,
    /// Directories in which no earlier process can be at work any more.
    pub(crate) adopted: Mutex<HashSet<TaskDirectory>>,
    /// One attempt at a time in each directory: an attempt whose lease was lost may still be ending when the worker
    /// gets the task again. That attempt must not take the guard away from its successor.
    pub(crate) directories: parking_lot::Mutex<HashMap<TaskDirectory, Arc<Mutex<()>>>>,
    /// The moment from which the times of leases are counted.
    pub(crate) started: Instant,
    pub(crate) requests: Requests,
    pub(crate) failed_runs: FailedRuns,
    pub(crate) journal: Option<Arc<Journal>>,
    pub(crate) metrics: Metrics,
    pub(crate) traces: Traces,
}

impl Shared {
    /// Waits until no other attempt of this worker is in `directory`.
    pub(crate) async fn lock_directory(&self, directory: &TaskDirectory) -> OwnedMutexGuard<()> {
        let lock = {
            let mut directories = self.directories.lock();
            // Removes the locks that no attempt holds or waits for.
            directories.retain(|_directory, lock| Arc::strong_count(lock) > 1);
            Arc::clone(directories.entry(directory.clone()).or_default())
        };
        lock.lock_owned().await
    }

    /// Waits for a slot of a worker that takes runs, and then until a guard runs.
    pub(crate) async fn free_slot(&self) -> Result<Slot, AcquireError> {
        loop {
            self.health.able().await;
            let slot = self.slots.take().await?;
            self.guarded().await;
            // A slot is not kept from a run that has waited.
            if self.health.takes_runs() {
                return Ok(slot);
            }
        }
    }

    /// If a guard is required, waits until the guard runs: without a guard no run is to be taken.
    pub(crate) async fn guarded(&self) {
        while self
            .guard
            .as_ref()
            .is_some_and(|guard| !guard.is_standing())
        {
            tokio::time::sleep(GUARD_POLL).await;
        }
    }
}

/// The console, if the worker has one.
#[derive(Clone)]
pub(crate) struct Console(pub(crate) Option<Arc<dyn OutputSink>>);

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Console").field(&self.0.is_some()).finish()
    }
}
