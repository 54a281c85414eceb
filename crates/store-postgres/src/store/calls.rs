//! The implementation of the trait: one transaction per method.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::state::{StateDecision, StateRecord};
use cts_core::{
    ArchiveId, Blocked, Chain, Content, Digest, EventId, LeaderEpoch, LeaseEpoch, Loss, RunId,
    TaskName, TaskSpec, TaskStatus, WorkerId,
};
use cts_store::{
    AppliedConfiguration, Archive, ArchivedRow, CancelError, CancelState, CancelledRun, Claim,
    Completed, Completion, Configuration, ConfigurationInForce, Deletion, EnqueueRequest, Enqueued,
    ExpiredLeases, Hint, HintStream, LeaderError, Leadership, Lease, LeaseError, LogLine, LogPage,
    Member, MemberConfiguration, MemberState, NewTask, PendingDeletions, QueueDepth, Refused,
    Registered, Requeued, Retention, RunFilter, RunRecord, RunRequest, Store, StoreError,
    StoredInput, StoredTask, TaskChange, TaskError, TaskState, TaskVersion, WaitingRuns,
    WorkerRecord, WorkerState,
};
use uuid::Uuid;

use super::PostgresStore;
use crate::archive::Moved;
use crate::election_connection::election_call;
use crate::session::call;
use crate::{
    archive, bundles, cancel, changes, complete, configurations, configure, destruction, enqueue,
    guards, hints, inputs, leadership, lease, logs, prune, queue, requests, states, statistics,
    take_back, tasks, terraform_states, waiting, workers,
};

/// Time limit of a call whose work grows with the configuration or the history, transaction after
/// transaction. Runs that prune leaves are forgotten the next time.
pub(super) const LONG_LIMIT: Duration = Duration::from_mins(30);

#[async_trait]
impl Store for PostgresStore {
    async fn lead(
        &self,
        member: &Member,
        epoch: Option<LeaderEpoch>,
        time_to_live: Duration,
    ) -> Result<Leadership, StoreError> {
        election_call!(self.election, c => self.lead_on(c, member, epoch, time_to_live))
    }

    async fn resign(&self, member: &Member) -> Result<(), StoreError> {
        election_call!(self.election, c => leadership::resign(c, member))
    }

    async fn members(&self, within: Duration) -> Result<Vec<MemberState>, StoreError> {
        call!(&self.pool, c => leadership::members(c, within))
    }

    async fn register_configuration(
        &self,
        member: &Member,
        configuration: &Configuration,
        time_to_live: Duration,
    ) -> Result<Registered, StoreError> {
        call!(&self.pool, c => configurations::register(c, member, configuration, time_to_live))
    }

    async fn adopt_configuration(
        &self,
        leader: LeaderEpoch,
        member: &Member,
        configuration: &Configuration,
        replace: bool,
    ) -> Result<ConfigurationInForce, LeaderError> {
        call!(&self.pool, c => configurations::adopt(c, leader, member, configuration, replace))
    }

    async fn put_in_force(&self, wanted: &AppliedConfiguration) -> Result<Option<u64>, StoreError> {
        call!(&self.pool, LONG_LIMIT, c => configurations::apply(c, wanted))
    }

    async fn configuration_in_force(&self) -> Result<Option<ConfigurationInForce>, StoreError> {
        call!(&self.pool, c => configurations::in_force(c))
    }

    async fn configurations(
        &self,
        within: Duration,
    ) -> Result<Vec<MemberConfiguration>, StoreError> {
        call!(&self.pool, c => configurations::all(c, within))
    }

    async fn configuration_version(&self) -> Result<String, StoreError> {
        call!(&self.pool, c => configurations::version(c))
    }

    async fn replace_config_tasks(
        &self,
        leader: LeaderEpoch,
        specs: &[TaskSpec],
    ) -> Result<PendingDeletions, LeaderError> {
        call!(&self.pool, LONG_LIMIT, c => configure::replace_config_tasks(c, leader, specs))
    }

    async fn tasks(&self) -> Result<Vec<StoredTask>, StoreError> {
        call!(&self.pool, c => tasks::all(c))
    }

    async fn task_marks(&self) -> Result<Vec<TaskVersion>, StoreError> {
        call!(&self.pool, c => tasks::marks(c))
    }

    async fn tasks_named(&self, names: &[TaskName]) -> Result<Vec<StoredTask>, StoreError> {
        call!(&self.pool, c => tasks::named(c, names))
    }

    async fn task(&self, name: &TaskName) -> Result<Option<StoredTask>, StoreError> {
        call!(&self.pool, c => tasks::one(c, name))
    }

    async fn create_task(&self, task: &NewTask) -> Result<(), TaskError> {
        call!(&self.pool, c => changes::create(c, task))
    }

