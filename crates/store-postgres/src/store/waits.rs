//! The calls of those who wait.

use async_trait::async_trait;
use cts_core::runs::{Resumed, WaitEnd};
use cts_core::{LeaseEpoch, RunId, WorkerId};
use cts_store::{LeaseError, Waits};

use super::PostgresStore;
use crate::session::call;
use crate::suspended;

#[async_trait]
impl Waits for PostgresStore {
    async fn suspend(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        wait: u32,
        waiting_for: &str,
    ) -> Result<(), LeaseError> {
        call!(&self.pool, c => suspended::suspend(c, (run, holder, epoch), (wait, waiting_for)))
    }

    async fn wait_end(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<Option<WaitEnd>, LeaseError> {
        call!(&self.pool, c => suspended::end(c, (run, holder, epoch)))
    }

    async fn resume(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        wait: u32,
    ) -> Result<Resumed, LeaseError> {
        call!(&self.pool, c => suspended::resume(c, (run, holder, epoch), wait))
    }
}
