//! Values that go into the store and come out of it.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::{
    AttemptOutcome, EarlyFailure, EnqueueDecision, Occasion, Plan, RunCause, RunDetails, RunKind,
    RunKinds, RunPhase, RunStatus, failure_text,
};
use cts_core::state::{StateConflict, StateRecord, TerraformState};
use cts_core::{
    Blocked, Capabilities, Delivery, Digest, Event, EventId, FrozenInput, InstanceCounts,
    LeaseEpoch, Loss, RemoteRun, RunId, RunTrace, ShrinkLimit, TaskName, TaskStatus, TaskTimeouts,
    WorkerId,
};

use crate::task::Refused;

/// Ended plans kept of each task, and as many checks, at most: they are worth little when they are old, and
/// plans are large.
pub const PLANS_KEPT: u32 = 20;

/// Lost leases of a task that are shown, at most.
pub const LOST_LEASES_SHOWN: u32 = 5;

/// A frozen input that may need a run.
#[derive(Debug, Clone)]
pub struct EnqueueRequest {
    /// The task.
    pub task: TaskName,
    /// The input.
    pub input: FrozenInput,
    /// Id for a new run. A plan is always a new run, and so is a run that was requested under this id.
    pub run: RunId,
    /// Kind of the run.
    pub kind: RunKind,
    /// Whether an input that is applied already needs a run. Plans and requested runs ignore this.
    pub unchanged: Unchanged,
    /// The shrink limit and the instances of the input; `None` for a task without a shrink limit.
    pub guarded: Option<Guarded>,
    /// A tick of the task's schedule is the reason: if the input is the applied one, there is an event with this id and
    /// no run.
    pub tick: Option<EventId>,
    /// Key of a check that makes a disabled task ready ([`TaskCheck::key`](cts_core::TaskCheck::key)).
    pub check_key: Option<Digest>,
    /// The trace of a new run; it is linked to the run into which the input is merged. A requested run has the trace of
    /// its request.
    pub trace: Option<RunTrace>,
    /// The cause of a new run; it is merged into the one of the run that gets the input. `None` for a requested run.
    pub cause: Option<RunCause>,
    /// No worker can begin the run, so it fails in the same transaction, and is never leased.
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

/// An input of a task with a shrink limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// The shrink limit.
    pub guard: ShrinkLimit,
    /// The instances of the input.
    pub counts: InstanceCounts,
}

/// Whether an input that is applied already needs a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unchanged {
    /// The task's own `skip_unchanged` says.
    #[default]
    AsTaskSays,
    /// No run: a new leader looks at all tasks, and nothing has changed.
    Skip,
    /// A run: a pass over all tasks was requested.
    Run,
}

