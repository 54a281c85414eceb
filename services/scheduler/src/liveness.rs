//! Which workers live.

use std::time::Duration;

use cts_store::WorkerState;

/// A worker that was silent for so long counts as lost. Its leases expire by their own time.
pub(crate) const LOST: Duration = Duration::from_secs(15);

/// How long lost workers are listed.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_mins(10);

/// Whether a worker has missed several heartbeats.
pub(crate) fn is_lost(worker: &WorkerState) -> bool {
    worker.silent_for >= LOST
}