    async fn change_task(
        &self,
        name: &TaskName,
        change: &TaskChange,
    ) -> Result<StoredTask, TaskError> {
        call!(&self.pool, c => changes::change(c, name, change))
    }

    async fn delete_task(&self, name: &TaskName, deletion: Deletion) -> Result<bool, TaskError> {
        call!(&self.pool, c => changes::delete(c, name, deletion))
    }

    async fn plan_destruction(&self, name: &TaskName, run: RunId) -> Result<bool, TaskError> {
        call!(&self.pool, c => destruction::plan(c, name, run))
    }

    async fn release_task(
        &self,
        name: &TaskName,
        seen: Option<&[Loss]>,
    ) -> Result<Option<Blocked>, TaskError> {
        call!(&self.pool, c => guards::release(c, name, seen))
    }

    async fn terraform_state(&self, name: &TaskName) -> Result<Option<StateRecord>, StoreError> {
        call!(&self.pool, c => terraform_states::of_task(c, name))
    }

    async fn decide_terraform_state(
        &self,
        name: &TaskName,
        decision: &StateDecision,
        run: RunId,
    ) -> Result<StateRecord, TaskError> {
        call!(&self.pool, c => terraform_states::decide(c, name, decision, run))
    }

    async fn drop_draft(&self, name: &TaskName, run: RunId) -> Result<(), StoreError> {
        call!(&self.pool, c => tasks::drop_draft(c, name, run))
    }

    async fn requests(&self) -> Result<Vec<RunRequest>, StoreError> {
        call!(&self.pool, c => requests::open(c))
    }

    async fn request(&self, run: RunId) -> Result<Option<RunRequest>, StoreError> {
        call!(&self.pool, c => requests::one(c, run))
    }

    async fn refuse(
        &self,
        leader: LeaderEpoch,
        run: RunId,
        refused: &Refused,
    ) -> Result<(), LeaderError> {
        call!(&self.pool, c => requests::refuse(c, leader, run, refused))
    }

    async fn reset_tasks(
        &self,
        leader: LeaderEpoch,
        archive: ArchiveId,
    ) -> Result<PendingDeletions, LeaderError> {
        let reset = call!(&self.pool, LONG_LIMIT, c => configure::reset(c, leader, archive))?;
        let mut after = Uuid::nil();
        while let Moved::To(run) =
            call!(&self.pool, LONG_LIMIT, c => archive::move_runs(c, leader, archive, after))?
        {
            after = run;
        }
        while call!(&self.pool, c => archive::forget_old(c))? {}
        Ok(reset)
    }

    async fn archives(&self) -> Result<Vec<Archive>, StoreError> {
        call!(&self.pool, c => archive::all(c))
    }

