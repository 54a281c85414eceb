//! The implementation of the trait: one transaction per method.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cts_core::callers::AuditRecord;
use cts_core::runs::RunKind;
use cts_core::state::{StateDecision, StateRecord};
use cts_core::{
    ArchiveId, Blocked, CauseId, Chain, Content, Digest, EventId, LeaderEpoch, LeaseEpoch, Loss,
    RequestKey, RunId, TaskCheck, TaskName, TaskSpec, TaskStatus, WorkerId,
};
use cts_proto::run::v1::Cause;
use cts_store::enqueue::EnqueueError;
use cts_store::{
    Archive, ArchivedRow, AttemptRecord, CancelError, CancelState, CancelledRun, Claim, Completed,
    Completion, Deletion, EnqueueRequest, Enqueued, ExpiredLeases, Hint, HintStream, InputContents,
    LeaderError, Leadership, Lease, LeaseError, LogExcerpts, LogLine, LogPage, LogRange, Member,
    MemberState, NewTask, PendingDeletions, QueueDepth, Refused, Requeued, Retention, RunFilter,
    RunRecord, RunRequest, Store, StoreError, StoredTask, TaskChange, TaskError, TaskState,
    TaskVersion, WaitingRuns,
};
use uuid::Uuid;

use super::{SqlStore, change, read, statement, step, transaction};
use crate::database::{Database, Intent};
use crate::release_all::release_all;
use crate::{
    archive, attempts, bundles, cancel, causes, changes, checks, configure, destruction, enqueue,
    events, inputs, leadership, leases, logs, queue, reclaim, requests, shrink_limits, tasks,
    terraform_states,
};

#[async_trait]
impl<D: Database> Store for SqlStore<D> {
    fn recording(&self, record: AuditRecord) -> Arc<dyn Store> {
        Arc::new(Self {
            record: Some(Arc::new(record)),
            ..self.clone()
        })
    }

    async fn lead(
        &self,
        member: &Member,
        epoch: Option<LeaderEpoch>,
        time_to_live: Duration,
    ) -> Result<Leadership, StoreError> {
        let _call = self.calls.begin(Intent::Transaction);
        self.noted(self.database.lead(member, epoch, time_to_live))
            .await
    }

    async fn resign(&self, member: &Member) -> Result<(), StoreError> {
        let _call = self.calls.begin(Intent::Transaction);
        self.noted(self.database.resign(member)).await
    }

    async fn members(&self, within: Duration) -> Result<Vec<MemberState>, StoreError> {
        read!(self, c => leadership::members(c, within))
    }

    async fn replace_config_tasks(
        &self,
        leader: LeaderEpoch,
        specs: &[TaskSpec],
    ) -> Result<PendingDeletions, LeaderError> {
        transaction!(self, Process, Long, leader, c => configure::replace_config_tasks(c, specs))
    }

    async fn tasks(&self) -> Result<Vec<StoredTask>, StoreError> {
        read!(self, c => tasks::all(c))
    }

    async fn task_marks(&self) -> Result<Vec<TaskVersion>, StoreError> {
        read!(self, c => tasks::marks(c))
    }

    async fn tasks_named(&self, names: &[TaskName]) -> Result<Vec<StoredTask>, StoreError> {
        read!(self, c => tasks::named(c, names))
    }

    async fn task(&self, name: &TaskName) -> Result<Option<StoredTask>, StoreError> {
        read!(self, c => tasks::one(c, name))
    }

    async fn create_task(&self, task: &NewTask) -> Result<(), TaskError> {
        change!(self, Short, Some(task.run), c => changes::create(c, task))
    }

    async fn change_task(
        &self,
        name: &TaskName,
        change: &TaskChange,
    ) -> Result<StoredTask, TaskError> {
        let run = change.request.map(|(run, _)| run);
        change!(self, Short, run, c => changes::change(c, name, change))
    }

    async fn delete_task(&self, name: &TaskName, deletion: Deletion) -> Result<bool, TaskError> {
        let run = match deletion {
            Deletion::AsTaskSays { run } => Some(run),
            Deletion::Retain => None,
        };
        change!(self, Short, run, c => changes::delete(c, name, deletion))
    }

    async fn plan_destruction(
        &self,
        name: &TaskName,
        run: RunId,
        key: Option<RequestKey>,
    ) -> Result<bool, TaskError> {
        change!(self, Short, Some(run), c => destruction::plan(c, name, (run, key)))
    }

    async fn release_task(
        &self,
        name: &TaskName,
        seen: Option<&[Loss]>,
    ) -> Result<Option<Blocked>, TaskError> {
        change!(self, Short, None, c => shrink_limits::release(c, name, seen))
    }

    async fn terraform_state(&self, name: &TaskName) -> Result<Option<StateRecord>, StoreError> {
        read!(self, c => terraform_states::of_task(c, name))
    }

