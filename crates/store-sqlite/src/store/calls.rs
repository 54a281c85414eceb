//! The implementation of the trait: one transaction per method.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::state::{StateDecision, StateRecord};
use cts_core::{
    ArchiveId, Blocked, Content, Digest, EventId, LeaderEpoch, LeaseEpoch, Loss, RunId, TaskName,
    TaskSpec, TaskStatus, WorkerId, WorkerRecord,
};
use cts_store::{
    AppliedConfiguration, Archive, ArchivedRow, CancelError, CancelState, CancelledRun, Claim,
    Completed, Completion, Configuration, ConfigurationInForce, Deletion, EnqueueRequest, Enqueued,
    ExpiredLeases, Hint, HintStream, InputContents, LeaderError, Leadership, Lease, LeaseError,
    LogLine, LogPage, Member, MemberConfiguration, MemberState, NewTask, PendingDeletions,
    QueueDepth, Refused, Registered, Requeued, Retention, RunFilter, RunRecord, RunRequest, Store,
    StoreError, StoredInput, StoredTask, TaskChange, TaskError, TaskState, TaskVersion,
    WaitingRuns, WorkerState,
};

use super::SqliteStore;
use super::transaction::transaction;
use crate::inputs::{self, InputError};
use crate::{
    archive, bundles, cancel, changes, complete, configurations, configure, destruction, enqueue,
    guards, leadership, lease, logs, prune, queue, requests, row, runs, set_back, states,
    take_back, tasks, terraform_states, waiting, workers,
};

#[async_trait]
impl Store for SqliteStore {
    async fn lead(
        &self,
        member: &Member,
        epoch: Option<LeaderEpoch>,
        time_to_live: Duration,
    ) -> Result<Leadership, StoreError> {
        transaction!(self.begin, t, now => leadership::lead(&mut t, member, epoch, time_to_live, now))
    }

    async fn resign(&self, member: &Member) -> Result<(), StoreError> {
        transaction!(self.begin, t, _ => leadership::resign(&mut t, member))
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
        transaction!(self.begin, t, now => configurations::register(&mut t, member, configuration, time_to_live, now))
    }

    async fn adopt_configuration(
        &self,
        leader: LeaderEpoch,
        member: &Member,
        configuration: &Configuration,
        replace: bool,
    ) -> Result<ConfigurationInForce, LeaderError> {
        transaction!(self.begin; leader, t, now => configurations::adopt(&mut t, member, configuration, replace, now))
    }

    async fn put_in_force(&self, wanted: &AppliedConfiguration) -> Result<Option<u64>, StoreError> {
        transaction!(self.begin_durable, t, now => configurations::apply(&mut t, wanted, now))
    }

    async fn configuration_in_force(&self) -> Result<Option<ConfigurationInForce>, StoreError> {
        configurations::in_force(&self.pools.reader).await
    }

    async fn configurations(
        &self,
        within: Duration,
    ) -> Result<Vec<MemberConfiguration>, StoreError> {
        let since = self.now().saturating_sub(row::span_micros(within));
        configurations::all(&self.pools.reader, since).await
    }

    async fn configuration_version(&self) -> Result<String, StoreError> {
        configurations::version(&self.pools.reader).await
    }

    async fn replace_config_tasks(
        &self,
        leader: LeaderEpoch,
        specs: &[TaskSpec],
    ) -> Result<PendingDeletions, LeaderError> {
        transaction!(self.begin; leader, t, now => configure::replace_config_tasks(&mut t, specs, now))
    }

    async fn tasks(&self) -> Result<Vec<StoredTask>, StoreError> {
        tasks::all(&self.pools.reader).await
    }

    async fn task_marks(&self) -> Result<Vec<TaskVersion>, StoreError> {
        tasks::marks(&self.pools.reader).await
    }

    async fn tasks_named(&self, names: &[TaskName]) -> Result<Vec<StoredTask>, StoreError> {
        tasks::named(&self.pools.reader, names).await
    }

