//! Records of runs that take place on a server of Terraform, as a trait of every store.

use async_trait::async_trait;
use cts_core::{LeaseEpoch, RemoteRun, RemoteRuns, RunId, WorkerId};

use crate::error::LeaseError;

/// Remote runs of runs and of their tasks, for holders of leases. Every method is one transaction, as those of
/// [`Store`](crate::Store) are.
#[async_trait]
pub trait RemoteRunStore {
    /// Records the remote run of a leased run, for the run and as the newest of its task. The record stays when the
    /// lease is lost, and that of the task also when the run is forgotten. Safe to repeat.
    async fn record_remote_run(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        remote: &RemoteRun,
    ) -> Result<(), LeaseError>;

    /// Reads the remote run of a leased run, and the newest of its task. A task that is made under an earlier name
    /// starts without one.
    async fn remote_runs(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<RemoteRuns, LeaseError>;
}
