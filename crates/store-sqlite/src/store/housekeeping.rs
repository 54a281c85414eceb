//! Regular housekeeping by the leader.

use async_trait::async_trait;
use cts_core::LeaderEpoch;
use cts_store::{Housekeeping, LastHousekeeping, LeaderError, RemovedLogs, StoreError};

use super::SqliteStore;
use super::transaction::transaction;
use crate::{housekeeping, leadership, log_space};

#[async_trait]
impl Housekeeping for SqliteStore {
    async fn last_housekeeping(
        &self,
        leader: LeaderEpoch,
    ) -> Result<LastHousekeeping, LeaderError> {
        transaction!(self.begin; leader, t, now => housekeeping::last(&mut t, now))
    }

    async fn end_housekeeping(
        &self,
        leader: LeaderEpoch,
        logs_warned: bool,
    ) -> Result<(), LeaderError> {
        transaction!(self.begin; leader, t, now => housekeeping::end(&mut t, logs_warned, now))
    }

    async fn log_space(&self) -> Result<u64, StoreError> {
        log_space::measure(&self.pools).await
    }

    async fn remove_logs(&self, bytes: u64) -> Result<RemovedLogs, StoreError> {
        log_space::remove(&self.pools, bytes).await
    }
}
