//! The trait that combines all stores.

pub(crate) mod access;
pub(crate) mod approvals;
pub(crate) mod brake;
pub(crate) mod configuration;
pub(crate) mod facts;
pub(crate) mod held_leases;
pub(crate) mod housekeeping;
pub(crate) mod plans;
pub(crate) mod remote_runs;
pub(crate) mod restored;
pub(crate) mod sessions;
pub(crate) mod workers;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cts_core::callers::AuditRecord;
use cts_core::runs::RunKind;
use cts_core::state::{StateDecision, StateRecord};
use cts_core::{
    ArchiveId, Blocked, CauseId, Content, Digest, EventId, LeaderEpoch, LeaseEpoch, Loss,
    RequestKey, RunId, TaskCheck, TaskName, TaskSpec, TaskStatus, WorkerId,
};
use cts_proto::log::v1::LogLine;
use cts_proto::run::v1::Cause;

use self::access::AccessStore;
use self::approvals::ApprovalStore;
use self::brake::BrakeStore;
use self::configuration::ConfigurationStore;
use self::facts::FactStore;
use self::held_leases::HeldLeases;
use self::housekeeping::Housekeeping;
use self::plans::PlanStore;
use self::remote_runs::RemoteRunStore;
use self::restored::RestoredStore;
use self::sessions::SessionStore;
use self::workers::WorkerStore;
use crate::archive::{Archive, ArchivedRow};
use crate::attempt::{AttemptRecord, LogExcerpts, LogRange};
use crate::cancel::{CancelState, CancelledRun};
use crate::cluster::{Hint, HintStream, Leadership, Member, MemberState, QueueDepth, WaitingRuns};
use crate::continuity::Continuity;
use crate::destruction::Deletion;
use crate::error::{CancelError, LeaderError, LeaseError, StoreError, TaskError};
use crate::model::{
    Claim, Completed, Completion, EnqueueRequest, Enqueued, ExpiredLeases, Lease, LogPage,
    Requeued, Retention, RunFilter, RunRecord, TaskState,
};
use crate::settings::SettingsStore;
use crate::task::{
    NewTask, PendingDeletions, Refused, RunRequest, StoredTask, TaskChange, TaskVersion,
};

