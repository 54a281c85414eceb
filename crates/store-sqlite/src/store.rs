//! The implementation of the trait: one transaction per method.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cts_core::{
    ArchiveId, Chain, Clock, Content, Digest, LeaderEpoch, LeaseEpoch, RunId, TaskName, TaskSpec,
    TaskStatus, WorkerId, WorkerRecord,
};
use cts_store::{
    Archive, ArchivedRow, Claim, Completed, Completion, Configuration, ConfigurationInForce,
    EnqueueRequest, Enqueued, Hint, HintStream, InputContents, LeaderError, Leadership, Lease,
    LeaseError, LogLine, LogPage, Member, MemberConfiguration, MemberState, NewTask, QueueDepth,
    Registered, Requeued, Retention, RunFilter, RunRecord, RunRequest, Store, StoreError,
    StoredInput, StoredTask, TakeBack, TaskChange, TaskError, TaskMark, TaskState, Unfinished,
    WaitingRuns, WorkerState,
};

use crate::connection::{self, Pools};
use crate::inputs::{self, InputError};
use crate::row::{failed_to, micros, span_micros};
use crate::writer::{Durability, Write};
use crate::{
    archive, bundles, changes, complete, configurations, configure, continuity, enqueue,
    leadership, lease, logs, prune, queue, requests, runs, states, take_back, tasks, waiting,
    workers,
};

/// Silence after which a member or a worker is forgotten, in microseconds.
const SILENCE: i64 = 24 * 3600 * 1_000_000;

/// A store in one SQLite file. Cheap to clone; clones share the file.
///
/// Only one process may use a file at a time; the caller sees to that with a lock of its own.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    pools: Pools,
    clock: Arc<dyn Clock>,
    /// In microseconds.
    opened_at: i64,
}

impl SqliteStore {
    /// Opens the file, makes it and its directory if they are missing (modes 0600 and 0750) and brings
    /// its schema up to date. Refuses a schema that is newer than this program.
    ///
    /// `boot` names the present boot of the machine; `None` if it is not known. If the file was left without
    /// [`SqliteStore::close`] on another one, no input counts as applied: what was committed last may be missing.
    pub async fn open(
        path: &Path,
        clock: Arc<dyn Clock>,
        boot: Option<&str>,
    ) -> Result<Self, StoreError> {
        let store = Self {
            pools: connection::open(path).await?,
            opened_at: micros(clock.now()),
            clock,
        };
        let mut transaction = store.begin_durable().await?;
        let forgotten = continuity::begin(&mut transaction, boot, store.opened_at).await?;
        commit(transaction).await?;
        if forgotten > 0 {
            tracing::warn!(
                path = %path.display(),
                tasks = forgotten,
                "the machine has stopped, or this is a copy, while the database was in use: every task runs again"
            );
        }
        Ok(store)
    }

    /// Closes the file, after the statements in progress.
    pub async fn close(&self) {
        if let Err(error) = self.end_use().await {
            tracing::warn!(
                error = %Chain(&error),
                "the database is not closed in order: if the machine starts anew, every task runs again"
            );
        }
        self.pools.observer.close().await;
        self.pools.reader.close().await;
        self.pools.writer.close().await;
    }

    async fn end_use(&self) -> Result<(), StoreError> {
        if self.pools.writer.pool().is_closed() {
            return Ok(());
        }
        let mut transaction = self.begin_durable().await?;
        continuity::end(&mut transaction).await?;
        commit(transaction).await
    }

    fn now(&self) -> i64 {
        micros(self.clock.now())
    }

    /// A transaction that a killed process does not lose.
    async fn begin(&self) -> Result<Write, StoreError> {
        self.pools.writer.begin(Durability::Process).await
    }

    /// A transaction that a power cut does not take back: of an answer to a client of the API, and of what Terraform
    /// has changed.
    async fn begin_durable(&self) -> Result<Write, StoreError> {
        self.pools.writer.begin(Durability::PowerCut).await
    }
}

async fn commit(transaction: Write) -> Result<(), StoreError> {
    transaction.commit().await
}

#[async_trait]
impl Store for SqliteStore {
    async fn lead(
        &self,
        member: &Member,
        epoch: Option<LeaderEpoch>,
        time_to_live: Duration,
    ) -> Result<Leadership, StoreError> {
        let mut transaction = self.begin().await?;
        let now = self.now();
        let leadership = leadership::lead(&mut transaction, member, epoch, time_to_live, now);
        let leadership = leadership.await?;
        commit(transaction).await?;
        Ok(leadership)
    }

