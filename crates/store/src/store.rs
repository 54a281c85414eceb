//! The trait.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use cts_core::{Digest, LeaseEpoch, RunId, TaskName, TaskSpec, TaskStatus, WorkerId};

use crate::error::{LeaseError, StoreError};
use crate::model::{
    Completed, Completion, EnqueueRequest, Enqueued, Lease, LogLine, LogPage, Requeued, RunRecord,
    StoredTask, TaskState,
};

/// Task, run and event state. Every method is one transaction: it has happened wholly when it
/// returns, and not at all when it fails or its future is dropped before the commit. Times are the
/// store's own.
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug {
    /// Makes the tasks of origin `config` be exactly these, in this order. Tasks that are no longer
    /// there go with their runs and events; tasks from the API of the same name are taken over.
    async fn replace_config_tasks(&self, tasks: &[TaskSpec]) -> Result<(), StoreError>;

    /// All tasks: those of the configuration in its order, then by creation.
    async fn tasks(&self) -> Result<Vec<StoredTask>, StoreError>;

    /// One task.
    async fn task(&self, name: &TaskName) -> Result<Option<StoredTask>, StoreError>;

    /// The states of all tasks by name, or of those with one status.
    async fn task_states(&self, status: Option<TaskStatus>) -> Result<Vec<TaskState>, StoreError>;

    /// The state of one task.
    async fn task_state(&self, name: &TaskName) -> Result<Option<TaskState>, StoreError>;

    /// Decides by [`cts_core::runs::decide_enqueue`] whether inputs need runs, and queues them.
    /// Repeating a request changes nothing: one whose run exists already is answered with
    /// [`Keep`](cts_core::runs::EnqueueDecision::Keep), whatever has become of that run.
    async fn enqueue(&self, requests: Vec<EnqueueRequest>) -> Result<Vec<Enqueued>, StoreError>;

    /// Leases the run that has been due longest, of a task that is enabled and has none running. The
    /// lease expires after `time_to_live` unless it is renewed.
    async fn acquire(
        &self,
        worker: &WorkerId,
        time_to_live: Duration,
    ) -> Result<Option<Lease>, StoreError>;

    /// Extends a live lease to `time_to_live` from now.
    async fn renew(
        &self,
        run: RunId,
        epoch: LeaseEpoch,
        time_to_live: Duration,
    ) -> Result<(), LeaseError>;

    /// Ends an attempt as [`cts_core::runs::after_attempt`] says. A lease that has expired but was
    /// not taken back is still live here: the work is done, and nobody else has begun it.
    async fn complete(&self, completion: Completion) -> Result<Completed, LeaseError>;

    /// Takes back every lease that has expired.
    async fn reap(&self) -> Result<Vec<Requeued>, StoreError>;

    /// Takes back every lease, for a caller that knows that no worker lives: the embedded mode at its
    /// start.
    async fn release_all(&self) -> Result<Vec<Requeued>, StoreError>;

    /// Time until the next queued run is due, zero if one is; `None` if there is none that could be
    /// acquired.
    async fn next_due(&self) -> Result<Option<Duration>, StoreError>;

    /// The bytes of a frozen input.
    async fn input(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// One run.
    async fn run(&self, id: RunId) -> Result<Option<RunRecord>, StoreError>;

    /// Forgets, per task, ended runs with their logs and events beyond the newest `keep`, and inputs
    /// that no run refers to any more. Cancelled runs, which have no event, are counted apart, so that
    /// they push out no result. Returns how many runs went.
    async fn prune(&self, keep: u32) -> Result<u64, StoreError>;

    /// Appends lines to the log of a run with a lease that is live in the sense of
    /// [`Store::complete`].
    async fn append_log(
        &self,
        run: RunId,
        epoch: LeaseEpoch,
        lines: Vec<LogLine>,
    ) -> Result<(), LeaseError>;

    /// Lines of a run behind `after`, at most `limit`; `None` if there is no such run.
    async fn read_log(
        &self,
        run: RunId,
        after: u64,
        limit: u32,
    ) -> Result<Option<LogPage>, StoreError>;
}
