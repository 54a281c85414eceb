//! Regular housekeeping by the leader.

use async_trait::async_trait;
use cts_core::LeaderEpoch;
use cts_store::{Housekeeping, LastHousekeeping, LeaderError, RemovedLogs, StoreError};

use super::{SqlStore, transaction};
use crate::database::{Database, Intent};
use crate::housekeeping;

#[async_trait]
impl<D: Database> Housekeeping for SqlStore<D> {
    async fn last_housekeeping(
        &self,
        leader: LeaderEpoch,
    ) -> Result<LastHousekeeping, LeaderError> {
        transaction!(self, Process, Short, leader, c => housekeeping::last(c))
    }

    async fn end_housekeeping(
        &self,
        leader: LeaderEpoch,
        logs_warned: bool,
    ) -> Result<(), LeaderError> {
        transaction!(self, Process, Short, leader, c => housekeeping::end(c, logs_warned))
    }

    async fn log_space(&self) -> Result<u64, StoreError> {
        let _call = self.calls.begin(Intent::Read);
        self.noted(self.database.log_space()).await
    }

    async fn remove_logs(&self, bytes: u64) -> Result<RemovedLogs, StoreError> {
        let _call = self.calls.begin(Intent::Transaction);
        self.noted(self.database.remove_logs(bytes)).await
    }
}