    async fn task(&self, name: &TaskName) -> Result<Option<StoredTask>, StoreError> {
        tasks::one(&self.pools.reader, name).await
    }

    async fn create_task(&self, task: &NewTask) -> Result<(), TaskError> {
        transaction!(self.begin_durable, t, now => changes::create(&mut t, task, now))
    }

    async fn change_task(
        &self,
        name: &TaskName,
        change: &TaskChange,
    ) -> Result<StoredTask, TaskError> {
        transaction!(self.begin_durable, t, now => changes::change(&mut t, name, change, now))
    }

    async fn delete_task(&self, name: &TaskName, deletion: Deletion) -> Result<bool, TaskError> {
        transaction!(self.begin_durable, t, now => changes::delete(&mut t, name, deletion, now))
    }

    async fn plan_destruction(&self, name: &TaskName, run: RunId) -> Result<bool, TaskError> {
        transaction!(self.begin_durable, t, now => destruction::plan(&mut t, name, run, now))
    }

    async fn release_task(
        &self,
        name: &TaskName,
        seen: Option<&[Loss]>,
    ) -> Result<Option<Blocked>, TaskError> {
        transaction!(self.begin_durable, t, _ => guards::release(&mut t, name, seen))
    }

    async fn terraform_state(&self, name: &TaskName) -> Result<Option<StateRecord>, StoreError> {
        terraform_states::of_task(&self.pools.reader, name).await
    }

    async fn decide_terraform_state(
        &self,
        name: &TaskName,
        decision: &StateDecision,
        run: RunId,
    ) -> Result<StateRecord, TaskError> {
        transaction!(self.begin_durable, t, now => terraform_states::decide(&mut t, name, decision, run, now))
    }

    async fn drop_draft(&self, name: &TaskName, run: RunId) -> Result<(), StoreError> {
        transaction!(self.begin, t, _ => changes::drop_draft(&mut *t, name, run))
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
        refused: &Refused,
    ) -> Result<(), LeaderError> {
        transaction!(self.begin; leader, t, now => requests::refuse(&mut t, run, refused, now))
    }

    async fn reset_tasks(
        &self,
        leader: LeaderEpoch,
        archive: ArchiveId,
    ) -> Result<PendingDeletions, LeaderError> {
        transaction!(self.begin_durable; leader, t, now => configure::reset(&mut t, archive, now))
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
        transaction!(self.begin; leader, t, _ => tasks::explain(&mut t, explanations))
    }

    async fn explanation(&self, name: &TaskName) -> Result<Option<String>, StoreError> {
        tasks::explanation(&self.pools.reader, name).await
    }

    async fn version(&self) -> Result<String, StoreError> {
        let version = self.pools.observer.version().await?;
        // The count starts again in a process that opens the file later, so the time of opening is a part of
        // the version.
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
                    transaction.commit().await?;
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
        transaction!(self.begin, t, now => lease::acquire(&mut t, claim, now))
    }

    async fn applying_of_group(&self, group: &str) -> Result<Option<TaskName>, StoreError> {
        waiting::applying_of_group(&self.pools.reader, group).await
    }

    async fn grants(
        &self,
        worker: &WorkerId,
        requests: &[String],
    ) -> Result<Vec<(RunId, LeaseEpoch)>, StoreError> {
        lease::grants(&self.pools.reader, worker, requests).await
    }

    async fn complete(&self, completion: Completion) -> Result<Completed, LeaseError> {
        transaction!(self.begin_durable, t, now => complete::complete(&mut t, &completion, now))
    }

    async fn cancel_run(
        &self,
        run: RunId,
        force: bool,
        event: EventId,
    ) -> Result<CancelledRun, CancelError> {
        transaction!(self.begin_durable, t, now => cancel::cancel(&mut t, run, (force, event), now))
    }

