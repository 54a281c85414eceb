//! Registered workers.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::{Digest, KnownRegistration, WorkerId, WorkerRecord};
use cts_store::{Heartbeat, StoreError, WorkerState, WorkerStore};

use super::{SqlStore, change, read, statement};
use crate::database::Database;
use crate::workers;

#[async_trait]
impl<D: Database> WorkerStore for SqlStore<D> {
    async fn record_heartbeat(
        &self,
        worker: &WorkerRecord,
        registration: Option<Digest>,
    ) -> Result<Heartbeat, StoreError> {
        statement!(self, c => workers::record_heartbeat(c, worker, registration))
    }

    async fn replace_lives(&self, lives: &[WorkerId]) -> Result<(), StoreError> {
        statement!(self, c => workers::replace(c, lives))
    }

    async fn registration(&self, worker: &WorkerId) -> Result<KnownRegistration, StoreError> {
        read!(self, c => workers::registration(c, worker))
    }

    async fn drain_worker(&self, worker: &WorkerId) -> Result<bool, StoreError> {
        change!(self, Short, None, if |known| *known, c => workers::drain(c, worker))
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<(), StoreError> {
        statement!(self, c => workers::forget(c, worker))
    }

    async fn workers(&self, within: Duration) -> Result<Vec<WorkerState>, StoreError> {
        read!(self, c => workers::all(c, within))
    }
}
