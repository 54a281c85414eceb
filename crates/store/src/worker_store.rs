//! Registered workers, as a trait of every store.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::{Digest, KnownRegistration, WorkerId, WorkerRecord};

use crate::cluster::{Heartbeat, WorkerState};
use crate::error::StoreError;

/// Workers, their heartbeats and drains. Every method is one transaction, as those of [`Store`](crate::Store) are.
#[async_trait]
pub trait WorkerStore {
    /// Stores the heartbeat of a worker that has a registration of this digest; returns whether the worker is to drain,
    /// because it says so itself or [`Store::drain_worker`] has requested it.
    ///
    /// An id without a registration gets this one. A heartbeat that [`KnownRegistration::admits`] does not admit changes
    /// nothing.
    async fn record_heartbeat(
        &self,
        worker: &WorkerRecord,
        registration: Option<Digest>,
    ) -> Result<Heartbeat, StoreError>;

    /// Notes that a later life of the worker has replaced these. A heartbeat of a replaced life refutes that for good: its
    /// directory was copied. Safe to repeat.
    async fn replace_lives(&self, lives: &[WorkerId]) -> Result<(), StoreError>;

    /// Returns the registration of a worker.
    async fn registration(&self, worker: &WorkerId) -> Result<KnownRegistration, StoreError>;

    /// Drains a worker for the rest of its life; its next heartbeat is answered so. Returns whether it is known.
    async fn drain_worker(&self, worker: &WorkerId) -> Result<bool, StoreError>;

    /// Forgets a worker that has ended in order. Its leases stay until they expire. Safe to repeat.
    async fn forget_worker(&self, worker: &WorkerId) -> Result<(), StoreError>;

    /// Every worker seen within the last `within`, just so long ago included, by host and id.
    async fn workers(&self, within: Duration) -> Result<Vec<WorkerState>, StoreError>;
}