    async fn cancel_state(&self, run: RunId) -> Result<Option<CancelState>, StoreError> {
        cancel::state(&self.pools.reader, run, self.now()).await
    }

    async fn reap(
        &self,
        leader: LeaderEpoch,
        each: &[ExpiredLeases],
    ) -> Result<Vec<Requeued>, LeaderError> {
        let mut transaction = self.begin().await?;
        let now = self.now();
        leadership::check(&mut transaction, leader, now).await?;
        let since = now.saturating_sub(leadership::SILENCE);
        leadership::forget_silent(&mut transaction, since).await?;
        workers::forget_silent(&mut *transaction, since).await?;
        set_back::bring_back(&mut transaction, now).await?;
        let requeued = take_back::reap(&mut transaction, each, now).await?;
        transaction.commit().await?;
        Ok(requeued)
    }

    async fn release_all(&self) -> Result<Vec<Requeued>, StoreError> {
        let mut transaction = self.begin().await?;
        let requeued = take_back::all(&mut transaction, self.now()).await?;
        leadership::release(&mut transaction).await?;
        workers::forget_silent(&mut *transaction, i64::MAX).await?;
        transaction.commit().await?;
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

    async fn retry_failed_now(&self, at_most_every: Duration) -> Result<Vec<TaskName>, StoreError> {
        transaction!(self.begin, t, now => waiting::retry_failed_now(&mut t, at_most_every, now))
    }

    async fn record_heartbeat(&self, worker: &WorkerRecord) -> Result<bool, StoreError> {
        transaction!(self.begin, t, now => workers::record_heartbeat(&mut *t, worker, now))
    }

    async fn drain_worker(&self, worker: &WorkerId) -> Result<bool, StoreError> {
        transaction!(self.begin, t, _ => workers::drain(&mut *t, worker))
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<(), StoreError> {
        transaction!(self.begin, t, _ => workers::forget(&mut *t, worker))
    }

    async fn workers(&self, within: Duration) -> Result<Vec<WorkerState>, StoreError> {
        workers::all(&self.pools.reader, within, self.now()).await
    }

    async fn keep_bundles(&self, hashes: &[Digest]) -> Result<Vec<Digest>, StoreError> {
        transaction!(self.begin, t, now => bundles::keep(&mut *t, hashes, now))
    }

    async fn store_bundle(&self, hash: Digest, bytes: &[u8]) -> Result<(), StoreError> {
        transaction!(self.begin, t, now => bundles::store(&mut *t, hash, bytes, now))
    }

    async fn bundle(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        bundles::one(&self.pools.reader, hash).await
    }

    async fn input(&self, hash: Digest) -> Result<Option<StoredInput>, StoreError> {
        inputs::read(&self.pools.reader, hash).await
    }

    async fn applied_inputs(
        &self,
        names: &[TaskName],
    ) -> Result<Vec<(TaskName, Digest)>, StoreError> {
        inputs::applied(&self.pools.reader, names).await
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
        transaction!(self.begin, t, _ => logs::append_leased(&mut t, run, (holder, epoch), &lines))
    }

    async fn read_log(
        &self,
        run: RunId,
        after: u64,
        limit: u32,
    ) -> Result<Option<LogPage>, StoreError> {
        let acquired = self.pools.reader.acquire().await;
        let mut connection = acquired.map_err(row::failed_to("read a log"))?;
        logs::read(&mut connection, run, after, limit).await
    }

    async fn moved_logs(&self, read: &[(RunId, u64)]) -> Result<Vec<RunId>, StoreError> {
        let acquired = self.pools.reader.acquire().await;
        let mut connection = acquired.map_err(row::failed_to("look for logs that have gone on"))?;
        logs::moved(&mut connection, read).await
    }

    async fn publish(&self, _hints: &[Hint]) -> Result<(), StoreError> {
        Ok(())
    }

    async fn listen(&self) -> Result<Option<HintStream>, StoreError> {
        Ok(None)
    }
}
