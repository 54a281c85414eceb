//! The trait.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use cts_core::state::{StateDecision, StateRecord};
use cts_core::{
    ArchiveId, Content, Digest, EventId, Hold, LeaderEpoch, LeaseEpoch, Loss, RunId, TaskName,
    TaskSpec, TaskStatus, WorkerId, WorkerRecord,
};
use futures::stream::BoxStream;

use crate::archive::{Archive, ArchivedRow};
use crate::cancel::{CancelState, CancelledRun};
use crate::cluster::{Hint, Leadership, Member, MemberState, QueueDepth, WaitingRuns, WorkerState};
use crate::configuration::{
    AppliedConfiguration, Configuration, ConfigurationInForce, MemberConfiguration, Registered,
};
use crate::contents::StoredInput;
use crate::continuity::Continuity;
use crate::destruction::Deletion;
use crate::error::{CancelError, LeaderError, LeaseError, StoreError, TaskError};
use crate::held_leases::HeldLeases;
use crate::housekeeping::Housekeeping;
use crate::model::{
    Claim, Completed, Completion, EnqueueRequest, Enqueued, Lease, LogLine, LogPage, Requeued,
    Retention, RunFilter, RunRecord, TakeBack, TaskState,
};
use crate::settings::SettingsStore;
use crate::task::{NewTask, Refused, RunRequest, StoredTask, TaskChange, TaskMark, Unfinished};

/// Hints of other processes, for ever; a broken connection is mended inside and shows as [`Hint::Gap`].
pub type HintStream = BoxStream<'static, Hint>;

