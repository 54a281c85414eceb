//! Calls by the holders of leases.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::runs::{CancelOrder, Resumed, WaitEnd};
use cts_core::state::StateReport;
use cts_core::{LeaseEpoch, LostLease, RunId, WorkerId};
use cts_store::{HeldLeases, LeaseError, StoreError};

use super::SqliteStore;
use super::transaction::transaction;
use crate::{cancel, lease, lost_leases, suspended, terraform_states};

#[async_trait]
impl HeldLeases for SqliteStore {
    async fn renew(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        time_to_live: Duration,
    ) -> Result<Option<CancelOrder>, LeaseError> {
        transaction!(self.begin, t, now => lease::renew(&mut *t, run, (holder, epoch), time_to_live, now))
    }

    async fn cancel_order(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<Option<CancelOrder>, LeaseError> {
        let held = (run, holder, epoch);
        match cancel::order_of(&self.pools.reader, held).await? {
            Some((order, false)) => {
                let noted: Result<(), LeaseError> =
                    transaction!(self.begin, t, now => cancel::note(&mut *t, held, now));
                noted.map(|()| Some(order))
            }
            known => Ok(known.map(|(order, _)| order)),
        }
    }

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

    async fn record_state(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        report: &StateReport,
    ) -> Result<u32, LeaseError> {
        transaction!(self.begin_durable, t, now => terraform_states::record(&mut t, (run, holder, epoch), report, now))
    }

    async fn lost_leases(&self, run: RunId) -> Result<Vec<LostLease>, StoreError> {
        lost_leases::of_task(&self.pools.reader, run).await
    }
}