/// A worker that could work on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The worker.
    pub worker: WorkerId,
    /// Names the call among those of this worker; empty for a worker that does not name them.
    pub request: String,
    /// Capabilities of the worker; only runs of tasks whose requirement they meet are leased to it.
    pub capabilities: Capabilities,
    /// Only runs of these kinds are leased to it.
    pub kinds: RunKinds,
    /// Only requested runs are leased to it, and none that an earlier process has left.
    pub only_requested: bool,
    /// Only runs whose settings it has are leased to it; false for an earlier version, which does not report them.
    pub checks_settings: bool,
    /// It names a previous backend, where it may look for a state that was refused because no other place was known.
    pub names_previous_backend: bool,
    /// It ends remote runs of runs that are to end; false for an earlier version, which would go on with them.
    pub ends_remote_runs: bool,
    /// Life of the lease.
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
    /// Decision of the rules; `None` if the task is unknown, is being created or deleted, or is disabled and
    /// the run is to apply; a requested run is queued unless its task is being deleted. `None` as well if the
    /// request was refused.
    pub decision: Option<EnqueueDecision>,
    /// The queued run, if the task has one now; for a plan its own run, while that is queued.
    pub queued: Option<RunId>,
    /// A run that was queued and has become pointless.
    pub cancelled: Option<RunId>,
    /// Services that have lost more instances than the shrink limit allows. The task is then blocked, unless
    /// the run was requested for itself.
    pub losses: Vec<Loss>,
    /// Why the request is refused now: the run only accompanies something, and is held.
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
    /// The worker that it was granted to.
    pub holder: WorkerId,
    /// Number of this grant.
    pub epoch: LeaseEpoch,
    /// Hash of the frozen input.
    pub input: Digest,
    /// Number of this attempt, from 1.
    pub attempt: u32,
    /// Time limits of its steps, if the task sets them itself.
    pub timeouts: TaskTimeouts,
    /// The task's record of its Terraform state, without conflict and time.
    pub state: StateRecord,
    /// Delivery to the receivers of webhooks, if the run applies.
    pub delivery: Option<Delivery>,
    /// The trace of the run, if it has one.
    pub trace: Option<RunTrace>,
    /// The run is an ending: its worker only ends its remote run.
    pub ends_remote_run: bool,
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
    /// Whether a further attempt at an apply would fail in the same way, so that none is made.
    pub is_final: bool,
    /// The side that is at fault if the attempt failed before Terraform had started.
    pub early_failure: Option<EarlyFailure>,
    /// Id of the event, if the run ends with one.
    pub event: EventId,
    /// Id of a run that tries a failed input again, if one is needed.
    pub retry_run: RunId,
    /// Random share in `[0, 1)` for waits.
    pub jitter: f64,
    /// The last lines of the attempt's log, stored with its end.
    pub log: Vec<LogLine>,
    /// Details of the attempt, if its worker reported them; they replace those of an earlier attempt.
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
    /// The event, if the run has ended with one.
    pub event: Option<Event>,
    /// Its attempts, unless it has succeeded.
    pub failure: Option<FailedAttempts>,
    /// Number of the attempt.
    pub attempt: u32,
    /// The attempt failed because of its worker's machine, and does not count.
    pub given_back: bool,
    /// Time until this task's next queued run is due, if it has one.
    pub next_due: Option<Duration>,
    /// Whether this created, discarded or removed the task.
    pub tasks_changed: bool,
}

/// Attempts at a run that has not succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAttempts {
    /// Number of the newest one.
    pub attempt: u32,
    /// Errors of the newest ones in the form of an event.
    pub error: String,
}

/// Filter for lists of runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunFilter {
    /// Only those of this task.
    pub task: Option<TaskName>,
    /// Only those of these tasks, which are few. Counts without `task` alone.
    pub tasks: Option<Vec<TaskName>>,
    /// Only those with this status.
    pub status: Option<RunStatus>,
    /// Only runs that are listed after this one, which need not exist any more.
    pub after: Option<RunId>,
    /// No more than so many.
    pub limit: u32,
}

/// Ids and jitter that the store may need to take back one lease, because it makes none itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpiredLeases {
    /// Id of the event, if the run ends with one.
    pub event: EventId,
    /// Id of a run that tries the input again, if one is needed.
    pub retry_run: RunId,
    /// Random share in `[0, 1)` for waits.
    pub jitter: f64,
}

/// Error of an attempt whose lease has expired. For implementations.
pub fn lost_lease_error(worker: &str) -> String {
    format!(
        "worker {worker} lost its lease: it died, stood still or reached no scheduler before it could report how the attempt ended"
    )
}

