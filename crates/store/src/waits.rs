//! Leased runs that wait for something outside of cts, as a trait of every store.

use async_trait::async_trait;
use cts_core::runs::{Resumed, WaitEnd};
use cts_core::{LeaseEpoch, RunId, WorkerId};

use crate::error::LeaseError;

/// What the holder of a lease says and asks while its run waits. Every method is one transaction, as those of
/// [`Store`](crate::Store) are.
#[async_trait]
pub trait Waits {
    /// Notes that a leased run [waits](cts_core::runs::wait_end) for something outside of cts, `waiting_for` it, for people.
    /// It belongs to no concurrency group from now on. The waits under one lease are numbered from 1. Safe to repeat: a call
    /// that comes when this wait is over changes nothing.
    async fn suspend(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        wait: u32,
        waiting_for: &str,
    ) -> Result<(), LeaseError>;

    /// Why a leased run is to wait no longer; `None` while it may. Cheap, because it is asked again and again.
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
}
