//! The calls of those who wait.

use async_trait::async_trait;
use cts_core::runs::{Resumed, WaitEnd};
use cts_core::{LeaseEpoch, RunId, WorkerId};
use cts_store::{LeaseError, Waits};

use super::SqliteStore;
use super::transaction::transaction;
use crate::suspended;

#[async_trait]
impl Waits for SqliteStore {
    async fn suspend(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        wait: u32,
        waiting_for: &str,
    ) -> Result<(), LeaseError> {
        transaction!(self.begin, t, _ => suspended::suspend(&mut *t, (run, holder, epoch), (wait, waiting_for)))
    }

    async fn wait_end(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<Option<WaitEnd>, LeaseError> {
        suspended::end(&self.pools.reader, (run, holder, epoch)).await
    }

    async fn resume(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        wait: u32,
    ) -> Result<Resumed, LeaseError> {
        transaction!(self.begin, t, _ => suspended::resume(&mut t, (run, holder, epoch), wait))
    }
}
