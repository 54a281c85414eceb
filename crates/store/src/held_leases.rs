//! Calls by the holder of a lease, as a trait of every store.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::lease::LeaseKey;
use cts_core::runs::{CancelOrder, CurrentPhase, Resumed, WaitEnd};
use cts_core::state::StateReport;
use cts_core::{Digest, LeaseEpoch, LostLease, RunId, WorkerId};

use crate::error::{LeaseError, StoreError};

/// A serial as it is stored.
pub fn stored_serial(serial: u64) -> i64 {
    i64::try_from(serial).unwrap_or(i64::MAX)
}

/// Names the record of a state, by which a repeated call is recognised. For implementations.
pub fn recorded_by((run, epoch): (RunId, LeaseEpoch), report: &StateReport) -> String {
    let kind = match report {
        StateReport::Accepted(_) => "accepted",
        StateReport::Moved(_) => "moved",
        StateReport::Refused(_) => "refused",
    };
    format!("{run}/{epoch}/{kind}")
}

/// Calls by the holder of a lease while it works on the run. Every method is one transaction, as those of
/// [`Store`](crate::Store) are.
#[async_trait]
pub trait HeldLeases {
    /// Returns the key for the secrets of leases: the stored one, else `proposed`, which is then stored.
    async fn lease_key(&self, proposed: &LeaseKey) -> Result<LeaseKey, StoreError>;

    /// Returns the input of a leased run. A lease that has expired is refused, also if it was not taken back: a renewal
    /// puts it in force again.
    async fn held_input(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<Digest, LeaseError>;

    /// Extends the lease that `holder` was granted in `epoch` to `time_to_live` from now. The lease never
    /// gets shorter: the answer of an earlier call may be on its way to a holder that relies on it. A lease
    /// that has expired but was not taken back is in force again, because its task has nothing else running.
    /// Stores what the holder does, if it reported that. Returns the run's order to stop, if it has one.
    async fn renew(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        time_to_live: Duration,
        phase: Option<CurrentPhase>,
    ) -> Result<Option<CancelOrder>, LeaseError>;

    /// Returns the order to stop a leased run, `None` while it may go on; and notes that its holder has
    /// received it. Cheap without an order, because the call is repeated often.
    async fn cancel_order(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<Option<CancelOrder>, LeaseError>;

    /// Notes that a leased run [waits](cts_core::runs::wait_end) for something outside of cts; `waiting_for`
    /// describes it to people. From then on the run belongs to no concurrency group, unless it has a remote run that
    /// has not ended. The waits under one lease are numbered from 1. Safe to repeat: a call that comes when this wait
    /// is over changes nothing.
    async fn suspend(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        wait: u32,
        waiting_for: &str,
    ) -> Result<(), LeaseError>;

    /// Why a leased run is to wait no longer; `None` while it may wait. Cheap, because the call is repeated
    /// often.
    async fn wait_end(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<Option<WaitEnd>, LeaseError>;

    /// Lets a leased run go on after this wait, if nothing has come in between and its concurrency group is free.
    async fn resume(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        wait: u32,
    ) -> Result<Resumed, LeaseError>;

    /// Notes what the holder of a lease has found out about its task's Terraform state, or done with it.
    /// Carries out a decision if the run is not refused. Returns the number of the task's
    /// [moves](cts_core::state::StateRecord::moves) from now on, which increases with each record after which
    /// directories are to be verified again. Safe to repeat.
    async fn record_state(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        report: &StateReport,
    ) -> Result<u32, LeaseError>;

    /// The newest leases of the task of this run that were lost, last lost first, at most
    /// [`LOST_LEASES_SHOWN`](crate::LOST_LEASES_SHOWN). Checks are not among them: they lock no state.
    async fn lost_leases(&self, run: RunId) -> Result<Vec<LostLease>, StoreError>;
}
