//! Records of runs that take place on a Terraform server, as a trait of every store.

use async_trait::async_trait;
use cts_core::{LeaseEpoch, RemoteRun, RemoteRuns, RunId, WorkerId};

use crate::error::LeaseError;

/// Remote runs of runs and of their tasks, for holders of leases. Every method is one transaction, like those of
/// [`Store`](crate::Store).
#[async_trait]
pub trait RemoteRunStore {
    /// Records the remote run of a leased run, both for the run and as the newest of its task. The record outlives
    /// the lease; the record of the task also outlives the run. Safe to repeat.
    async fn record_remote_run(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        remote: &RemoteRun,
    ) -> Result<(), LeaseError>;

    /// Reads the remote run of a leased run and the newest remote run of its task. A task that reuses the name of an
    /// earlier task starts without a remote run.
    async fn remote_runs(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<RemoteRuns, LeaseError>;
}
