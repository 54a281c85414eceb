//! Calls of the store that must succeed.

use std::time::Duration;

use cts_core::runs::{CancelOrder, Resumed};
use cts_core::{RemoteRun, RunId, TaskStatus};
use cts_store::{
    AttemptRecord, CancelledRun, Lease, LogLine, LogPage, Member, PendingDeletions, Retention,
    RunFilter, RunRecord, StoredTask, TaskState, WaitingRuns, WorkerRecord, WorkerState,
};

use super::Scene;
use crate::Fixture;

impl<F: Fixture> Scene<F> {
    pub(crate) async fn renew(&self, lease: &Lease, time_to_live: Duration) -> Option<CancelOrder> {
        let (store, holder) = (self.store(), &lease.holder);
        let renewed = store.renew(lease.run, holder, lease.epoch, time_to_live, None);
        renewed.await.expect("a live lease can be renewed")
    }

    pub async fn append(&self, lease: &Lease, lines: Vec<LogLine>) {
        let store = self.store();
        let appended = store.append_log(lease.run, &lease.holder, lease.epoch, lines);
        appended.await.expect("a live lease can log");
    }

    pub(crate) async fn log_page(&self, run: RunId, after: u64, limit: u32) -> LogPage {
        let page = self.store().read_log(run, after, limit).await;
        page.expect("logs can be read").expect("the run is there")
    }

    pub(crate) async fn lines(&self, run: RunId) -> Vec<LogLine> {
        self.log_page(run, 0, 1000).await.lines
    }

    /// Lets the run of a lease wait for the first time.
    pub(crate) async fn suspend(&self, lease: &Lease, reason: &str) {
        let store = self.store();
        let suspended = store.suspend(lease.run, &lease.holder, lease.epoch, 1, reason);
        suspended.await.expect("a live lease can be suspended");
    }

    pub(crate) async fn resume(&self, lease: &Lease) -> Resumed {
        let store = self.store();
        let resumed = store.resume(lease.run, &lease.holder, lease.epoch, 1);
        resumed.await.expect("a live lease can be resumed")
    }

    pub(crate) async fn record_remote(&self, lease: &Lease, remote: &RemoteRun) {
        let store = self.store();
        let recorded = store.record_remote_run(lease.run, &lease.holder, lease.epoch, remote);
        recorded.await.expect("a live lease can record");
    }

    pub(crate) async fn cancel(&self, run: RunId, force: bool) -> CancelledRun {
        let cancelled = self.store().cancel_run(run, force, self.event_id()).await;
        cancelled.expect("the run can be cancelled")
    }

    /// Forgets runs of any age beyond the newest of each task.
    pub(crate) async fn prune(&self, keep: u32) -> u64 {
        self.prune_by(Retention::of_any_age(keep)).await
    }

    pub(crate) async fn prune_by(&self, retention: Retention) -> u64 {
        let pruned = self.store().prune(retention).await;
        pruned.expect("old runs can be forgotten")
    }

    pub(crate) async fn reset(&self) -> PendingDeletions {
        let archive = self.archive_id();
        let reset = self.store().reset_tasks(self.leader(), archive).await;
        reset.expect("the leader can reset")
    }

    pub(crate) async fn resign(&self, member: &Member) {
        let resigned = self.store().resign(member).await;
        resigned.expect("a replica can resign");
    }

    pub(crate) async fn listed(&self, filter: &RunFilter) -> Vec<RunRecord> {
        let runs = self.store().runs(filter).await;
        runs.expect("runs can be listed")
    }

    pub(crate) async fn attempts(&self, run: RunId) -> Vec<AttemptRecord> {
        let attempts = self.store().attempts(run).await;
        attempts.expect("attempts can be read")
    }

    /// The stored task, which must exist.
    pub(crate) async fn there(&self, name: &str) -> StoredTask {
        self.stored(name).await.expect("the task is there")
    }

    pub(crate) async fn states(&self, status: Option<TaskStatus>) -> Vec<TaskState> {
        let states = self.store().task_states(status).await;
        states.expect("states can be read")
    }

    pub(crate) async fn version(&self) -> String {
        let version = self.store().version().await;
        version.expect("the version can be read")
    }

    pub(crate) async fn waiting_runs(&self, due_for: Duration) -> Vec<WaitingRuns> {
        let waiting = self.store().waiting_runs(due_for).await;
        waiting.expect("waiting runs can be read")
    }

    /// A heartbeat of a worker without a registration.
    pub(crate) async fn heartbeat(&self, worker: &WorkerRecord) {
        let noted = self.store().record_heartbeat(worker, None).await;
        noted.expect("a worker can be noted");
    }

    pub(crate) async fn workers(&self, within: Duration) -> Vec<WorkerState> {
        let workers = self.store().workers(within).await;
        workers.expect("workers can be listed")
    }
}