    async fn decide_terraform_state(
        &self,
        name: &TaskName,
        decision: &StateDecision,
        run: RunId,
    ) -> Result<StateRecord, TaskError> {
        change!(self, Short, Some(run), c => terraform_states::decide(c, name, decision, run))
    }

    async fn drop_draft(&self, name: &TaskName, run: RunId) -> Result<(), StoreError> {
        statement!(self, c => tasks::drop_draft(c, name, run))
    }

    async fn requests(&self) -> Result<Vec<RunRequest>, StoreError> {
        read!(self, c => requests::open(c))
    }

    async fn requested(
        &self,
        task: &TaskName,
        key: RequestKey,
    ) -> Result<Option<(RunId, RunKind)>, StoreError> {
        read!(self, c => requests::with_key(c, task, key))
    }

    async fn request(&self, run: RunId) -> Result<Option<RunRequest>, StoreError> {
        read!(self, c => requests::one(c, run))
    }

    async fn refuse(
        &self,
        leader: LeaderEpoch,
        run: RunId,
        refused: &Refused,
    ) -> Result<(), LeaderError> {
        transaction!(self, Process, Short, leader, c => requests::refuse(c, run, refused))
    }

    async fn reset_tasks(
        &self,
        leader: LeaderEpoch,
        archive: ArchiveId,
    ) -> Result<PendingDeletions, LeaderError> {
        let reset: Result<_, LeaderError> =
            transaction!(self, PowerCut, Long, leader, c => archive::reset(c, archive));
        let reset = reset?;
        let mut after = Some(RunId::from_uuid(Uuid::nil()));
        while let Some(from) = after {
            let moved: Result<_, LeaderError> = transaction!(
                self, Process, Long, leader, c => archive::move_runs(c, archive, from));
            after = moved?;
        }
        while step!(self, Transaction, c => archive::forget_old(c)) {}
        Ok(reset)
    }

    async fn archives(&self) -> Result<Vec<Archive>, StoreError> {
        read!(self, c => archive::all(c))
    }

