//! Parameters and results of the store.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::{
    AttemptOutcome, Cause, EarlyFailure, EnqueueDecision, Occasion, Plan, RunCause, RunKind,
    RunKinds, RunPhase, RunStatus, failure_text,
};
use cts_core::state::{StateConflict, StateRecord, TerraformState};
use cts_core::{
    Blocked, Capabilities, CauseId, Delivery, Digest, EventId, FrozenInput, IgnoredAttribute,
    InstanceCounts, LeaseEpoch, Loss, RemoteRun, RunId, RunTrace, ShrinkLimit, TaskName,
    TaskStatus, TaskTimeouts, WorkerId,
};
use cts_proto::log::v1::LogLine;
use cts_proto::run::v1::RunDetails;

use crate::event::Event;
use crate::task::Refused;

/// Largest number of ended plans kept of each task, and of checks. Old plans and checks are worth little, and plans
/// are large.
pub const PLANS_KEPT: u32 = 20;

/// Age beyond which a cause is forgotten.
pub const CAUSE_AGE: Duration = Duration::from_hours(7 * 24);

/// Largest number of causes kept.
pub const CAUSES_KEPT: u32 = 100_000;

/// Largest number of lost leases of a task that are shown.
pub const LOST_LEASES_SHOWN: u32 = 5;

/// A frozen input that may need a run.
#[derive(Debug, Clone)]
pub struct EnqueueRequest {
    /// The task.
    pub task: TaskName,
    /// The input.
    pub input: FrozenInput,
    /// Id for a new run. A plan is always a new run, and so is a run that was requested with this id.
    pub run: RunId,
    /// Kind of the run.
    pub kind: RunKind,
    /// Whether an input that is applied already needs a run. Ignored for plans and requested runs.
    pub unchanged: Unchanged,
    /// The limits and the instances of the input; `None` for a task without a shrink limit while the brake of the fleet
    /// is off.
    pub guarded: Option<Guarded>,
    /// Set if a tick of the task's schedule is the reason: if the input is the applied input, an event with this id
    /// is stored instead of a run.
    pub tick: Option<EventId>,
    /// Key of a check that makes a disabled task ready ([`TaskCheck::key`](cts_core::TaskCheck::key)).
    pub check_key: Option<Digest>,
    /// The trace of a new run. If the input is merged into a queued run, the trace is linked to that run. A requested
    /// run has the trace of its request.
    pub trace: Option<RunTrace>,
    /// The cause of a new run. If a queued run gets the input, the causes are merged. `None` for a requested run.
    pub cause: Option<RunCause>,
    /// The causes whose changes are in the input. They are stored with the run, whose cause names them.
    pub causes: Vec<Arc<Cause>>,
    /// Set if no worker can begin the run: the run fails in the same transaction and is never leased.
    pub fails: Option<FailedStart>,
}

/// Why a run fails before it is leased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedStart {
    /// The event of an apply of an existing task.
    pub event: EventId,
    /// The error.
    pub error: String,
}

/// An input that may lose instances.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Guarded {
    /// The shrink limit of the task.
    pub guard: ShrinkLimit,
    /// The instances of the input.
    pub counts: InstanceCounts,
    /// The reference of the brake of the fleet for services of which the input has fewer instances; `None` if there are
    /// none, or the brake is not set.
    pub brake: Option<InstanceCounts>,
    /// The brake holds the run even if it was requested: it belongs to a pass over all tasks.
    pub is_of_pass: bool,
}

/// Whether an input that is applied already needs a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unchanged {
    /// The task's setting `skip_unchanged` decides.
    #[default]
    AsTaskSays,
    /// Without a run: a new leader checks all tasks, and nothing has changed.
    Skip,
    /// With a run: a pass over all tasks was requested.
    Run,
}

