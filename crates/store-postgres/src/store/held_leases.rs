//! Calls by the holders of leases.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::runs::{CancelOrder, Resumed, WaitEnd};
use cts_core::state::StateReport;
use cts_core::{LeaseEpoch, LostLease, RunId, WorkerId};
use cts_store::{HeldLeases, LeaseError, StoreError};

use super::PostgresStore;
use crate::session::call;
use crate::{cancel, lease, lost_leases, suspended, terraform_states};

#[async_trait]
impl HeldLeases for PostgresStore {
    async fn renew(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        time_to_live: Duration,
    ) -> Result<Option<CancelOrder>, LeaseError> {
        call!(&self.pool, c => lease::renew(c, run, (holder, epoch), time_to_live))
    }

    async fn cancel_order(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<Option<CancelOrder>, LeaseError> {
        call!(&self.pool, c => cancel::order_of(c, (run, holder, epoch)))
    }

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

    async fn record_state(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        report: &StateReport,
    ) -> Result<u32, LeaseError> {
        call!(&self.pool, c => terraform_states::record(c, (run, holder, epoch), report))
    }

    async fn lost_leases(&self, run: RunId) -> Result<Vec<LostLease>, StoreError> {
        call!(&self.pool, c => lost_leases::of_task(c, run))
    }
}
