//! Registered workers, as a trait of every store.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::{WorkerId, WorkerRecord};

use crate::cluster::WorkerState;
use crate::error::StoreError;

/// Workers, their heartbeats and drains. Every method is one transaction, as those of [`Store`](crate::Store) are.
#[async_trait]
pub trait WorkerStore {
    /// Stores the heartbeat of a worker; returns whether it is to drain, because it
    /// says so itself or [`Store::drain_worker`] has requested it.
    async fn record_heartbeat(&self, worker: &WorkerRecord) -> Result<bool, StoreError>;

    /// Drains a worker for the rest of its life; its next heartbeat is answered so. Returns whether it is known.
    async fn drain_worker(&self, worker: &WorkerId) -> Result<bool, StoreError>;

    /// Forgets a worker that has ended in order. Its leases stay until they expire. Safe to repeat.
    async fn forget_worker(&self, worker: &WorkerId) -> Result<(), StoreError>;

    /// Every worker seen within the last `within`, just so long ago included, by host and id.
    async fn workers(&self, within: Duration) -> Result<Vec<WorkerState>, StoreError>;
}