/// Task, run and event state.
///
/// Every method is one transaction: it has happened completely when the method returns, and not at all if the method
/// fails or its future is dropped before the commit. Times are the store's own: no clock of a caller decides when a
/// lease is over.
///
/// Duties of the leader take a [`LeaderEpoch`]. The transaction checks the epoch, so the call of a deposed replica
/// changes nothing, even if the replica has not noticed yet (P4).
#[async_trait]
pub trait Store:
    ConfigurationStore
    + WorkerStore
    + HeldLeases
    + RemoteRunStore
    + RestoredStore
    + Housekeeping
    + SettingsStore
    + FactStore
    + Continuity
    + AccessStore
    + SessionStore
    + BrakeStore
    + PlanStore
    + ApprovalStore
    + Send
    + Sync
    + fmt::Debug
{
    /// The store for one call of a client: each of its changes is one transaction with this record of the call.
    ///
    /// A run that the change requests names the caller. Changes are [`Store::create_task`], [`Store::change_task`],
    /// [`Store::delete_task`], [`Store::plan_destruction`], [`Store::release_task`],
    /// [`Store::decide_terraform_state`], [`Store::cancel_run`], [`WorkerStore::drain_worker`],
    /// [`ConfigurationStore::put_in_force`], [`AccessStore::create_token`], [`AccessStore::revoke_token`],
    /// [`SessionStore::begin_session`], [`SessionStore::end_session`], [`SessionStore::end_sessions_of`],
    /// [`BrakeStore::release_brake`], [`ApprovalStore::decide_approvals`] and [`ApprovalStore::reopen_approvals`].
    fn recording(&self, record: AuditRecord) -> Arc<dyn Store>;

    /// Makes this incarnation of `member` the leader if no replica leads, if the leader's lease has expired, or if it
    /// leads already; that extends its lease to `time_to_live` from now.
    ///
    /// Also notes that the member lives, which shows that schedulers serve.
    ///
    /// A member id belongs to one incarnation at a time. Another incarnation takes the id over once the first was not
    /// seen for `time_to_live`; until then [`Leadership::id_in_use`] is set and nothing is changed. A lease is never
    /// taken from another incarnation before it expires, whatever its id.
    ///
    /// `epoch` is the epoch of the caller's leadership. If it is in force, the lease is extended in it. Every other
    /// grant has a new epoch, even for the incarnation that leads: with `None` the caller requests a new epoch,
    /// because a write that named the old epoch may still happen; with an epoch that is not in force, the answer to
    /// an earlier call was lost.
    async fn lead(
        &self,
        member: &Member,
        epoch: Option<LeaderEpoch>,
        time_to_live: Duration,
    ) -> Result<Leadership, StoreError>;

    /// Forgets the member, and frees the leadership if this incarnation leads; for a clean end. Safe to repeat. A
    /// different incarnation with the same id keeps its registration and leadership.
    async fn resign(&self, member: &Member) -> Result<(), StoreError>;

    /// Every replica seen at most `within` ago, by id.
    async fn members(&self, within: Duration) -> Result<Vec<MemberState>, StoreError>;

    /// Brings the tasks of the configuration into the store, in this order.
    ///
    /// A task takes effect if it is new, or if its declaration differs from the one that last took effect
    /// ([`TaskSpec::declaration`]); an API task with the same name is then replaced, whatever its phase. Otherwise
    /// the changes made over the API last: whether the task is enabled, a different declaration, its deletion. Tasks
    /// of origin `config` that are missing in the configuration are deleted as with [`Store::delete_task`]: a task
    /// with a running run is being deleted until the run has ended, and until then its name is not reused. Returns
    /// these tasks.
    ///
    /// If this disables a task or changes its definition, its queued apply is withdrawn as by [`Store::change_task`].
    async fn replace_config_tasks(
        &self,
        leader: LeaderEpoch,
        tasks: &[TaskSpec],
    ) -> Result<PendingDeletions, LeaderError>;

    /// All visible tasks, including tasks in deletion: tasks of the configuration in its order, then by creation.
    async fn tasks(&self) -> Result<Vec<StoredTask>, StoreError>;

    /// Versions of all visible tasks and of tasks that are being created, by name.
    async fn task_marks(&self) -> Result<Vec<TaskVersion>, StoreError>;

    /// Tasks with these names that are visible or are being created, in any order.
    async fn tasks_named(&self, names: &[TaskName]) -> Result<Vec<StoredTask>, StoreError>;

    /// Reads one visible task.
    async fn task(&self, name: &TaskName) -> Result<Option<StoredTask>, StoreError>;

    /// Begins to create a task of origin `api`, and requests its run.
    async fn create_task(&self, task: &NewTask) -> Result<(), TaskError>;

    /// Changes a visible task, and returns it after the change. Its revision increases if anything is different.
    ///
    /// If this disables the task or changes its definition, queued applies are cancelled and open requests to apply
    /// are refused; with a new definition the task has no last applied input. A running run goes on. If the request
    /// of the change, or its run, exists already, the change was made before: nothing happens. A request with a key that
    /// the task knows is refused as [`TaskError::Requested`].
    async fn change_task(
        &self,
        name: &TaskName,
        change: &TaskChange,
    ) -> Result<StoredTask, TaskError>;

    /// Marks a visible task as being deleted, cancels its queued runs and refuses its open requests.
    ///
    /// The task is removed as soon as none of its runs is running: returns whether the task is already removed. Safe
    /// to repeat until then. Its runs stay, with their events and logs, until [`Store::prune`] forgets them; a later
    /// task with the same name does not get these runs.
    ///
    /// A suspended destruction of the task continues, unless the deletion retains the infrastructure.
    ///
    /// If the [deletion](Deletion) destroys its infrastructure, the task is removed when the destroying run has
    /// succeeded. That run is queued as soon as no other run of the task runs, see [`Store::plan_destruction`].
    async fn delete_task(&self, name: &TaskName, deletion: Deletion) -> Result<bool, TaskError>;

    /// Queues a plan of the destruction that a deletion of a ready task would cause, as a requested run with this id.
    ///
    /// Its input is that of the newest run that applied or may have applied: the last leased one, in database time.
    /// The plan gets the settings in force of the blocks that this input uses. Returns whether such an input exists;
    /// without it nothing is queued. A request with a key that the task knows is refused as [`TaskError::Requested`].
    async fn plan_destruction(
        &self,
        name: &TaskName,
        run: RunId,
        key: Option<RequestKey>,
    ) -> Result<bool, TaskError>;

    /// Releases a task that the shrink limit blocks: the current instances of the services that block the task count
    /// as applied from now on.
    ///
    /// Returns the block, or `None` if the task was not blocked. The leader notices the change by the task's
    /// [version](TaskVersion::held) and evaluates the task again.
    ///
    /// With `seen`, releases only if no more is lost than the caller has seen.
    async fn release_task(
        &self,
        name: &TaskName,
        seen: Option<&[Loss]>,
    ) -> Result<Option<Blocked>, TaskError>;

    /// Reads the record of the Terraform state of a visible task. The record is removed with the task: a later task
    /// with the same name starts without a record.
    async fn terraform_state(&self, name: &TaskName) -> Result<Option<StateRecord>, StoreError>;

    /// Stores a decision about the Terraform state of a task, for its next apply or destruction, and returns the
    /// record of the state.
    ///
    /// A queued apply or destruction of the task is due at once. Without such a run, a run with this id is requested
    /// if the task is enabled.
    ///
    /// [`StateDecision::Keep`] answers a conflict, and is refused without a conflict. A decision to take over the
    /// state of a task that still exists is refused.
    async fn decide_terraform_state(
        &self,
        name: &TaskName,
        decision: &StateDecision,
        run: RunId,
    ) -> Result<StateRecord, TaskError>;

    /// Forgets the discarded task that `run` was to create. Does nothing without such a task.
    async fn drop_draft(&self, name: &TaskName, run: RunId) -> Result<(), StoreError>;

    /// The open requests, oldest first.
    async fn requests(&self) -> Result<Vec<RunRequest>, StoreError>;

    /// Reads one request, open or refused.
    ///
    /// The request is removed when its run is queued: a waiting caller reads the request first and then the run; if
    /// neither exists, the task was removed before the run was queued.
    async fn request(&self, run: RunId) -> Result<Option<RunRequest>, StoreError>;

    /// The run of the task whose request has this key, requested or among the newest 256 of the task, and its kind.
    async fn requested(
        &self,
        task: &TaskName,
        key: RequestKey,
    ) -> Result<Option<(RunId, RunKind)>, StoreError>;

    /// Refuses an open request and discards the task that the request was to create. Does nothing without such a
    /// request.
    async fn refuse(
        &self,
        leader: LeaderEpoch,
        run: RunId,
        refused: &Refused,
    ) -> Result<(), LeaderError>;

    /// Removes every task with its runs, events and logs, and the API's deletions of configured tasks
    /// (`-reset-storage`).
    ///
    /// The removed rows, if any, can be read in an archive with this id; the newest
    /// [`ARCHIVES_KEPT`](crate::ARCHIVES_KEPT) archives are kept. A store may move the runs into the archive in
    /// parts: after a failure the tasks are gone, and the next reset moves the rest into a separate archive.
    ///
    /// A task with a running run is being deleted instead, as with [`Store::delete_task`], and that run stays.
    /// Returns these tasks.
    async fn reset_tasks(
        &self,
        leader: LeaderEpoch,
        archive: ArchiveId,
    ) -> Result<PendingDeletions, LeaderError>;

    /// Archives of resets, newest first.
    async fn archives(&self) -> Result<Vec<Archive>, StoreError>;

    /// Rows of an archive after position `after`, at most `limit`, in their order; empty if the archive does not
    /// exist.
    async fn archived_rows(
        &self,
        archive: ArchiveId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<ArchivedRow>, StoreError>;

    /// Notes, for each of these tasks, why it ran or does not run. The caller defines the text. Unknown tasks are
    /// skipped.
    async fn explain(
        &self,
        leader: LeaderEpoch,
        explanations: &[(TaskName, String)],
    ) -> Result<(), LeaderError>;

    /// Reads the last explanation of a visible task.
    async fn explanation(&self, name: &TaskName) -> Result<Option<String>, StoreError>;

    /// The newest checks of these tasks, in any order; tasks without a check are left out.
    async fn checks(&self, names: &[TaskName]) -> Result<Vec<(TaskName, TaskCheck)>, StoreError>;

    /// Opaque version of [`Store::task_states`]. Changes whenever the states may have changed, and may change
    /// spuriously.
    ///
    /// A caller that reads first the version and then the states can use these states while the version is unchanged.
    /// Comparable only with other versions of this store. A [prune](Store::prune) that keeps fewer runs than a status
    /// is made of ([`cts_core::EVENTS_KEPT`]) need not change the version.
    async fn version(&self) -> Result<String, StoreError>;

    /// Opaque version of the commits of other processes; `None` where it is not known, or not known now.
    ///
    /// Known for a file. Does not wait for a transaction of this process.
    async fn foreign_version(&self) -> Result<Option<String>, StoreError>;

    /// The states of all visible tasks by name, or only of the tasks with this status.
    async fn task_states(&self, status: Option<TaskStatus>) -> Result<Vec<TaskState>, StoreError>;

    /// The state of one visible task.
    async fn task_state(&self, name: &TaskName) -> Result<Option<TaskState>, StoreError>;

    /// Decides by [`cts_core::runs::decide_enqueue`] whether inputs need runs, and queues these runs.
    ///
    /// A plan is queued regardless of the other runs of the task, even for a disabled task; it affects nothing else.
    /// Every call of a deposed leader is refused, even with an empty batch.
    ///
    /// A check with a [key](EnqueueRequest::check_key) becomes the newest check of its task and keeps its outcome
    /// ([`Store::checks`]).
    ///
    /// A run whose id was requested ([`Store::requests`]) has one attempt. It is queued even if its task is disabled
    /// or being created, and its request is then removed.
    ///
    /// Repeating a request changes nothing: if its run exists already, the answer is
    /// [`Keep`](cts_core::runs::EnqueueDecision::Keep), whatever the status of that run.
    async fn enqueue(
        &self,
        leader: LeaderEpoch,
        requests: Vec<EnqueueRequest>,
    ) -> Result<Vec<Enqueued>, LeaderError>;

    /// Leases the claimed run that has been due longest, of a task without a running run.
    ///
    /// The worker must meet the requirement of the run; the task must be enabled if the run applies and was not
    /// requested. The lease expires after its time to live unless it is renewed. A worker that is known to drain gets
    /// no run; an unknown worker gets any. With [`Claim::checks_settings`], a run with settings is leased only to a
    /// worker that has them, and a run that destroys, or plans a destruction, only if it has settings.
    async fn acquire(&self, claim: &Claim) -> Result<Option<Lease>, StoreError>;

    /// The run of a different task for which this task of a concurrency group waits: a run that is applying, or whose
    /// remote run can still be confirmed on its server.
    async fn holder_of_group(
        &self,
        group: &str,
        task: &TaskName,
    ) -> Result<Option<RunId>, StoreError>;

    /// The leases that were granted to these [calls](Claim::request) of a worker and have not ended.
    async fn grants(
        &self,
        worker: &WorkerId,
        requests: &[String],
    ) -> Result<Vec<(RunId, LeaseEpoch)>, StoreError>;

    /// Ends an attempt as [`cts_core::runs::after_attempt`] decides, with the consequences for its task that
    /// [`cts_core::task_after_run`] decides.
    ///
    /// An expired lease that was not taken back still counts here: the work is done, and no other worker has begun
    /// it.
    ///
    /// A run that goes back to the queue, and a run that follows, gets the settings in force of the blocks that its
    /// input uses. This holds for every end of a lease.
    /// input uses. This holds for every lease that ends, however it ends.
    async fn complete(&self, completion: Completion) -> Result<Completed, LeaseError>;

    /// Cancels a run, by `force` or gently, as [`cts_core::runs::decide_cancel`] decides.
    ///
    /// A queued run and an open request end now; an apply of an existing task ends with this event. For a leased run
    /// the order is noted, for [`HeldLeases::cancel_order`]: the run ends with its attempt, and no other attempt
    /// follows, whatever the outcome of the attempt.
    ///
    /// The input of a cancelled apply is withheld: it gets no run until a newer input comes, the task is enabled or a
    /// run is requested. A destruction is suspended, whether it is queued or leased: its run stays queued and is due
    /// only after the task is deleted again.
    async fn cancel_run(
        &self,
        run: RunId,
        force: bool,
        event: EventId,
    ) -> Result<CancelledRun, CancelError>;

    /// Reads the state of the order to stop a leased run; `None` without an order or a lease.
    async fn cancel_state(&self, run: RunId) -> Result<Option<CancelState>, StoreError>;

    /// Takes back expired leases, first expired first, at most as many as `each` has elements; each lease uses at
    /// most one element.
    ///
    /// Also forgets members and workers that have been silent for a day. A caller that gets back `each.len()` runs
    /// calls again.
    ///
    /// The rules of [`cts_core::runs::after_lost_lease`] decide about the run. The attempt counts as failed with
    /// [`lost_lease_error`](crate::lost_lease_error) if schedulers have served without a gap
    /// ([`longest_pause`](cts_core::lease::longest_pause)) since the lease was last granted or renewed; schedulers
    /// report their service with [`Store::lead`]. A task in deletion is removed if its run was taken back. Also ends
    /// queued runs with an order to stop.
    async fn reap(
        &self,
        leader: LeaderEpoch,
        each: &[ExpiredLeases],
    ) -> Result<Vec<Requeued>, LeaderError>;

    /// Takes back every lease of runs, frees the leadership and forgets members and workers, for a caller that has
    /// made sure that no other process lives: the embedded mode at its start.
    ///
    /// No interrupted attempt counts. The callers that waited for a plan or a requested run are dead as well: such
    /// runs are cancelled, queued or running. Requests, drafts and tasks that are being deleted are removed, except
    /// tasks whose infrastructure is to be destroyed: the destruction goes on. A requested apply of an enabled task
    /// may stand for a change and goes on as an ordinary run ([`cts_core::runs::continues_as_change`]).
    async fn release_all(&self) -> Result<Vec<Requeued>, StoreError>;

    /// Time until the next queued run is due, zero if a run is due now. `None` if no run is queued that a worker with
    /// all capabilities could lease.
    async fn next_due(&self) -> Result<Option<Duration>, StoreError>;

    /// Whether a run is queued or running, also of a disabled task.
    async fn has_open_runs(&self) -> Result<bool, StoreError>;

    /// Amount of waiting work, independent of the capabilities of workers.
    async fn queue_depth(&self) -> Result<QueueDepth, StoreError>;

    /// Ready runs, as defined in [`QueueDepth`], that have been due for at least `due_for`, grouped by their
    /// requirements; longest due first.
    async fn waiting_runs(&self, due_for: Duration) -> Result<Vec<WaitingRuns>, StoreError>;

    /// Makes queued retries of failed inputs due, for enabled tasks with retries, and returns their tasks by name.
    ///
    /// Each task is made due at most once per `at_most_every`. A task whose declaration in the configuration in force
    /// differs is left out until the new declaration has taken effect.
    async fn retry_failed_now(&self, at_most_every: Duration) -> Result<Vec<TaskName>, StoreError>;

    /// Notes that these module bundles are in use, and returns the bundles that are not stored: each once, in the
    /// given order.
    async fn keep_bundles(&self, hashes: &[Digest]) -> Result<Vec<Digest>, StoreError>;

    /// Stores a module bundle under its hash. A bundle that is already stored stays unchanged and counts as in use.
    async fn store_bundle(&self, hash: Digest, bytes: &[u8]) -> Result<(), StoreError>;

    /// The bytes of a module bundle.
    async fn bundle(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// Reads the stored form of a frozen input.
    async fn input(&self, hash: Digest) -> Result<Option<Vec<Digest>>, StoreError>;

    /// Returns for each of these tasks the input that is being applied, else the last applied input; in any order.
    ///
    /// Unlike the input that counts as applied, this input remains after a lease or a failed run. Tasks that were
    /// never applied are left out.
    async fn applied_inputs(
        &self,
        names: &[TaskName],
    ) -> Result<Vec<(TaskName, Digest)>, StoreError>;

    /// Reads the stored contents among these hashes, in any order.
    async fn contents(&self, hashes: &[Digest]) -> Result<Vec<Content>, StoreError>;

    /// Runs, newest first, without the texts of their plans; including runs of tasks that are being created or no
    /// longer exist.
    async fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRecord>, StoreError>;

    /// Causes of runs (docs/runs.md#causes), newest first, with the first names of their tasks: those from `from` on, which
    /// need not exist any more. Only `tasks` are counted and named; `None` for all.
    async fn causes(
        &self,
        from: Option<CauseId>,
        tasks: Option<&[TaskName]>,
        limit: u32,
    ) -> Result<Vec<Cause>, StoreError>;

    /// Sorted names of tasks with runs, with a given prefix and at most this number; including tasks that no longer
    /// exist. Reads about one row for each name.
    async fn tasks_with_runs(
        &self,
        beginning: &str,
        at_most: u32,
    ) -> Result<Vec<TaskName>, StoreError>;

    /// One run.
    async fn run(&self, id: RunId) -> Result<Option<RunRecord>, StoreError>;

    /// The attempts of a run, oldest first: the newest [`ATTEMPTS_RECORDED`](crate::ATTEMPTS_RECORDED).
    /// Empty for an unknown run and for a run that was never leased.
    async fn attempts(&self, id: RunId) -> Result<Vec<AttemptRecord>, StoreError>;

    /// Forgets ended runs beyond `retention`, with their logs and events, and inputs without a run. Returns the
    /// number of forgotten runs.
    ///
    /// Done in small transactions, so that calls do not wait long; finished parts remain if the future is dropped.
    ///
    /// Also forgets plans as data beyond [`APPLY_PLANS_KEPT`](crate::APPLY_PLANS_KEPT) and
    /// [`INSPECTION_PLANS_KEPT`](crate::INSPECTION_PLANS_KEPT), and those of tasks that no longer exist.
    ///
    /// Also forgets causes older than [`CAUSE_AGE`](crate::CAUSE_AGE) and beyond [`CAUSES_KEPT`](crate::CAUSES_KEPT).
    ///
    /// Also forgets discarded drafts and refused requests after [`DRAFTS_KEPT`](crate::DRAFTS_KEPT).
    ///
    /// Also forgets module bundles that were not stored or kept for a week, unless the input of a queued or running
    /// run names them, or an input with which a task can be destroyed. Tasks are not read: the caller keeps the
    /// bundles of its tasks first.
    ///
    /// Also sums up and forgets the [times of changes](Housekeeping::times).
    async fn prune(&self, retention: Retention) -> Result<u64, StoreError>;

    /// Appends lines to the log of a run under a lease of `holder` that counts for [`Store::complete`].
    async fn append_log(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        lines: Vec<LogLine>,
    ) -> Result<(), LeaseError>;

    /// Lines of a run after position `after`, at most `limit`; `None` if the run does not exist.
    async fn read_log(
        &self,
        run: RunId,
        after: u64,
        limit: u32,
    ) -> Result<Option<LogPage>, StoreError>;

    /// Examines lines of a log and returns those that contain a text, each cut after
    /// [`EXCERPT_BYTES`](crate::EXCERPT_BYTES); nothing for an unknown run.
    async fn log_excerpts(&self, wanted: &LogRange) -> Result<LogExcerpts, StoreError>;

    /// Returns which of these logs have lines after the given position, have ended or are gone. One cheap query for
    /// any number of logs, because the query is repeated often.
    async fn moved_logs(&self, read: &[(RunId, u64)]) -> Result<Vec<RunId>, StoreError>;

    /// Publishes hints to other processes. Does nothing for a store that only one process uses, such as a file.
    async fn publish(&self, hints: &[Hint]) -> Result<(), StoreError>;

    /// Hints of all processes from now on, including this process; `None` for a store that only one process can use.
    async fn listen(&self) -> Result<Option<HintStream>, StoreError>;
}