    async fn archived_rows(
        &self,
        archive: ArchiveId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<ArchivedRow>, StoreError> {
        call!(&self.pool, c => archive::rows(c, archive, after, limit))
    }

    async fn explain(
        &self,
        leader: LeaderEpoch,
        explanations: &[(TaskName, String)],
    ) -> Result<(), LeaderError> {
        call!(&self.pool, c => tasks::explain(c, leader, explanations))
    }

    async fn explanation(&self, name: &TaskName) -> Result<Option<String>, StoreError> {
        call!(&self.pool, c => tasks::explanation(c, name))
    }

    async fn version(&self) -> Result<String, StoreError> {
        call!(&self.pool, c => self.version.read(c))
    }

    async fn task_states(&self, status: Option<TaskStatus>) -> Result<Vec<TaskState>, StoreError> {
        call!(&self.pool, c => states::all(c, status))
    }

    async fn task_state(&self, name: &TaskName) -> Result<Option<TaskState>, StoreError> {
        call!(&self.pool, c => states::one(c, name))
    }

    async fn enqueue(
        &self,
        leader: LeaderEpoch,
        requests: Vec<EnqueueRequest>,
    ) -> Result<Vec<Enqueued>, LeaderError> {
        call!(&self.pool, c => enqueue::enqueue(c, leader, &requests))
    }

    async fn acquire(&self, claim: &Claim) -> Result<Option<Lease>, StoreError> {
        call!(&self.pool, c => self.acquire_on(c, claim))
    }

    async fn applying_of_group(&self, group: &str) -> Result<Option<TaskName>, StoreError> {
        call!(&self.pool, c => waiting::applying_of_group(c, group))
    }

    async fn grants(
        &self,
        worker: &WorkerId,
        requests: &[String],
    ) -> Result<Vec<(RunId, LeaseEpoch)>, StoreError> {
        call!(&self.pool, c => lease::grants(c, worker, requests))
    }

    async fn complete(&self, completion: Completion) -> Result<Completed, LeaseError> {
        call!(&self.pool, c => complete::complete(c, &completion))
    }

    async fn cancel_run(
        &self,
        run: RunId,
        force: bool,
        event: EventId,
    ) -> Result<CancelledRun, CancelError> {
        call!(&self.pool, c => cancel::cancel(c, run, force, event))
    }

    async fn cancel_state(&self, run: RunId) -> Result<Option<CancelState>, StoreError> {
        call!(&self.pool, c => cancel::state(c, run))
    }

    async fn reap(
        &self,
        leader: LeaderEpoch,
        each: &[ExpiredLeases],
    ) -> Result<Vec<Requeued>, LeaderError> {
        let requeued = call!(&self.pool, c => take_back::reap(c, leader, each))?;
        // Statistics are tried again a second later; a failure must not hide the leases that were taken back.
        if let Err(error) = call!(&self.pool, c => statistics::follow(c)) {
            tracing::debug!(error = %Chain(&error), "no statistics could be made");
        }
        Ok(requeued)
    }

    async fn release_all(&self) -> Result<Vec<Requeued>, StoreError> {
        call!(&self.pool, c => take_back::release_all(c))
    }

    async fn next_due(&self) -> Result<Option<Duration>, StoreError> {
        call!(&self.pool, c => queue::next_due(c))
    }

    async fn queue_depth(&self) -> Result<QueueDepth, StoreError> {
        call!(&self.pool, c => queue::depth(c))
    }

    async fn waiting_runs(&self, due_for: Duration) -> Result<Vec<WaitingRuns>, StoreError> {
        call!(&self.pool, c => waiting::waiting_runs(c, due_for))
    }

    async fn retry_failed_now(&self, at_most_every: Duration) -> Result<Vec<TaskName>, StoreError> {
        call!(&self.pool, c => waiting::retry_failed_now(c, at_most_every))
    }

    async fn record_heartbeat(&self, worker: &WorkerRecord) -> Result<bool, StoreError> {
        call!(&self.pool, c => workers::record_heartbeat(c, worker))
    }

    async fn drain_worker(&self, worker: &WorkerId) -> Result<bool, StoreError> {
        call!(&self.pool, c => workers::drain(c, worker))
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<(), StoreError> {
        call!(&self.pool, c => workers::forget(c, worker))
    }

    async fn workers(&self, within: Duration) -> Result<Vec<WorkerState>, StoreError> {
        call!(&self.pool, c => workers::all(c, within))
    }

    async fn keep_bundles(&self, hashes: &[Digest]) -> Result<Vec<Digest>, StoreError> {
        call!(&self.pool, c => bundles::keep(c, hashes))
    }

    async fn store_bundle(&self, hash: Digest, bytes: &[u8]) -> Result<(), StoreError> {
        call!(&self.pool, c => bundles::store(c, hash, bytes))
    }

    async fn bundle(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        call!(&self.pool, c => bundles::read(c, hash))
    }

    async fn input(&self, hash: Digest) -> Result<Option<StoredInput>, StoreError> {
        call!(&self.pool, c => inputs::read(c, hash))
    }

    async fn applied_inputs(
        &self,
        names: &[TaskName],
    ) -> Result<Vec<(TaskName, Digest)>, StoreError> {
        call!(&self.pool, c => inputs::applied(c, names))
    }

    async fn contents(&self, hashes: &[Digest]) -> Result<Vec<Content>, StoreError> {
        call!(&self.pool, c => inputs::contents(c, hashes))
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRecord>, StoreError> {
        call!(&self.pool, c => queue::runs(c, filter))
    }

    async fn run(&self, id: RunId) -> Result<Option<RunRecord>, StoreError> {
        call!(&self.pool, c => queue::run(c, id))
    }

    async fn prune(&self, retention: Retention) -> Result<u64, StoreError> {
        call!(&self.pool, LONG_LIMIT, c => prune::prune(c, retention))
    }

    async fn append_log(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        lines: Vec<LogLine>,
    ) -> Result<(), LeaseError> {
        call!(&self.pool, c => logs::append_leased(c, run, (holder, epoch), &lines))
    }

    async fn read_log(
        &self,
        run: RunId,
        after: u64,
        limit: u32,
    ) -> Result<Option<LogPage>, StoreError> {
        call!(&self.pool, c => logs::read(c, run, after, limit))
    }

    async fn moved_logs(&self, read: &[(RunId, u64)]) -> Result<Vec<RunId>, StoreError> {
        call!(&self.pool, c => logs::moved(c, read))
    }

    async fn publish(&self, hints: &[Hint]) -> Result<(), StoreError> {
        call!(&self.sender, c => hints::publish(c, hints))
    }

    async fn listen(&self) -> Result<Option<HintStream>, StoreError> {
        hints::listen(self.target.clone()).await.map(Some)
    }
}