    async fn archived_rows(
        &self,
        archive: ArchiveId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<ArchivedRow>, StoreError> {
        read!(self, c => archive::rows(c, archive, after, limit))
    }

    async fn explain(
        &self,
        leader: LeaderEpoch,
        explanations: &[(TaskName, String)],
    ) -> Result<(), LeaderError> {
        transaction!(self, Process, Short, leader, c => tasks::explain(c, explanations))
    }

    async fn explanation(&self, name: &TaskName) -> Result<Option<String>, StoreError> {
        read!(self, c => tasks::explanation(c, name))
    }

    async fn checks(&self, names: &[TaskName]) -> Result<Vec<(TaskName, TaskCheck)>, StoreError> {
        read!(self, c => checks::of(c, names))
    }

    async fn version(&self) -> Result<String, StoreError> {
        let _call = self.calls.begin(Intent::Read);
        self.noted(self.in_time(self.database.version())).await
    }

    async fn foreign_version(&self) -> Result<Option<String>, StoreError> {
        let _call = self.calls.begin(Intent::Read);
        self.noted(self.database.foreign_version()).await
    }

    async fn task_states(&self, status: Option<TaskStatus>) -> Result<Vec<TaskState>, StoreError> {
        read!(self, c => events::states(c, status))
    }

    async fn task_state(&self, name: &TaskName) -> Result<Option<TaskState>, StoreError> {
        read!(self, c => events::state(c, name))
    }

    async fn enqueue(
        &self,
        leader: LeaderEpoch,
        requests: Vec<EnqueueRequest>,
    ) -> Result<Vec<Enqueued>, LeaderError> {
        let contents = InputContents::of(&requests);
        let asked = contents.worth_asking();
        let mut known = HashSet::new();
        if !asked.is_empty() {
            known = step!(self, Read, c => inputs::known(c, &asked));
        }
        loop {
            let encoded = contents.encoded(&known).await?;
            let enqueued =
                transaction!(self, Process, c => enqueue::all(c, leader, &requests, &encoded));
            match enqueued {
                Ok(enqueued) => return Ok(enqueued),
                Err(EnqueueError::Forgotten) => known.clear(),
                Err(EnqueueError::Leader(error)) => return Err(error),
            }
        }
    }

    async fn acquire(&self, claim: &Claim) -> Result<Option<Lease>, StoreError> {
        let _call = self.calls.begin(Intent::Transaction);
        self.noted(self.database.acquire(claim)).await
    }

    async fn holder_of_group(
        &self,
        group: &str,
        task: &TaskName,
    ) -> Result<Option<RunId>, StoreError> {
        read!(self, c => queue::holder_of_group(c, group, task))
    }

    async fn grants(
        &self,
        worker: &WorkerId,
        requests: &[String],
    ) -> Result<Vec<(RunId, LeaseEpoch)>, StoreError> {
        read!(self, c => leases::grants(c, worker, requests))
    }

    async fn complete(&self, completion: Completion) -> Result<Completed, LeaseError> {
        let _call = self.calls.begin(Intent::Transaction);
        self.noted(self.database.complete(completion)).await
    }

    async fn cancel_run(
        &self,
        run: RunId,
        force: bool,
        event: EventId,
    ) -> Result<CancelledRun, CancelError> {
        change!(self, Short, None, c => cancel::cancel(c, run, (force, event)))
    }

    async fn cancel_state(&self, run: RunId) -> Result<Option<CancelState>, StoreError> {
        read!(self, c => cancel::state(c, run))
    }

    async fn reap(
        &self,
        leader: LeaderEpoch,
        each: &[ExpiredLeases],
    ) -> Result<Vec<Requeued>, LeaderError> {
        let reclaimed = transaction!(self, Process, c => reclaim::reclaim(c, leader, each));
        // A failure must not hide the leases that were taken back; the next call tries again.
        if reclaimed.is_ok()
            && let Err(error) = self.database.follow_growth().await
        {
            tracing::debug!(error = %Chain(&error), "no statistics could be made");
        }
        reclaimed
    }

    async fn release_all(&self) -> Result<Vec<Requeued>, StoreError> {
        transaction!(self, Process, c => release_all(c))
    }

    async fn next_due(&self) -> Result<Option<Duration>, StoreError> {
        read!(self, c => queue::next_due(c))
    }

    async fn has_open_runs(&self) -> Result<bool, StoreError> {
        read!(self, c => queue::has_open(c))
    }

    async fn queue_depth(&self) -> Result<QueueDepth, StoreError> {
        read!(self, c => queue::depth(c))
    }

    async fn waiting_runs(&self, due_for: Duration) -> Result<Vec<WaitingRuns>, StoreError> {
        read!(self, c => queue::waiting_runs(c, due_for))
    }

    async fn retry_failed_now(&self, at_most_every: Duration) -> Result<Vec<TaskName>, StoreError> {
        transaction!(self, Process, c => queue::retry_failed_now(c, at_most_every))
    }

    async fn keep_bundles(&self, hashes: &[Digest]) -> Result<Vec<Digest>, StoreError> {
        statement!(self, c => bundles::keep(c, hashes))
    }

    async fn store_bundle(&self, hash: Digest, bytes: &[u8]) -> Result<(), StoreError> {
        statement!(self, c => bundles::store(c, hash, bytes))
    }

    async fn bundle(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        read!(self, c => bundles::read(c, hash))
    }

    async fn input(&self, hash: Digest) -> Result<Option<Vec<Digest>>, StoreError> {
        read!(self, c => inputs::read(c, hash))
    }

    async fn applied_inputs(
        &self,
        names: &[TaskName],
    ) -> Result<Vec<(TaskName, Digest)>, StoreError> {
        read!(self, c => inputs::applied(c, names))
    }

    async fn contents(&self, hashes: &[Digest]) -> Result<Vec<Content>, StoreError> {
        read!(self, c => inputs::contents(c, hashes))
    }

    async fn causes(
        &self,
        from: Option<CauseId>,
        tasks: Option<&[TaskName]>,
        limit: u32,
    ) -> Result<Vec<Cause>, StoreError> {
        read!(self, c => causes::list(c, from, tasks, limit))
    }

    async fn tasks_with_runs(
        &self,
        beginning: &str,
        at_most: u32,
    ) -> Result<Vec<TaskName>, StoreError> {
        read!(self, c => queue::tasks_with_runs(c, beginning, at_most))
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRecord>, StoreError> {
        read!(self, c => queue::runs(c, filter))
    }

    async fn run(&self, id: RunId) -> Result<Option<RunRecord>, StoreError> {
        read!(self, c => queue::run(c, id))
    }

    async fn attempts(&self, id: RunId) -> Result<Vec<AttemptRecord>, StoreError> {
        read!(self, c => attempts::of_run(c, id))
    }

    async fn prune(&self, retention: Retention) -> Result<u64, StoreError> {
        self.forget_old(retention).await
    }

    async fn append_log(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        lines: Vec<LogLine>,
    ) -> Result<(), LeaseError> {
        statement!(self, c => logs::append(c, (run, holder, epoch), &lines))
    }

    async fn read_log(
        &self,
        run: RunId,
        after: u64,
        limit: u32,
    ) -> Result<Option<LogPage>, StoreError> {
        read!(self, c => logs::read(c, run, after, limit))
    }

    async fn log_excerpts(&self, wanted: &LogRange) -> Result<LogExcerpts, StoreError> {
        read!(self, c => logs::excerpts(c, wanted))
    }

    async fn moved_logs(&self, read: &[(RunId, u64)]) -> Result<Vec<RunId>, StoreError> {
        read!(self, c => logs::moved(c, read))
    }

    async fn publish(&self, hints: &[Hint]) -> Result<(), StoreError> {
        let _call = self.calls.begin(Intent::Statement);
        self.noted(self.database.publish(hints)).await
    }

    async fn listen(&self) -> Result<Option<HintStream>, StoreError> {
        self.noted(self.database.listen()).await
    }
}