    async fn resign(&self, member: &Member) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        leadership::resign(&mut transaction, member).await?;
        commit(transaction).await
    }

    async fn members(&self, within: Duration) -> Result<Vec<MemberState>, StoreError> {
        leadership::members(&self.pools.reader, within, self.now()).await
    }

    async fn register_configuration(
        &self,
        member: &Member,
        configuration: &Configuration,
        time_to_live: Duration,
    ) -> Result<Registered, StoreError> {
        let mut transaction = self.begin().await?;
        let now = self.now();
        let registered =
            configurations::register(&mut transaction, member, configuration, time_to_live, now);
        let registered = registered.await?;
        commit(transaction).await?;
        Ok(registered)
    }

    async fn adopt_configuration(
        &self,
        leader: LeaderEpoch,
        member: &Member,
        configuration: &Configuration,
        replace: bool,
    ) -> Result<ConfigurationInForce, LeaderError> {
        let mut transaction = self.begin().await?;
        let now = self.now();
        leadership::check(&mut transaction, leader, now).await?;
        let adopted = configurations::adopt(&mut transaction, member, configuration, replace, now);
        let adopted = adopted.await?;
        commit(transaction).await?;
        Ok(adopted)
    }

    async fn configuration_in_force(&self) -> Result<Option<ConfigurationInForce>, StoreError> {
        configurations::in_force(&self.pools.reader).await
    }

    async fn configurations(
        &self,
        within: Duration,
    ) -> Result<Vec<MemberConfiguration>, StoreError> {
        let since = self.now().saturating_sub(span_micros(within));
        configurations::all(&self.pools.reader, since).await
    }

    async fn configuration_version(&self) -> Result<String, StoreError> {
        configurations::version(&self.pools.reader).await
    }

    async fn replace_config_tasks(
        &self,
        leader: LeaderEpoch,
        specs: &[TaskSpec],
    ) -> Result<Unfinished, LeaderError> {
        let mut transaction = self.begin().await?;
        let now = self.now();
        leadership::check(&mut transaction, leader, now).await?;
        let replaced = configure::replace_config_tasks(&mut transaction, specs, now);
        let unfinished = replaced.await?;
        commit(transaction).await?;
        Ok(unfinished)
    }

    async fn tasks(&self) -> Result<Vec<StoredTask>, StoreError> {
        tasks::all(&self.pools.reader).await
    }

    async fn task_marks(&self) -> Result<Vec<TaskMark>, StoreError> {
        tasks::marks(&self.pools.reader).await
    }

    async fn tasks_named(&self, names: &[TaskName]) -> Result<Vec<StoredTask>, StoreError> {
        tasks::named(&self.pools.reader, names).await
    }

    async fn task(&self, name: &TaskName) -> Result<Option<StoredTask>, StoreError> {
        tasks::one(&self.pools.reader, name).await
    }

    async fn create_task(&self, task: &NewTask) -> Result<(), TaskError> {
        let mut transaction = self.begin_durable().await?;
        changes::create(&mut transaction, task, self.now()).await?;
        Ok(commit(transaction).await?)
    }

    async fn change_task(
        &self,
        name: &TaskName,
        change: &TaskChange,
    ) -> Result<StoredTask, TaskError> {
        let mut transaction = self.begin_durable().await?;
        let task = changes::change(&mut transaction, name, change, self.now()).await?;
        commit(transaction).await?;
        Ok(task)
    }

    async fn delete_task(&self, name: &TaskName) -> Result<bool, TaskError> {
        let mut transaction = self.begin_durable().await?;
        let gone = changes::delete(&mut transaction, name, self.now()).await?;
        commit(transaction).await?;
        Ok(gone)
    }

    async fn drop_draft(&self, name: &TaskName, run: RunId) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        changes::drop_draft(&mut *transaction, name, run).await?;
        commit(transaction).await
    }

    async fn requests(&self) -> Result<Vec<RunRequest>, StoreError> {
        requests::open(&self.pools.reader).await
    }

    async fn request(&self, run: RunId) -> Result<Option<RunRequest>, StoreError> {
        requests::one(&self.pools.reader, run).await
    }

    async fn refuse(
        &self,
        leader: LeaderEpoch,
        run: RunId,
        reason: &str,
    ) -> Result<(), LeaderError> {
        let mut transaction = self.begin().await?;
        let now = self.now();
        leadership::check(&mut transaction, leader, now).await?;
        requests::refuse(&mut transaction, run, reason, now).await?;
        Ok(commit(transaction).await?)
    }

    async fn reset_tasks(
        &self,
        leader: LeaderEpoch,
        archive: ArchiveId,
    ) -> Result<Unfinished, LeaderError> {
        let mut transaction = self.begin_durable().await?;
        let now = self.now();
        leadership::check(&mut transaction, leader, now).await?;
        let unfinished = configure::reset(&mut transaction, archive, now).await?;
        commit(transaction).await?;
        Ok(unfinished)
    }

    async fn archives(&self) -> Result<Vec<Archive>, StoreError> {
        archive::all(&self.pools.reader).await
    }

    async fn archived_rows(
        &self,
        archive: ArchiveId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<ArchivedRow>, StoreError> {
        archive::rows(&self.pools.reader, archive, after, limit).await
    }

    async fn explain(
        &self,
        leader: LeaderEpoch,
        explanations: &[(TaskName, String)],
    ) -> Result<(), LeaderError> {
        let mut transaction = self.begin().await?;
        leadership::check(&mut transaction, leader, self.now()).await?;
        tasks::explain(&mut transaction, explanations).await?;
        Ok(commit(transaction).await?)
    }

    async fn explanation(&self, name: &TaskName) -> Result<Option<String>, StoreError> {
        tasks::explanation(&self.pools.reader, name).await
    }

    async fn version(&self) -> Result<String, StoreError> {
        let version = self.pools.observer.version().await?;
        // Another process that has opened the file later counts from the beginning.
        Ok(format!("{}.{version}", self.opened_at))
    }

    async fn task_states(&self, status: Option<TaskStatus>) -> Result<Vec<TaskState>, StoreError> {
        states::all(&self.pools.reader, status).await
    }

    async fn task_state(&self, name: &TaskName) -> Result<Option<TaskState>, StoreError> {
        states::one(&self.pools.reader, name).await
    }

    async fn enqueue(
        &self,
        leader: LeaderEpoch,
        requests: Vec<EnqueueRequest>,
    ) -> Result<Vec<Enqueued>, LeaderError> {
        let contents = InputContents::of(&requests);
        let mut known = inputs::known(&self.pools.reader, &contents.worth_asking()).await?;
        loop {
            let encoded = contents.encoded(&known).await?;
            let mut transaction = self.begin().await?;
            let now = self.now();
            leadership::check(&mut transaction, leader, now).await?;
            match enqueue::all(&mut transaction, &requests, &encoded, now).await {
                Ok(enqueued) => {
                    commit(transaction).await?;
                    return Ok(enqueued);
                }
                Err(InputError::Forgotten) => known.clear(),
                Err(InputError::Store(error)) => return Err(error.into()),
            }
        }
    }

    /// A power cut may take a lease back, although Terraform has begun under it: no input counts as applied after that,
    /// and the wait for the disk would be on the way of every change.
    async fn acquire(&self, claim: &Claim) -> Result<Option<Lease>, StoreError> {
        let mut transaction = self.begin().await?;
        let lease = lease::acquire(&mut transaction, claim, self.now()).await?;
        commit(transaction).await?;
        Ok(lease)
    }

    async fn grants(
        &self,
        worker: &WorkerId,
        requests: &[String],
    ) -> Result<Vec<(RunId, LeaseEpoch)>, StoreError> {
        lease::grants(&self.pools.reader, worker, requests).await
    }

    async fn renew(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        time_to_live: Duration,
    ) -> Result<(), LeaseError> {
        let mut transaction = self.begin().await?;
        let now = self.now();
        lease::renew(&mut *transaction, run, (holder, epoch), time_to_live, now).await?;
        Ok(commit(transaction).await?)
    }

    async fn complete(&self, completion: Completion) -> Result<Completed, LeaseError> {
        let mut transaction = self.begin_durable().await?;
        let completed = complete::complete(&mut transaction, &completion, self.now()).await?;
        commit(transaction).await?;
        Ok(completed)
    }

    async fn reap(
        &self,
        leader: LeaderEpoch,
        each: &[TakeBack],
    ) -> Result<Vec<Requeued>, LeaderError> {
        let mut transaction = self.begin().await?;
        let now = self.now();
        leadership::check(&mut transaction, leader, now).await?;
        let since = now.saturating_sub(SILENCE);
        leadership::forget_silent(&mut transaction, since).await?;
        workers::forget_silent(&mut *transaction, since).await?;
        let requeued = take_back::reap(&mut transaction, each, now).await?;
        commit(transaction).await?;
        Ok(requeued)
    }

    async fn release_all(&self) -> Result<Vec<Requeued>, StoreError> {
        let mut transaction = self.begin().await?;
        let requeued = take_back::all(&mut transaction, self.now()).await?;
        leadership::release(&mut transaction).await?;
        workers::forget_silent(&mut *transaction, i64::MAX).await?;
        commit(transaction).await?;
        Ok(requeued)
    }

    async fn next_due(&self) -> Result<Option<Duration>, StoreError> {
        queue::next_due(&self.pools.reader, self.now()).await
    }

    async fn queue_depth(&self) -> Result<QueueDepth, StoreError> {
        queue::depth(&self.pools.reader, self.now()).await
    }

    async fn waiting_runs(&self, due_for: Duration) -> Result<Vec<WaitingRuns>, StoreError> {
        waiting::waiting_runs(&self.pools.reader, due_for, self.now()).await
    }

    async fn hasten_retries(&self, at_most_every: Duration) -> Result<Vec<TaskName>, StoreError> {
        let mut transaction = self.begin().await?;
        let hastened = waiting::hasten_retries(&mut transaction, at_most_every, self.now()).await?;
        commit(transaction).await?;
        Ok(hastened)
    }

    async fn beat_worker(&self, worker: &WorkerRecord) -> Result<bool, StoreError> {
        let mut transaction = self.begin().await?;
        let drain = workers::beat(&mut *transaction, worker, self.now()).await?;
        commit(transaction).await?;
        Ok(drain)
    }

    async fn drain_worker(&self, worker: &WorkerId) -> Result<bool, StoreError> {
        let mut transaction = self.begin().await?;
        let known = workers::drain(&mut *transaction, worker).await?;
        commit(transaction).await?;
        Ok(known)
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        workers::forget(&mut *transaction, worker).await?;
        commit(transaction).await
    }

    async fn workers(&self, within: Duration) -> Result<Vec<WorkerState>, StoreError> {
        workers::all(&self.pools.reader, within, self.now()).await
    }

    async fn keep_bundles(&self, hashes: &[Digest]) -> Result<Vec<Digest>, StoreError> {
        let mut transaction = self.begin().await?;
        let missing = bundles::keep(&mut *transaction, hashes, self.now()).await?;
        commit(transaction).await?;
        Ok(missing)
    }

    async fn store_bundle(&self, hash: Digest, bytes: &[u8]) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        bundles::store(&mut *transaction, hash, bytes, self.now()).await?;
        commit(transaction).await
    }

    async fn bundle(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        bundles::one(&self.pools.reader, hash).await
    }

    async fn input(&self, hash: Digest) -> Result<Option<StoredInput>, StoreError> {
        inputs::read(&self.pools.reader, hash).await
    }

    async fn contents(&self, hashes: &[Digest]) -> Result<Vec<Content>, StoreError> {
        inputs::contents(&self.pools.reader, hashes).await
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRecord>, StoreError> {
        runs::list(&self.pools.reader, filter).await
    }

    async fn run(&self, id: RunId) -> Result<Option<RunRecord>, StoreError> {
        runs::run(&self.pools.reader, id).await
    }

    async fn prune(&self, retention: Retention) -> Result<u64, StoreError> {
        prune::prune(&self.pools, retention, self.now()).await
    }

    async fn append_log(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        lines: Vec<LogLine>,
    ) -> Result<(), LeaseError> {
        let mut transaction = self.begin().await?;
        logs::append_leased(&mut transaction, run, (holder, epoch), &lines).await?;
        commit(transaction).await?;
        Ok(())
    }

    async fn read_log(
        &self,
        run: RunId,
        after: u64,
        limit: u32,
    ) -> Result<Option<LogPage>, StoreError> {
        let acquired = self.pools.reader.acquire().await;
        let mut connection = acquired.map_err(failed_to("read a log"))?;
        logs::read(&mut connection, run, after, limit).await
    }

    async fn moved_logs(&self, read: &[(RunId, u64)]) -> Result<Vec<RunId>, StoreError> {
        let acquired = self.pools.reader.acquire().await;
        let mut connection = acquired.map_err(failed_to("look for logs that have gone on"))?;
        logs::moved(&mut connection, read).await
    }

    async fn publish(&self, _hints: &[Hint]) -> Result<(), StoreError> {
        Ok(())
    }

    async fn listen(&self) -> Result<Option<HintStream>, StoreError> {
        Ok(None)
    }
}