/// A worker that could work on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The worker.
    pub worker: WorkerId,
    /// Names the call among the calls of this worker; empty for a worker that does not name its calls.
    pub request: String,
    /// Capabilities of the worker; only runs of tasks whose requirement they meet are leased to it.
    pub capabilities: Capabilities,
    /// Only runs of these kinds are leased to the worker.
    pub kinds: RunKinds,
    /// Only requested runs with a single attempt are leased to the worker, so not the runs left by an earlier
    /// process.
    pub only_requested: bool,
    /// Only runs whose settings the worker has are leased to it. False for a worker that does not report
    /// settings.
    pub checks_settings: bool,
    /// The worker names a previous backend, in which it may look for a state that was refused because no other
    /// backend was known.
    pub names_previous_backend: bool,
    /// The worker can end remote runs. False for a worker that would continue them.
    pub ends_remote_runs: bool,
    /// The worker asks for permission before it applies. Otherwise it gets no run of a task with a rule of approval.
    pub asks_permission: bool,
    /// Time to live of the lease.
    pub time_to_live: Duration,
}

impl Claim {
    /// Whether endings ([`cts_core::runs::becomes_ending`]) are leased to the worker.
    pub fn may_end_remote_runs(&self) -> bool {
        self.ends_remote_runs && self.capabilities.has_remote_driver()
    }
}

/// Result of enqueueing a frozen input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enqueued {
    /// The task.
    pub task: TaskName,
    /// Decision of the rules; `None` if the request was refused or the run cannot be queued.
    ///
    /// A requested run is queued unless its task is being deleted. Other runs need a known task that is not being
    /// created or deleted; a run that applies also needs an enabled task.
    pub decision: Option<EnqueueDecision>,
    /// The queued run of the task, if any; for a plan its own run while that is queued.
    pub queued: Option<RunId>,
    /// A queued run that became pointless and was cancelled.
    pub cancelled: Option<RunId>,
    /// Services that lost more instances than the shrink limit or the brake of the fleet allows. The task is then
    /// blocked, unless the run itself was requested.
    pub losses: Vec<Loss>,
    /// Whether the brake of the fleet is among the reasons.
    pub by_brake: bool,
    /// Why the request was refused: the run only accompanies a change, and the task is blocked or its input withheld.
    pub refused: Option<Refused>,
}

/// The right to work on one run, for a limited time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: TaskName,
    /// Kind of the run.
    pub kind: RunKind,
    /// The worker that holds the lease.
    pub holder: WorkerId,
    /// Number of this grant.
    pub epoch: LeaseEpoch,
    /// Hash of the frozen input.
    pub input: Digest,
    /// Number of this attempt, from 1.
    pub attempt: u32,
    /// Time limits of its steps, if the task sets them.
    pub timeouts: TaskTimeouts,
    /// Attributes that are not part of the effect of its plan.
    pub ignored: Vec<IgnoredAttribute>,
    /// The task's record of its Terraform state, without the conflict and its time.
    pub state: StateRecord,
    /// Delivery to the receivers of webhooks, if the run applies.
    pub delivery: Option<Delivery>,
    /// The trace of the run, if any.
    pub trace: Option<RunTrace>,
    /// The run is an ending: its worker only ends its remote run.
    pub ends_remote_run: bool,
    /// The worker [asks for permission](crate::ApprovalStore::permit_apply) before it applies.
    pub asks_permission: bool,
}

/// The end of an attempt.
#[derive(Debug, Clone)]
pub struct Completion {
    /// The run.
    pub run: RunId,
    /// The worker that holds the lease.
    pub holder: WorkerId,
    /// Epoch of the lease.
    pub epoch: LeaseEpoch,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// Whether a further attempt at an apply would fail in the same way, so that no further attempt is made.
    pub is_final: bool,
    /// The side at fault, if the attempt failed before Terraform started.
    pub early_failure: Option<EarlyFailure>,
    /// Id of the event, if the run ends with an event.
    pub event: EventId,
    /// Id of a run that retries a failed input, if needed.
    pub retry_run: RunId,
    /// Random number in `[0, 1)` that varies waits.
    pub jitter: f64,
    /// The last lines of the attempt's log, stored with its end.
    pub log: Vec<LogLine>,
    /// Details of the attempt, if its worker reported them; they replace the details of an earlier attempt.
    pub details: Option<RunDetails>,
    /// The task's Terraform state after the attempt, if its worker reported it.
    pub state: Option<TerraformState>,
}

