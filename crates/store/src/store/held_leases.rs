//! Calls by the holder of a lease, as a trait of every store.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::lease::LeaseKey;
use cts_core::runs::{CancelOrder, CurrentPhase, Resumed, WaitEnd};
use cts_core::state::StateReport;
use cts_core::{Digest, LeaseEpoch, LostLease, RunId, WorkerId};

use crate::error::{LeaseError, StoreError};

/// The stored form of a serial.
pub fn stored_serial(serial: u64) -> i64 {
    i64::try_from(serial).unwrap_or(i64::MAX)
}

/// Names the record of a state, so that a repeated call is recognised. For implementations.
pub fn recorded_by((run, epoch): (RunId, LeaseEpoch), report: &StateReport) -> String {
    let kind = match report {
        StateReport::Accepted(_) => "accepted",
        StateReport::Moved(_) => "moved",
        StateReport::Refused(_) => "refused",
    };
    format!("{run}/{epoch}/{kind}")
}

/// Calls by the holder of a lease during its work on the run. Every method is one transaction, like those of
/// [`Store`](crate::Store).
#[async_trait]
pub trait HeldLeases {
    /// Returns the key for the secrets of leases: the stored one, else `proposed`, which is then stored.
    async fn lease_key(&self, proposed: &LeaseKey) -> Result<LeaseKey, StoreError>;

    /// Returns the input of a leased run. An expired lease is refused even if it was not taken back; a renewal puts
    /// it in force again.
    async fn held_input(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<Digest, LeaseError>;

    /// Extends the lease that `holder` was granted in `epoch` to `time_to_live` from now, and returns the run's order
    /// to stop, if any.
    ///
    /// A lease never gets shorter, because the answer of an earlier call may be on its way to a holder that relies on
    /// it. An expired lease that was not taken back is in force again, because no other run of its task is running.
    /// Stores the activity of the holder, if reported.
    async fn renew(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        time_to_live: Duration,
        phase: Option<CurrentPhase>,
    ) -> Result<Option<CancelOrder>, LeaseError>;

    /// Returns the order to stop a leased run, `None` while the run may go on, and notes that its holder has received
    /// the order. Cheap without an order, because the call is repeated often.
    async fn cancel_order(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<Option<CancelOrder>, LeaseError>;

    /// Notes that a leased run [waits](cts_core::runs::wait_end) for a condition outside of cts, which `waiting_for`
    /// describes.
    ///
    /// From then on the run belongs to no concurrency group, unless it has a remote run that has not ended. The waits
    /// under one lease are numbered from 1. Safe to repeat: a call for a wait that is over changes nothing.
    async fn suspend(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        wait: u32,
        waiting_for: &str,
    ) -> Result<(), LeaseError>;

    /// Returns why a leased run must stop waiting, `None` while it may wait. Cheap, because the call is repeated
    /// often.
    async fn wait_end(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<Option<WaitEnd>, LeaseError>;

    /// Ends this wait of a leased run, if the run may still apply and its concurrency group is free.
    async fn resume(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        wait: u32,
    ) -> Result<Resumed, LeaseError>;

    /// Records what the holder of a lease found out about its task's Terraform state or did with it.
    ///
    /// Carries out a decision if the run is not refused. Returns the resulting number of the task's
    /// [moves](cts_core::state::StateRecord::moves), which increases with each record that requires directories to be
    /// verified again. Safe to repeat.
    async fn record_state(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        report: &StateReport,
    ) -> Result<u32, LeaseError>;

    /// Lost leases of the task of this run, most recently lost first, at most
    /// [`LOST_LEASES_SHOWN`](crate::LOST_LEASES_SHOWN). Checks are left out: they lock no state.
    async fn lost_leases(&self, run: RunId) -> Result<Vec<LostLease>, StoreError>;
}
