//! Liveness of workers.

use std::time::Duration;

pub(crate) use cts_store::LOST_AFTER as LOST;
use cts_store::WorkerState;

/// How long lost workers are listed.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_mins(10);

/// Whether a worker has missed several heartbeats.
pub(crate) fn is_lost(worker: &WorkerState) -> bool {
    worker.silent_for >= LOST
}
