//! A store whose calls fail when the test wants it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::brake::NotedFleet;
use cts_core::callers::{AuditRecord, CallerKind};
use cts_core::lease::{LeaseKey, PlanKey};
use cts_core::runs::RunKind;
use cts_core::runs::{CancelOrder, CurrentPhase, Resumed, WaitEnd};
use cts_core::settings::{ClusterKey, SettingsGeneration};
use cts_core::state::{StateDecision, StateRecord, StateReport};
use cts_core::{
    ApprovalRule, ArchiveId, Blocked, CauseId, Content, Digest, EventId, Incarnation,
    InstanceCounts, JournalEntry, JournalPart, KnownRegistration, LeaderEpoch, LeaseEpoch, Loss,
    LostLease, RemoteRun, RemoteRuns, RequestKey, RunId, TaskCheck, TaskName, TaskSpec, TaskStatus,
    TimesAt, WorkerId, WorkerRecord,
};
use cts_proto::run::v1::Cause;
use cts_store::{
    AccessStore, AppliedConfiguration, Approval, ApprovalDecision, ApprovalError, ApprovalStore,
    Archive, ArchivedRow, AskedPermit, AttemptRecord, BrakeError, BrakeNote, BrakeStore,
    CancelError, CancelState, CancelledRun, ChangedTasks, Claim, Completed, Completion,
    Configuration, ConfigurationInForce, ConfigurationStore, Continuity, Deletion, EnqueueRequest,
    Enqueued, ExpiredLeases, FactStore, FileRules, FirstApply, GivenConsent, Heartbeat, HeldLeases,
    Hint, HintStream, Housekeeping, LastHousekeeping, LeaderError, Leadership, Lease, LeaseError,
    LogExcerpts, LogLine, LogPage, LogRange, Member, MemberConfiguration, MemberState,
    NewStoredSession, NewStoredToken, NewTask, PendingDeletions, PermitAnswer, PlanStore,
    QueueDepth, Refused, Registered, RemoteRunStore, Removed, Requeued, Restoration, RestoredStore,
    Retention, RunFilter, RunRecord, RunRequest, SeenBrake, SessionError, SessionLimits,
    SessionStore, SettingsChange, SettingsStore, Settlement, ShownPlan, ShownRun, SpaceWarnings,
    Store, StoreError, StoredBrake, StoredRecord, StoredSession, StoredSessions, StoredTask,
    StoredToken, TaskChange, TaskError, TaskFacts, TaskState, TaskVersion, Timeline, UnsettledRun,
    Vouched, WaitingRuns, WorkerState, WorkerStore,
};
use cts_store_sqlite::SqliteStore;

/// The failure of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The write does not happen.
    Refused,
    /// The write happens, and its answer is lost.
    AnswerLost,
    /// The write does not happen, and no answer comes.
    Silence,
}

#[derive(Debug, Clone)]
pub(crate) struct FaultyStore {
    inner: Arc<dyn Store>,
    faults: Arc<Mutex<HashMap<&'static str, VecDeque<Fault>>>>,
    calls: Arc<Mutex<HashMap<&'static str, usize>>>,
}

impl FaultyStore {
    pub(crate) fn over(inner: Arc<SqliteStore>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            faults: Arc::default(),
            calls: Arc::default(),
        })
    }

    /// The next calls of `method` go wrong like this, one after the other.
    pub(crate) fn fail(&self, method: &'static str, faults: &[Fault]) {
        let mut all = self.faults.lock().unwrap();
        all.entry(method).or_default().extend(faults);
    }

    /// Whether all faults of `method` have happened.
    pub(crate) fn has_failed(&self, method: &'static str) -> bool {
        let all = self.faults.lock().unwrap();
        all.get(method).is_none_or(VecDeque::is_empty)
    }

    /// How often `method` was called.
    pub(crate) fn calls(&self, method: &'static str) -> usize {
        let calls = self.calls.lock().unwrap();
        calls.get(method).copied().unwrap_or_default()
    }

    /// Later calls succeed.
    pub(crate) fn heal(&self) {
        self.faults.lock().unwrap().clear();
    }

    async fn begin(&self, method: &'static str) -> Result<Option<Fault>, StoreError> {
        *self.calls.lock().unwrap().entry(method).or_default() += 1;
        let fault = {
            let mut all = self.faults.lock().unwrap();
            all.get_mut(method).and_then(VecDeque::pop_front)
        };
        match fault {
            Some(Fault::Refused) => Err(failure()),
            Some(Fault::Silence) => std::future::pending().await,
            fault => Ok(fault),
        }
    }
}