/// Result of a completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completed {
    /// The task.
    pub task: TaskName,
    /// Kind of the run.
    pub kind: RunKind,
    /// Status of the run now.
    pub status: RunStatus,
    /// The event, if the run ended with an event.
    pub event: Option<Event>,
    /// Its attempts, unless the run has succeeded.
    pub failure: Option<FailedAttempts>,
    /// Number of the attempt.
    pub attempt: u32,
    /// The attempt failed because of its worker's machine and does not count.
    pub given_back: bool,
    /// Time until the next queued run of the task is due, if any.
    pub next_due: Option<Duration>,
    /// Whether this created, discarded or removed the task, or the reevaluation of the shrink limit changed its
    /// decision.
    pub tasks_changed: bool,
}

/// Attempts at a run that has not succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAttempts {
    /// Number of the newest attempt.
    pub attempt: u32,
    /// Errors of the newest attempts in the form of an event.
    pub error: String,
}

/// Filter for lists of runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunFilter {
    /// Only runs of this task.
    pub task: Option<TaskName>,
    /// Only runs of these tasks, which are few. With `task`, ignored.
    pub tasks: Option<Vec<TaskName>>,
    /// Only runs with this status.
    pub status: Option<RunStatus>,
    /// Only queued runs that wait for the consent of a person, whatever `status` is.
    pub awaits: bool,
    /// Only runs that this cause led to.
    pub cause: Option<CauseId>,
    /// Only runs listed after this run, which need not exist any more.
    pub after: Option<RunId>,
    /// Largest number of runs.
    pub limit: u32,
}

/// Ids and jitter that the store may need to take back one lease; the store generates no ids itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpiredLeases {
    /// Id of the event, if the run ends with an event.
    pub event: EventId,
    /// Id of a run that retries the input, if needed.
    pub retry_run: RunId,
    /// Random number in `[0, 1)` that varies waits.
    pub jitter: f64,
}

/// Error of an attempt whose lease has expired. For implementations.
pub fn lost_lease_error(worker: &str) -> String {
    format!(
        "worker {worker} lost its lease: it died, stood still or reached no scheduler before it could report how the attempt ended"
    )
}

/// A run that lost its worker.
///
/// The run went back to the queue, or ended: it lost too many workers, a newer run waits, or no caller waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requeued {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: TaskName,
    /// Kind of the run.
    pub kind: RunKind,
    /// Its status now: queued, failed or cancelled.
    pub status: RunStatus,
    /// The worker whose lease expired; `None` for a run without a lease.
    pub holder: Option<WorkerId>,
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// Identity.
    pub id: RunId,
    /// The task.
    pub task: TaskName,
    /// Kind of the run.
    pub kind: RunKind,
    /// Whether this is a requested run with a single attempt.
    pub no_retry: bool,
    /// Status.
    pub status: RunStatus,
    /// Hash of the input.
    pub input: Digest,
    /// Attempts so far.
    pub attempts: u32,
    /// Errors of the attempts that failed, oldest first.
    pub errors: Vec<String>,
    /// The plan of a successful plan run.
    pub plan: Option<Plan>,
    /// Details of its last ended attempt, if its worker reported them; lists leave out the findings.
    pub details: Option<RunDetails>,
    /// Condition outside of cts for which a running run waits, as text; also set while its remote run is ended.
    pub waiting_for: Option<String>,
    /// The effect whose consent it waits for ([`ApprovalStore`](crate::ApprovalStore)).
    pub awaits: Option<String>,
    /// Its newest remote run, if any.
    pub remote_run: Option<RemoteRun>,
    /// Time of queueing.
    pub created_at: DateTime<Utc>,
    /// Due time.
    pub due_at: DateTime<Utc>,
    /// Start of its first attempt.
    pub started_at: Option<DateTime<Utc>>,
    /// End of the run.
    pub finished_at: Option<DateTime<Utc>>,
    /// Caller that requested the run, for display; `None` if a change of data caused it.
    pub requested_by: Option<String>,
    /// The worker that holds its lease, while it is running; `None` also while its remote run is to be ended and no
    /// worker has started that.
    pub worker: Option<WorkerId>,
    /// Activity of that worker and its start, if the worker reported them.
    pub phase: Option<(RunPhase, DateTime<Utc>)>,
    /// Its trace, if any.
    pub trace: Option<RunTrace>,
    /// Its cause, if its leader noted a cause.
    pub cause: Option<RunCause>,
}

