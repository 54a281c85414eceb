//! Registered workers, as a trait of every store.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::{Digest, KnownRegistration, WorkerId, WorkerRecord};

use crate::cluster::{Heartbeat, WorkerState};
use crate::error::StoreError;

/// Workers, their heartbeats and drains. Every method is one transaction, like those of [`Store`](crate::Store).
#[async_trait]
pub trait WorkerStore {
    /// Stores the heartbeat of a worker whose registration has this digest.
    ///
    /// Returns whether the worker is to drain, because it reports that itself or [`Store::drain_worker`] has
    /// requested it.
    ///
    /// An id without a registration gets this registration. A heartbeat that [`KnownRegistration::admits`] does not
    /// admit changes nothing.
    async fn record_heartbeat(
        &self,
        worker: &WorkerRecord,
        registration: Option<Digest>,
    ) -> Result<Heartbeat, StoreError>;

    /// Notes that a later life of the worker has replaced these lives. A heartbeat of a replaced life permanently
    /// refutes that: its directory was copied. Safe to repeat.
    async fn replace_lives(&self, lives: &[WorkerId]) -> Result<(), StoreError>;

    /// Returns the registration of a worker.
    async fn registration(&self, worker: &WorkerId) -> Result<KnownRegistration, StoreError>;

    /// Drains a worker for the rest of its life; its next heartbeat is answered accordingly. Returns whether the
    /// worker is known.
    async fn drain_worker(&self, worker: &WorkerId) -> Result<bool, StoreError>;

    /// Forgets a worker that ended in order. Its leases stay until they expire. Safe to repeat.
    async fn forget_worker(&self, worker: &WorkerId) -> Result<(), StoreError>;

    /// Every worker seen at most `within` ago, by host and id.
    async fn workers(&self, within: Duration) -> Result<Vec<WorkerState>, StoreError>;
}