fn failure() -> StoreError {
    StoreError::Database {
        operation: "do what the test does not want",
        source: "the test wants it".into(),
    }
}

macro_rules! faulty {
    ($trait:ident $(with $extra:item)*: $(fn $name:ident(&self $(, $argument:ident: $type:ty)*) -> Result<$answer:ty, $error:ty>;)*) => {
        #[tonic::async_trait]
        impl $trait for FaultyStore {
            $($extra)*

            $(async fn $name(&self $(, $argument: $type)*) -> Result<$answer, $error> {
                let fault = self.begin(stringify!($name)).await?;
                let answer = self.inner.$name($($argument),*).await;
                match fault {
                    Some(_lost) => Err(failure().into()),
                    None => answer,
                }
            })*
        }
    };
}

faulty! {
    FactStore:
    fn changed_tasks(&self, after: Option<&str>) -> Result<ChangedTasks, StoreError>;
    fn task_facts(&self, names: &[TaskName]) -> Result<Vec<TaskFacts>, StoreError>;
    fn shown_runs(&self) -> Result<Vec<ShownRun>, StoreError>;
}

faulty! {
    Continuity:
    fn timeline(&self) -> Result<Timeline, StoreError>;
    fn vouch(&self, part: &JournalPart) -> Result<Vouched, StoreError>;
    fn settle(&self, leader: LeaderEpoch, lease: Duration) -> Result<Settlement, LeaderError>;
}

faulty! {
    RestoredStore:
    fn leader_start(&self) -> Result<Option<String>, StoreError>;
    fn compare_attempts(&self, attempts: &[(JournalEntry, RunId)]) -> Result<Vec<TaskName>, StoreError>;
    fn restoration(&self) -> Result<Restoration, StoreError>;
    fn mark_restored(&self) -> Result<Restoration, StoreError>;
}

faulty! {
    HeldLeases:
    fn lease_key(&self, proposed: &LeaseKey) -> Result<LeaseKey, StoreError>;
    fn held_input(&self, run: RunId, holder: &WorkerId, epoch: LeaseEpoch) -> Result<Digest, LeaseError>;
    fn lost_leases(&self, run: RunId) -> Result<Vec<LostLease>, StoreError>;
    fn renew(&self, run: RunId, holder: &WorkerId, epoch: LeaseEpoch, time_to_live: Duration, phase: Option<CurrentPhase>) -> Result<Option<CancelOrder>, LeaseError>;
    fn cancel_order(&self, run: RunId, holder: &WorkerId, epoch: LeaseEpoch) -> Result<Option<CancelOrder>, LeaseError>;
    fn suspend(&self, run: RunId, holder: &WorkerId, epoch: LeaseEpoch, wait: u32, waiting_for: &str) -> Result<(), LeaseError>;
    fn wait_end(&self, run: RunId, holder: &WorkerId, epoch: LeaseEpoch) -> Result<Option<WaitEnd>, LeaseError>;
    fn record_state(&self, run: RunId, holder: &WorkerId, epoch: LeaseEpoch, report: &StateReport) -> Result<u32, LeaseError>;
    fn resume(&self, run: RunId, holder: &WorkerId, epoch: LeaseEpoch, wait: u32) -> Result<Resumed, LeaseError>;
}

faulty! {
    RemoteRunStore:
    fn record_remote_run(&self, run: RunId, holder: &WorkerId, epoch: LeaseEpoch, remote: &RemoteRun) -> Result<(), LeaseError>;
    fn remote_runs(&self, run: RunId, holder: &WorkerId, epoch: LeaseEpoch) -> Result<RemoteRuns, LeaseError>;
}

faulty! {
    SettingsStore:
    fn cluster_key(&self, proposed: &ClusterKey) -> Result<ClusterKey, StoreError>;
    fn settings(&self) -> Result<Vec<SettingsGeneration>, StoreError>;
    fn change_settings(&self, leader: LeaderEpoch, change: &SettingsChange) -> Result<(), LeaderError>;
    fn unsettled_runs(&self) -> Result<Vec<UnsettledRun>, StoreError>;
}