/// A run that lost its worker: it went back to the queue, or ended because it has lost too many, because a
/// newer run waits, or because no caller waits for it.
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
    /// The worker whose lease has expired; `None` for a run without a lease.
    pub holder: Option<WorkerId>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// Identity.
    pub id: RunId,
    /// The task.
    pub task: TaskName,
    /// Kind of the run.
    pub kind: RunKind,
    /// Whether it is a requested one with a single attempt.
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
    /// Details of its last ended attempt, if its worker reported them; in lists without the findings.
    pub details: Option<RunDetails>,
    /// Condition outside of cts that it waits for while it is running, described to people: also its own end while its
    /// remote run is ended.
    pub waiting_for: Option<String>,
    /// Its newest remote run, if it has had one.
    pub remote_run: Option<RemoteRun>,
    /// When it was queued.
    pub created_at: DateTime<Utc>,
    /// When it is or was due.
    pub due_at: DateTime<Utc>,
    /// When its first attempt began.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Caller that requested it, for display; `None` if a change of data led to it.
    pub requested_by: Option<String>,
    /// The worker that holds its lease, while it is running; `None` also while its remote run is to be ended and no
    /// worker does that.
    pub worker: Option<WorkerId>,
    /// Work of that worker, and since when, as far as it reported that.
    pub phase: Option<(RunPhase, DateTime<Utc>)>,
    /// Its trace, if it has one.
    pub trace: Option<RunTrace>,
    /// Its cause, if its leader noted one.
    pub cause: Option<RunCause>,
}

impl RunRecord {
    /// Whether its remote run is to be ended ([`cts_core::runs::becomes_ending`]), and no worker does that yet.
    pub fn awaits_ending(&self) -> bool {
        awaits_ending(self.status, self.worker.as_ref())
    }

    /// Errors of all attempts in the form of an event: newest first. `None` without errors, or if a later
    /// attempt succeeded.
    pub fn error(&self) -> Option<String> {
        error_of(self.status, &self.errors, self.attempts)
    }
}

/// As [`RunRecord::awaits_ending`], of a run with this status and worker.
pub(crate) fn awaits_ending(status: RunStatus, worker: Option<&WorkerId>) -> bool {
    status == RunStatus::Running && worker.is_none()
}

/// As [`RunRecord::error`], of a run with this status and these attempts.
pub(crate) fn error_of(status: RunStatus, errors: &[String], attempts: u32) -> Option<String> {
    if errors.is_empty() || status == RunStatus::Succeeded {
        return None;
    }
    let unfinished = u32::from(status == RunStatus::Running);
    let failed = attempts.saturating_sub(unfinished);
    Some(failure_text(errors, failed))
}

/// The state of a task by its newest events.
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
    /// Reason of the apply that the task owes: no apply was leased since it was due.
    pub owes_run: Option<Occasion>,
    /// Error of the newest check of a disabled task, if it has failed.
    pub check_error: Option<String>,
    /// Conflict of its Terraform state that nothing decides yet, and when it was found.
    pub conflict: Option<(StateConflict, DateTime<Utc>)>,
}

/// Stream of Terraform that a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl LogStream {
    /// The stored spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// One line of a run's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The stream.
    pub stream: LogStream,
    /// The text without the line break.
    pub text: String,
}

/// A part of a run's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    /// Position of the last line, to go on from; the given position without a line.
    pub position: u64,
    /// Lines in order.
    pub lines: Vec<LogLine>,
    /// The run has ended, so that no line will follow those stored.
    pub ended: bool,
}

/// Limits for keeping ended runs, see [`Store::prune`](crate::Store::prune).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Number of runs kept of each task, and of all earlier tasks of a name together: the newest stay. Plans,
    /// checks and cancelled runs, which have no event, are counted apart, so that they push out no result; at
    /// most [`PLANS_KEPT`](crate::PLANS_KEPT) plans and checks stay. Unless this is 0, an existing task also
    /// keeps the run that it applied last, however many failed since: its
    /// [input](crate::Store::applied_inputs) may still be needed.
    pub runs: u32,
    /// Runs that ended longer ago than this are removed too. An existing task keeps the newest results, from
    /// which its status is made: [`EVENTS_KEPT`](cts_core::EVENTS_KEPT).
    pub age: Duration,
}

impl Retention {
    /// By number only, however old they are.
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
