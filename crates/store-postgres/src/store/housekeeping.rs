//! Regular housekeeping by the leader.

use async_trait::async_trait;
use cts_core::LeaderEpoch;
use cts_store::{Housekeeping, LastHousekeeping, LeaderError, RemovedLogs, StoreError};

use super::PostgresStore;
use super::calls::LONG_LIMIT;
use crate::session::call;
use crate::{housekeeping, log_space};

#[async_trait]
impl Housekeeping for PostgresStore {
    async fn last_housekeeping(
        &self,
        leader: LeaderEpoch,
    ) -> Result<LastHousekeeping, LeaderError> {
        call!(&self.pool, c => housekeeping::last(c, leader))
    }

    async fn end_housekeeping(
        &self,
        leader: LeaderEpoch,
        logs_warned: bool,
    ) -> Result<(), LeaderError> {
        call!(&self.pool, c => housekeeping::end(c, leader, logs_warned))
    }

    async fn log_space(&self) -> Result<u64, StoreError> {
        call!(&self.pool, LONG_LIMIT, c => log_space::measure(c))
    }

    async fn remove_logs(&self, bytes: u64) -> Result<RemovedLogs, StoreError> {
        call!(&self.pool, LONG_LIMIT, c => log_space::remove(c, bytes))
    }
}