faulty! {
    ConfigurationStore:
    fn register_configuration(&self, member: &Member, configuration: &Configuration, time_to_live: Duration) -> Result<Registered, StoreError>;
    fn adopt_configuration(&self, leader: LeaderEpoch, member: &Member, configuration: &Configuration, replace: bool) -> Result<ConfigurationInForce, LeaderError>;
    fn put_in_force(&self, wanted: &AppliedConfiguration) -> Result<Option<u64>, StoreError>;
    fn configuration_in_force(&self) -> Result<Option<ConfigurationInForce>, StoreError>;
    fn configurations(&self, within: Duration) -> Result<Vec<MemberConfiguration>, StoreError>;
    fn configuration_version(&self) -> Result<String, StoreError>;
}

faulty! {
    WorkerStore:
    fn record_heartbeat(&self, worker: &WorkerRecord, registration: Option<Digest>) -> Result<Heartbeat, StoreError>;
    fn replace_lives(&self, lives: &[WorkerId]) -> Result<(), StoreError>;
    fn registration(&self, worker: &WorkerId) -> Result<KnownRegistration, StoreError>;
    fn drain_worker(&self, worker: &WorkerId) -> Result<bool, StoreError>;
    fn forget_worker(&self, worker: &WorkerId) -> Result<(), StoreError>;
    fn workers(&self, within: Duration) -> Result<Vec<WorkerState>, StoreError>;
}

faulty! {
    Housekeeping:
    fn last_housekeeping(&self, leader: LeaderEpoch) -> Result<LastHousekeeping, LeaderError>;
    fn end_housekeeping(&self, leader: LeaderEpoch, warned: SpaceWarnings) -> Result<(), LeaderError>;
    fn log_space(&self) -> Result<u64, StoreError>;
    fn remove_logs(&self, bytes: u64) -> Result<Removed, StoreError>;
    fn count_applied(&self, scheduler: Incarnation, runs: &[RunId]) -> Result<(), StoreError>;
    fn times(&self, from: DateTime<Utc>) -> Result<Vec<TimesAt>, StoreError>;
}

faulty! {
    PlanStore:
    fn plan_key(&self, proposed: &PlanKey) -> Result<PlanKey, StoreError>;
    fn record_plan(&self, run: RunId, holder: &WorkerId, epoch: LeaseEpoch, content: &[u8]) -> Result<(), LeaseError>;
    fn recorded_plan(&self, run: RunId) -> Result<Option<Vec<u8>>, StoreError>;
    fn plan_space(&self) -> Result<u64, StoreError>;
    fn remove_plans(&self, bytes: u64) -> Result<Removed, StoreError>;
}