impl RunRecord {
    /// Whether its remote run is to be ended ([`cts_core::runs::becomes_ending`]) and no worker has started that.
    pub fn awaits_ending(&self) -> bool {
        awaits_ending(self.status, self.worker.as_ref())
    }

    /// Errors of all attempts in the form of an event, newest first. `None` without errors, or if a later attempt
    /// succeeded.
    pub fn error(&self) -> Option<String> {
        error_of(self.status, &self.errors, self.attempts)
    }
}

/// [`RunRecord::awaits_ending`] for a run with this status and worker.
pub(crate) fn awaits_ending(status: RunStatus, worker: Option<&WorkerId>) -> bool {
    status == RunStatus::Running && worker.is_none()
}

/// [`RunRecord::error`] for a run with this status and these attempts.
pub(crate) fn error_of(status: RunStatus, errors: &[String], attempts: u32) -> Option<String> {
    if errors.is_empty() || status == RunStatus::Succeeded {
        return None;
    }
    let unfinished = u32::from(status == RunStatus::Running);
    let failed = attempts.saturating_sub(unfinished);
    Some(failure_text(errors, failed))
}

/// The state of a task, derived from its newest events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskState {
    /// The task.
    pub task: TaskName,
    /// Whether changes run it.
    pub enabled: bool,
    /// Providers of the task.
    pub providers: Vec<String>,
    /// Deprecated list of services of the task.
    pub services: Vec<String>,
    /// Status that results from the newest events.
    pub status: TaskStatus,
    /// At most [`cts_core::EVENTS_KEPT`], newest first.
    pub events: Vec<Event>,
    /// Why its newest input is not applied, if the shrink limit blocks the task.
    pub held: Option<Blocked>,
    /// Reason of the apply that the task owes: since the apply was due, none was leased.
    pub owes_run: Option<Occasion>,
    /// Error of the newest check of a disabled task, if the check failed.
    pub check_error: Option<String>,
    /// Undecided conflict of its Terraform state and the time at which it was found.
    pub conflict: Option<(StateConflict, DateTime<Utc>)>,
}

/// A part of a run's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    /// Position of the last line, to continue from; the given position if the page is empty.
    pub position: u64,
    /// Lines in order.
    pub lines: Vec<LogLine>,
    /// Whether the run has ended, so that no line follows the stored lines.
    pub ended: bool,
}

/// Limits for keeping ended runs, see [`Store::prune`](crate::Store::prune).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Number of runs kept of each task, and of all earlier tasks with a name together: the newest stay.
    ///
    /// Plans, checks and cancelled runs, which have no event, are counted separately, so that they displace no
    /// result; at most [`PLANS_KEPT`](crate::PLANS_KEPT) plans and checks stay. Unless this is 0, an existing task
    /// also keeps the last run that it applied, even if many later runs failed: its
    /// [input](crate::Store::applied_inputs) may still be needed.
    pub runs: u32,
    /// Age from which ended runs are removed too. An existing task keeps the newest results that determine its
    /// status: [`EVENTS_KEPT`](cts_core::EVENTS_KEPT).
    pub age: Duration,
}

impl Retention {
    /// Limits runs by number only, at any age.
    pub const fn of_any_age(runs: u32) -> Self {
        Self {
            runs,
            age: Duration::MAX,
        }
    }
}

/// Runs removed in one transaction.
pub const PRUNED_AT_ONCE: usize = 50;

/// Lines of logs removed in one transaction.
pub const LINES_PRUNED_AT_ONCE: u32 = 10_000;
