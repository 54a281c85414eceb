//! Records of remote runs.

use async_trait::async_trait;
use cts_core::{LeaseEpoch, RemoteRun, RemoteRuns, RunId, WorkerId};
use cts_store::{LeaseError, RemoteRunStore};

use super::{SqlStore, read, transaction};
use crate::database::Database;
use crate::remote_runs;

#[async_trait]
impl<D: Database> RemoteRunStore for SqlStore<D> {
    async fn record_remote_run(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        remote: &RemoteRun,
    ) -> Result<(), LeaseError> {
        transaction!(self, PowerCut, c => remote_runs::record(c, (run, holder, epoch), remote))
    }

    async fn remote_runs(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Result<RemoteRuns, LeaseError> {
        read!(self, c => remote_runs::of_run(c, (run, holder, epoch)))
    }
}