faulty! {
    ApprovalStore:
    fn file_rules(&self, task: Option<&TaskName>) -> Result<FileRules, StoreError>;
    fn permit_apply(&self, run: RunId, holder: &WorkerId, epoch: LeaseEpoch, asked: AskedPermit<'_>) -> Result<PermitAnswer, LeaseError>;
    fn given_consent(&self, run: RunId) -> Result<Option<GivenConsent>, StoreError>;
    fn shown_plan(&self, run: RunId) -> Result<Option<ShownPlan>, StoreError>;
    fn approvals(&self) -> Result<Vec<Approval>, StoreError>;
    fn approval_of(&self, run: RunId, effect: Option<&str>) -> Result<Option<Approval>, StoreError>;
    fn approval_rule(&self, task: &TaskName) -> Result<Option<ApprovalRule>, StoreError>;
    fn decide_approvals(&self, decision: &ApprovalDecision) -> Result<Vec<Approval>, ApprovalError>;
    fn reopen_approvals(&self, task: &TaskName, run: RunId) -> Result<u32, StoreError>;
    fn withdraw_gone(&self, leader: LeaderEpoch) -> Result<Vec<Approval>, LeaderError>;
}

faulty! {
    AccessStore:
    fn audit(&self, records: &[AuditRecord]) -> Result<(), StoreError>;
    fn audit_records(&self, before: Option<u64>, limit: u32) -> Result<Vec<StoredRecord>, StoreError>;
    fn audit_records_after(&self, after: u64, limit: u32) -> Result<Vec<StoredRecord>, StoreError>;
    fn prune_audit(&self, kept_for: Duration, kept: u32) -> Result<u64, StoreError>;
    fn create_token(&self, token: &NewStoredToken) -> Result<bool, StoreError>;
    fn revoke_token(&self, name: &str) -> Result<bool, StoreError>;
    fn tokens(&self) -> Result<Vec<StoredToken>, StoreError>;
}

faulty! {
    SessionStore:
    fn begin_session(&self, session: &NewStoredSession, limits: SessionLimits) -> Result<StoredSession, SessionError>;
    fn end_session(&self, sha256: &[u8; 32]) -> Result<bool, StoreError>;
    fn end_sessions_of(&self, name: &str, kind: Option<CallerKind>) -> Result<u64, StoreError>;
    fn sessions(&self, known: Option<i64>) -> Result<Option<StoredSessions>, StoreError>;
}

faulty! {
    BrakeStore:
    fn brake(&self) -> Result<StoredBrake, StoreError>;
    fn note_brake(&self, leader: LeaderEpoch, releases: u64, fleet: &NotedFleet) -> Result<BrakeNote, LeaderError>;
    fn release_brake(&self, seen: Option<SeenBrake>) -> Result<Option<StoredBrake>, BrakeError>;
    fn applied_instances(&self, names: &[TaskName]) -> Result<Vec<(TaskName, InstanceCounts)>, StoreError>;
    fn first_applies(&self, since: &[(TaskName, DateTime<Utc>)]) -> Result<Vec<(TaskName, DateTime<Utc>, FirstApply)>, StoreError>;
}

faulty! {
    Store with fn recording(&self, record: AuditRecord) -> Arc<dyn Store> {
        Arc::new(Self {
            inner: self.inner.recording(record),
            ..self.clone()
        })
    }:
    fn lead(&self, member: &Member, epoch: Option<LeaderEpoch>, time_to_live: Duration) -> Result<Leadership, StoreError>;
    fn resign(&self, member: &Member) -> Result<(), StoreError>;
    fn members(&self, within: Duration) -> Result<Vec<MemberState>, StoreError>;
    fn replace_config_tasks(&self, leader: LeaderEpoch, tasks: &[TaskSpec]) -> Result<PendingDeletions, LeaderError>;
    fn tasks(&self) -> Result<Vec<StoredTask>, StoreError>;
    fn checks(&self, names: &[TaskName]) -> Result<Vec<(TaskName, TaskCheck)>, StoreError>;
    fn terraform_state(&self, name: &TaskName) -> Result<Option<StateRecord>, StoreError>;
    fn decide_terraform_state(&self, name: &TaskName, decision: &StateDecision, run: RunId) -> Result<StateRecord, TaskError>;
    fn task_marks(&self) -> Result<Vec<TaskVersion>, StoreError>;
    fn tasks_named(&self, names: &[TaskName]) -> Result<Vec<StoredTask>, StoreError>;
    fn task(&self, name: &TaskName) -> Result<Option<StoredTask>, StoreError>;
    fn create_task(&self, task: &NewTask) -> Result<(), TaskError>;
    fn change_task(&self, name: &TaskName, change: &TaskChange) -> Result<StoredTask, TaskError>;
    fn delete_task(&self, name: &TaskName, deletion: Deletion) -> Result<bool, TaskError>;
    fn plan_destruction(&self, name: &TaskName, run: RunId, key: Option<RequestKey>) -> Result<bool, TaskError>;
    fn requested(&self, task: &TaskName, key: RequestKey) -> Result<Option<(RunId, RunKind)>, StoreError>;
    fn release_task(&self, name: &TaskName, seen: Option<&[Loss]>) -> Result<Option<Blocked>, TaskError>;
    fn drop_draft(&self, name: &TaskName, run: RunId) -> Result<(), StoreError>;
    fn requests(&self) -> Result<Vec<RunRequest>, StoreError>;
    fn request(&self, run: RunId) -> Result<Option<RunRequest>, StoreError>;
    fn refuse(&self, leader: LeaderEpoch, run: RunId, refused: &Refused) -> Result<(), LeaderError>;
    fn reset_tasks(&self, leader: LeaderEpoch, archive: ArchiveId) -> Result<PendingDeletions, LeaderError>;
    fn archives(&self) -> Result<Vec<Archive>, StoreError>;
    fn archived_rows(&self, archive: ArchiveId, after: u64, limit: u32) -> Result<Vec<ArchivedRow>, StoreError>;
    fn explain(&self, leader: LeaderEpoch, explanations: &[(TaskName, String)]) -> Result<(), LeaderError>;
    fn explanation(&self, name: &TaskName) -> Result<Option<String>, StoreError>;
    fn version(&self) -> Result<String, StoreError>;
    fn foreign_version(&self) -> Result<Option<String>, StoreError>;
    fn task_states(&self, status: Option<TaskStatus>) -> Result<Vec<TaskState>, StoreError>;
    fn task_state(&self, name: &TaskName) -> Result<Option<TaskState>, StoreError>;
    fn enqueue(&self, leader: LeaderEpoch, requests: Vec<EnqueueRequest>) -> Result<Vec<Enqueued>, LeaderError>;
    fn acquire(&self, claim: &Claim) -> Result<Option<Lease>, StoreError>;
    fn holder_of_group(&self, group: &str, task: &TaskName) -> Result<Option<RunId>, StoreError>;
    fn grants(&self, worker: &WorkerId, requests: &[String]) -> Result<Vec<(RunId, LeaseEpoch)>, StoreError>;
    fn complete(&self, completion: Completion) -> Result<Completed, LeaseError>;
    fn cancel_run(&self, run: RunId, force: bool, event: EventId) -> Result<CancelledRun, CancelError>;
    fn cancel_state(&self, run: RunId) -> Result<Option<CancelState>, StoreError>;
    fn reap(&self, leader: LeaderEpoch, each: &[ExpiredLeases]) -> Result<Vec<Requeued>, LeaderError>;
    fn release_all(&self) -> Result<Vec<Requeued>, StoreError>;
    fn next_due(&self) -> Result<Option<Duration>, StoreError>;
    fn has_open_runs(&self) -> Result<bool, StoreError>;
    fn queue_depth(&self) -> Result<QueueDepth, StoreError>;
    fn waiting_runs(&self, due_for: Duration) -> Result<Vec<WaitingRuns>, StoreError>;
    fn retry_failed_now(&self, at_most_every: Duration) -> Result<Vec<TaskName>, StoreError>;
    fn keep_bundles(&self, hashes: &[Digest]) -> Result<Vec<Digest>, StoreError>;
    fn store_bundle(&self, hash: Digest, bytes: &[u8]) -> Result<(), StoreError>;
    fn bundle(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError>;
    fn input(&self, hash: Digest) -> Result<Option<Vec<Digest>>, StoreError>;
    fn applied_inputs(&self, names: &[TaskName]) -> Result<Vec<(TaskName, Digest)>, StoreError>;
    fn contents(&self, hashes: &[Digest]) -> Result<Vec<Content>, StoreError>;
    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRecord>, StoreError>;
    fn causes(&self, from: Option<CauseId>, tasks: Option<&[TaskName]>, limit: u32) -> Result<Vec<Cause>, StoreError>;
    fn tasks_with_runs(&self, beginning: &str, at_most: u32) -> Result<Vec<TaskName>, StoreError>;
    fn run(&self, id: RunId) -> Result<Option<RunRecord>, StoreError>;
    fn attempts(&self, id: RunId) -> Result<Vec<AttemptRecord>, StoreError>;
    fn prune(&self, retention: Retention) -> Result<u64, StoreError>;
    fn append_log(&self, run: RunId, holder: &WorkerId, epoch: LeaseEpoch, lines: Vec<LogLine>) -> Result<(), LeaseError>;
    fn read_log(&self, run: RunId, after: u64, limit: u32) -> Result<Option<LogPage>, StoreError>;
    fn log_excerpts(&self, wanted: &LogRange) -> Result<LogExcerpts, StoreError>;
    fn moved_logs(&self, read: &[(RunId, u64)]) -> Result<Vec<RunId>, StoreError>;
    fn publish(&self, hints: &[Hint]) -> Result<(), StoreError>;
    fn listen(&self) -> Result<Option<HintStream>, StoreError>;
}
