//! Calls by the holders of leases.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::lease::LeaseKey;
use cts_core::runs::{CancelOrder, CurrentPhase, Resumed, WaitEnd};
use cts_core::state::StateReport;
use cts_core::{Digest, LeaseEpoch, LostLease, RunId, WorkerId};
use cts_store::{HeldLeases, LeaseError, StoreError};

use super::{SqlStore, read, statement, transaction};
use crate::database::Database;
use crate::{cancel, housekeeping, leases, terraform_states};

#[async_trait]
impl<D: Database> HeldLeases for SqlStore<D> {
    async fn lease_key(&self, proposed: &LeaseKey) -> Result<LeaseKey, StoreError> {
        transaction!(self, Process, c => leases::key(c, proposed))
    }

    async fn held_input(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<Digest, LeaseError> {
        read!(self, c => leases::input(c, (run, holder, epoch)))
    }

    async fn renew(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        time_to_live: Duration,
        phase: Option<CurrentPhase>,
    ) -> Result<Option<CancelOrder>, LeaseError> {
        statement!(self, c => leases::renew(c, (run, holder, epoch), time_to_live, phase))
    }

    async fn cancel_order(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<Option<CancelOrder>, LeaseError> {
        let held = (run, holder, epoch);
        let order: Result<_, LeaseError> = read!(self, c => cancel::order_of(c, held));
        let order = order?;
        if let Some((_, false)) = order {
            let noted: Result<(), LeaseError> = statement!(self, c => cancel::note(c, held));
            noted?;
        }
        Ok(order.map(|(order, _)| order))
    }

    async fn suspend(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        wait: u32,
        waiting_for: &str,
    ) -> Result<(), LeaseError> {
        statement!(self, c => leases::suspend(c, (run, holder, epoch), (wait, waiting_for)))
    }

    async fn wait_end(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<Option<WaitEnd>, LeaseError> {
        read!(self, c => leases::wait_end_of(c, (run, holder, epoch)))
    }

    async fn resume(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        wait: u32,
    ) -> Result<Resumed, LeaseError> {
        transaction!(self, Process, c => leases::resume(c, (run, holder, epoch), wait))
    }

    async fn record_state(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        report: &StateReport,
    ) -> Result<u32, LeaseError> {
        transaction!(self, PowerCut, c => terraform_states::record(c, (run, holder, epoch), report))
    }

    async fn lost_leases(&self, run: RunId) -> Result<Vec<LostLease>, StoreError> {
        read!(self, c => housekeeping::lost_leases(c, run))
    }
}