/// Task, run and event state.
///
/// Every method is one transaction: it has happened wholly when it returns, and not at all when it fails or its future
/// is dropped before the commit. Times are the store's own: no clock of a caller decides when a lease is over.
///
/// Duties that only the leader has take a [`LeaderEpoch`]. It is checked inside the transaction, so
/// that the word of a replica that does not know yet that it was deposed changes nothing (P4).
#[async_trait]
pub trait Store:
    HeldLeases + Housekeeping + SettingsStore + Continuity + Send + Sync + fmt::Debug
{
    /// Makes this incarnation of `member` the leader if there is none, if the leader's lease has expired, or
    /// if it leads already, which then extends its lease to `time_to_live` from now; and notes that it lives, and so
    /// that schedulers serve.
    ///
    /// A member id belongs to one incarnation at a time. Another one takes it over when the first was not
    /// seen for `time_to_live`; until then [`Leadership::id_in_use`] is set and nothing is changed. A lease
    /// is never taken from another incarnation before it expires, whatever its id.
    ///
    /// `epoch` is the one that the caller leads with. If it is in force, the lease is extended in it. Every
    /// other grant has a new epoch, also one to the incarnation that leads: with `None` the caller asks for
    /// that, because a write that named its epoch may still happen, and with another epoch than the one in
    /// force the answer to an earlier call was lost.
    async fn lead(
        &self,
        member: &Member,
        epoch: Option<LeaderEpoch>,
        time_to_live: Duration,
    ) -> Result<Leadership, StoreError>;

    /// Forgets the member, and frees the leadership if this incarnation of it leads; for a clean end. Safe
    /// to repeat. Another incarnation with the same id keeps both.
    async fn resign(&self, member: &Member) -> Result<(), StoreError>;

    /// Every replica seen within the last `within`, just so long ago included, by id.
    async fn members(&self, within: Duration) -> Result<Vec<MemberState>, StoreError>;

    /// Registers the configuration of a member that has started, and decides by [`cts_core::judge`] whether
    /// it takes effect: if every other member that was seen within `time_to_live` has registered one that
    /// agrees with it. Of one that is in force already, other members keep what is stored; a member that is alone
    /// refreshes what it has found out about modules and paths.
    ///
    /// While the verdict is [open](cts_core::Verdict::Open) it is asked again, until `time_to_live` has
    /// passed since the first time; repeating it after that changes nothing.
    async fn register_configuration(
        &self,
        member: &Member,
        configuration: &Configuration,
        time_to_live: Duration,
    ) -> Result<Registered, StoreError>;

    /// Puts a configuration in force without asking other members: if there is none, or, with `replace`, in
    /// any case. Returns the one in force then.
    async fn adopt_configuration(
        &self,
        leader: LeaderEpoch,
        member: &Member,
        configuration: &Configuration,
        replace: bool,
    ) -> Result<ConfigurationInForce, LeaderError>;

    /// Puts a configuration in force without asking members, and returns its number; `None` if the one in force is
    /// another than the one that it was compared with.
    async fn put_in_force(&self, wanted: &AppliedConfiguration) -> Result<Option<u64>, StoreError>;

    /// The configuration in force; `None` if there was none yet, or if it is none that this program understands.
    async fn configuration_in_force(&self) -> Result<Option<ConfigurationInForce>, StoreError>;

    /// The configurations of the members that were seen within the last `within`, by id.
    async fn configurations(
        &self,
        within: Duration,
    ) -> Result<Vec<MemberConfiguration>, StoreError>;

    /// Opaque; another one whenever a configuration was registered or put in force.
    async fn configuration_version(&self) -> Result<String, StoreError>;

    /// Reads the tasks of the configuration into the store, in this order.
    ///
    /// A task takes effect if the configuration declares something else than when it took effect last
    /// ([`TaskSpec::declaration`]), and so does one that is new; one of the same name from the API becomes
    /// it then, in whatever phase. Otherwise what the API has made of it lasts: whether it is enabled, another
    /// declaration, its deletion. Tasks of origin `config` that are no longer there go as with
    /// [`Store::delete_task`]: those of which something runs are being deleted until that has ended, and so
    /// long no other task gets their name. Says what is not finished for that reason.
    ///
    /// What is to be applied of a task that is disabled or defined otherwise by this is withdrawn as by
    /// [`Store::change_task`].
    async fn replace_config_tasks(
        &self,
        leader: LeaderEpoch,
        tasks: &[TaskSpec],
    ) -> Result<Unfinished, LeaderError>;

    /// All tasks that are to be seen, those that are being deleted included: those of the configuration in
    /// its order, then by creation.
    async fn tasks(&self) -> Result<Vec<StoredTask>, StoreError>;

    /// All tasks that are to be seen and those that are being created, by name: only what distinguishes their versions.
    async fn task_marks(&self) -> Result<Vec<TaskMark>, StoreError>;

    /// Those of these tasks that are to be seen or are being created, in any order.
    async fn tasks_named(&self, names: &[TaskName]) -> Result<Vec<StoredTask>, StoreError>;

    /// One task that is to be seen.
    async fn task(&self, name: &TaskName) -> Result<Option<StoredTask>, StoreError>;

    /// Begins to create a task of origin `api`, and requests its run.
    async fn create_task(&self, task: &NewTask) -> Result<(), TaskError>;

    /// Changes a task that is to be seen, and returns it as it is then. Its revision increases if anything is
    /// different.
    ///
    /// What is queued to be applied is cancelled, and open requests to apply are refused, if this disables the
    /// task or gives it another definition; of another definition there is no last applied input. A run that is
    /// running goes on. A change whose request exists already, or its run, was made before: nothing happens.
    async fn change_task(
        &self,
        name: &TaskName,
        change: &TaskChange,
    ) -> Result<StoredTask, TaskError>;

    /// Marks a task that is to be seen as being deleted, cancels what is queued and refuses what is
    /// requested. It goes as soon as nothing of it runs: returns whether it is gone already. Safe to repeat
    /// until then. Its runs stay, with their events and logs, until [`Store::prune`] forgets them; a task that
    /// is made under its name later has none of them.
    ///
    /// A task whose destruction is suspended goes on being destroyed, unless it is to be retained.
    ///
    /// If the [deletion](Deletion) destroys its infrastructure, it goes when the run has succeeded that does. That run is queued
    /// as soon as nothing else of the task runs, see [`Store::plan_destruction`].
    async fn delete_task(&self, name: &TaskName, deletion: Deletion) -> Result<bool, TaskError>;

    /// Queues a plan of what a deletion would destroy of a task that is ready, as a requested run with this id and the
    /// input of its newest run that applied, or may have: the one that was leased last, in database time. It gets the settings in
    /// force of the blocks that this input uses. Returns whether there is one; nothing is queued if not.
    async fn plan_destruction(&self, name: &TaskName, run: RunId) -> Result<bool, TaskError>;

    /// Lets a task go on that a guard holds back: what the services have that hold it counts as applied from now on.
    /// Returns what held it; `None` if nothing did. The leader, which sees it by the task's
    /// [mark](TaskMark::held), is to look at the task again.
    ///
    /// With what the caller has `seen` only if no more is lost than that.
    async fn release_task(
        &self,
        name: &TaskName,
        seen: Option<&[Loss]>,
    ) -> Result<Option<Hold>, TaskError>;

    /// What is known of the Terraform state of a task that is to be seen. It goes with the task: one that is made under its name
    /// later is another one, of whose state nothing is known.
    async fn terraform_state(&self, name: &TaskName) -> Result<Option<StateRecord>, StoreError>;

    /// Stores a decision about the Terraform state of a task, for its next apply or destruction, and returns what is known of it.
    /// What is queued of the task to be applied, or to destroy, is due at once; if there is nothing, and the task is enabled, a run
    /// of this id is requested.
    ///
    /// [`StateDecision::Keep`] answers a conflict, and is refused without one. The state of a task that is there is its own.
    async fn decide_terraform_state(
        &self,
        name: &TaskName,
        decision: &StateDecision,
        run: RunId,
    ) -> Result<StateRecord, TaskError>;

    /// Forgets the discarded task that `run` was to create. Does nothing if there is none.
    async fn drop_draft(&self, name: &TaskName, run: RunId) -> Result<(), StoreError>;

    /// The open requests, the oldest first.
    async fn requests(&self) -> Result<Vec<RunRequest>, StoreError>;

    /// One request, open or refused. It goes when its run is queued: who waits asks for the request first
    /// and then for the run, and if there is neither, its task was removed before the run was queued.
    async fn request(&self, run: RunId) -> Result<Option<RunRequest>, StoreError>;

    /// Refuses an open request; a task that it was to create is discarded. Does nothing if there is none.
    async fn refuse(
        &self,
        leader: LeaderEpoch,
        run: RunId,
        refused: &Refused,
    ) -> Result<(), LeaderError>;

    /// Removes every task with its runs, events and logs, and what the API has deleted of the configuration
    /// (`-reset-storage`). What is removed can be read in an archive of this id, if it was anything;
    /// the newest [`ARCHIVES_KEPT`](crate::ARCHIVES_KEPT) archives are kept. A store may move the runs into it in
    /// parts: after a failure the tasks are gone, and the next reset moves what is left into an archive of its own.
    ///
    /// A task of which something runs is being deleted instead, as with [`Store::delete_task`], and that run
    /// stays. Says which tasks that are.
    async fn reset_tasks(
        &self,
        leader: LeaderEpoch,
        archive: ArchiveId,
    ) -> Result<Unfinished, LeaderError>;

    /// What resets have removed, the newest first.
    async fn archives(&self) -> Result<Vec<Archive>, StoreError>;

    /// Rows of an archive behind the `after`-th, at most `limit`, in their order; none if there is no such archive.
    async fn archived_rows(
        &self,
        archive: ArchiveId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<ArchivedRow>, StoreError>;

    /// Notes, for each of these tasks, why it ran or does not run. The text is the caller's own. Tasks that
    /// are not there are passed over.
    async fn explain(
        &self,
        leader: LeaderEpoch,
        explanations: &[(TaskName, String)],
    ) -> Result<(), LeaderError>;

    /// What was noted last of a task that is to be seen.
    async fn explanation(&self, name: &TaskName) -> Result<Option<String>, StoreError>;

    /// A text that is another one whenever [`Store::task_states`] may give something else. Who reads it first
    /// and the states then has states that are as good as new while it is the same. It may change without
    /// reason, and means nothing but in comparison with another one of this store. Only a [prune](Store::prune) to fewer
    /// runs than a status is made of ([`cts_core::EVENTS_KEPT`]) need not change it.
    async fn version(&self) -> Result<String, StoreError>;

    /// The states of all tasks that are to be seen by name, or of those with one status.
    async fn task_states(&self, status: Option<TaskStatus>) -> Result<Vec<TaskState>, StoreError>;

    /// The state of one task that is to be seen.
    async fn task_state(&self, name: &TaskName) -> Result<Option<TaskState>, StoreError>;

    /// Decides by [`cts_core::runs::decide_enqueue`] whether inputs need runs, and queues them. A plan
    /// is queued whatever else there is, also of a disabled task; nothing else notices it. The word of a
    /// deposed leader is refused whatever it asks for, an empty batch included.
    ///
    /// A run whose id was requested ([`Store::requests`]) has one attempt, and is queued also of a task that is
    /// disabled or being created; its request goes with that.
    ///
    /// Repeating a request changes nothing: one whose run exists already is answered with
    /// [`Keep`](cts_core::runs::EnqueueDecision::Keep), whatever has become of that run.
    async fn enqueue(
        &self,
        leader: LeaderEpoch,
        requests: Vec<EnqueueRequest>,
    ) -> Result<Vec<Enqueued>, LeaderError>;

    /// Leases the run that has been due longest and is one that is claimed, of a task that has none running
    /// and requires nothing that the worker lacks; and that is enabled, if the run applies and was not requested. The
    /// lease expires after its life unless it is renewed.
    /// A worker that is known to drain gets none; one that is not known gets what there is. If the claim says so, a run
    /// with settings is leased only to a worker that has them, and a run that destroys, or plans to, only with settings.
    async fn acquire(&self, claim: &Claim) -> Result<Option<Lease>, StoreError>;

    /// The task of this concurrency group that is applying now, for which the others wait.
    async fn applying_of_group(&self, group: &str) -> Result<Option<TaskName>, StoreError>;

    /// The leases that were granted to these [calls](Claim::request) of a worker and have not ended.
    async fn grants(
        &self,
        worker: &WorkerId,
        requests: &[String],
    ) -> Result<Vec<(RunId, LeaseEpoch)>, StoreError>;

    /// Ends an attempt as [`cts_core::runs::after_attempt`] says, and with it what
    /// [`cts_core::task_after_run`] says of its task. A lease that has expired but was
    /// not taken back is still live here: the work is done, and no other worker has begun it.
    ///
    /// A run that goes back to the queue, and one that follows it, gets the settings in force of the blocks that its input uses; so
    /// it is with every lease that ends, however it ends.
    async fn complete(&self, completion: Completion) -> Result<Completed, LeaseError>;

    /// Cancels a run, by `force` or gently, as [`cts_core::runs::decide_cancel`] says. A queued run ends now, and so does a
    /// request that is open; an apply of a task that is there with this event. Of a leased run the order is noted, for
    /// [`HeldLeases::cancel_order`]: it ends with its attempt, and no other attempt follows, however that ends.
    ///
    /// The input of an apply that was cancelled is withheld: it has no run until a newer one comes, the task is enabled or a run
    /// is requested. A destruction is suspended, whether it is queued or leased: its run stays queued and is not due before
    /// the task is deleted once more.
    async fn cancel_run(
        &self,
        run: RunId,
        force: bool,
        event: EventId,
    ) -> Result<CancelledRun, CancelError>;

    /// What has become of the order to stop a leased run; `None` if there is none, or no lease.
    async fn cancel_state(&self, run: RunId) -> Result<Option<CancelState>, StoreError>;

    /// Takes back leases that have expired, those that ended first first and as many as there are elements in
    /// `each`, one of which each may use; and forgets members and workers that have been silent for a day. A
    /// caller that gets back as many as it has allowed asks again.
    ///
    /// What follows for the run is what [`cts_core::runs::after_lost_lease`] says. An attempt counts, as one that
    /// failed with [`lost_lease_error`](crate::lost_lease_error), if schedulers have served without a gap
    /// ([`longest_pause`](cts_core::lease::longest_pause)) since the lease was granted or renewed last; they say that they do with
    /// [`Store::lead`]. Tasks that are being deleted go if their run was among these. Ends as well queued runs that have an order
    /// to stop, which a scheduler of an earlier version has put back.
    async fn reap(
        &self,
        leader: LeaderEpoch,
        each: &[TakeBack],
    ) -> Result<Vec<Requeued>, LeaderError>;

    /// Takes back every lease of runs, frees the leadership and forgets members and workers, for a caller
    /// that knows that no other process lives: the embedded mode at its start. No attempt that was cut off counts.
    /// The callers that waited for a plan or a requested run are dead as well: those that are queued or were running are
    /// cancelled, and requests, drafts and tasks that are being deleted go, but for those whose infrastructure is to be
    /// destroyed: that goes on. A requested apply of an enabled task
    /// may stand for a change and goes on as an ordinary run ([`cts_core::runs::goes_on_alone`]).
    async fn release_all(&self) -> Result<Vec<Requeued>, StoreError>;

    /// Time until the next queued run is due, zero if one is; `None` if there is none that could be
    /// acquired by a worker that can do everything.
    async fn next_due(&self) -> Result<Option<Duration>, StoreError>;

    /// How much work waits, whatever the workers can do.
    async fn queue_depth(&self) -> Result<QueueDepth, StoreError>;

    /// Ready runs, in the sense of [`QueueDepth`], that have been due for at least `due_for`, by what they
    /// require of a worker; those with the oldest first.
    async fn waiting_runs(&self, due_for: Duration) -> Result<Vec<WaitingRuns>, StoreError>;

    /// Makes queued runs due that wait to try a failed input again, of enabled tasks that want retries, and
    /// returns their tasks by name. Of one task no more often than `at_most_every`, and of none that the configuration in
    /// force declares otherwise until that has taken effect.
    async fn hasten_retries(&self, at_most_every: Duration) -> Result<Vec<TaskName>, StoreError>;

    /// Stores the heartbeat of a worker; returns whether it is to drain, because it
    /// says so itself or [`Store::drain_worker`] has requested it.
    async fn record_heartbeat(&self, worker: &WorkerRecord) -> Result<bool, StoreError>;

    /// Drains a worker for the rest of its life; its next heartbeat is answered so. Returns whether it is known.
    async fn drain_worker(&self, worker: &WorkerId) -> Result<bool, StoreError>;

    /// Forgets a worker that has ended in order. Its leases stay; they expire. Safe to repeat.
    async fn forget_worker(&self, worker: &WorkerId) -> Result<(), StoreError>;

    /// Every worker seen within the last `within`, just so long ago included, by host and id.
    async fn workers(&self, within: Duration) -> Result<Vec<WorkerState>, StoreError>;

    /// Notes that these module bundles are in use, and returns which of them are not stored: each once, in
    /// the order asked.
    async fn keep_bundles(&self, hashes: &[Digest]) -> Result<Vec<Digest>, StoreError>;

    /// Stores a module bundle under its hash, once: what is stored already stays as it is and counts as in use.
    async fn store_bundle(&self, hash: Digest, bytes: &[u8]) -> Result<(), StoreError>;

    /// The bytes of a module bundle.
    async fn bundle(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// What is stored of a frozen input.
    async fn input(&self, hash: Digest) -> Result<Option<StoredInput>, StoreError>;

    /// For each of these tasks the input that is being applied, else the one that was applied last; in any order. A lease
    /// or a failed run does not take it away, unlike the input that counts as applied. Tasks that were never applied are left out.
    async fn applied_inputs(
        &self,
        names: &[TaskName],
    ) -> Result<Vec<(TaskName, Digest)>, StoreError>;

    /// Those of these contents of inputs that are stored, in any order.
    async fn contents(&self, hashes: &[Digest]) -> Result<Vec<Content>, StoreError>;

    /// Runs, the newest first, without the texts of their plans; also those of tasks that are being created, or
    /// are not there any more.
    async fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRecord>, StoreError>;

    /// One run.
    async fn run(&self, id: RunId) -> Result<Option<RunRecord>, StoreError>;

    /// Forgets ended runs, with their logs and events, that `retention` does not keep, and inputs that no run refers to any
    /// more. Returns how many runs went.
    ///
    /// Done in small transactions, so that nothing waits for it long, and what is done stays done if the future is dropped.
    ///
    /// Forgets drafts that were discarded and requests that were refused as well, if that was
    /// [`DRAFTS_KEPT`](crate::DRAFTS_KEPT) ago.
    ///
    /// Forgets module bundles as well that were not stored or kept for a week, unless the input of a queued or running run names
    /// them, or one with which a task can be destroyed. Tasks are not read: the caller keeps the bundles of its tasks
    /// first.
    async fn prune(&self, retention: Retention) -> Result<u64, StoreError>;

    /// Appends lines to the log of a run with a lease of `holder` that is live in the sense of [`Store::complete`].
    async fn append_log(
        &self,
        run: RunId,
        holder: &WorkerId,
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

    /// Which of these logs have lines behind the position beside them, have ended or are gone. One question
    /// however many there are, and a cheap one, because it is asked again and again.
    async fn moved_logs(&self, read: &[(RunId, u64)]) -> Result<Vec<RunId>, StoreError>;

    /// Publishes hints to other processes. Where there can be none, as with a file of one process, nothing happens.
    async fn publish(&self, hints: &[Hint]) -> Result<(), StoreError>;

    /// Hints of all processes from now on, this one included; `None` where there can be no other.
    async fn listen(&self) -> Result<Option<HintStream>, StoreError>;
}
