//! The rows that move. Times are microseconds since 1970-01-01 UTC, as stored, so that they arrive unchanged.

use cts_core::runs::{AttemptRecord, Occasion, Plan, RunCause, RunDetails, RunKind, RunStatus};
use cts_core::state::StateRecord;
use cts_core::{
    Blocked, Content, DeliveryAttempt, Digest, Event, InstanceCounts, LeaseEpoch, RemoteRun, RunId,
    RunTrace, TaskCheck, TaskName, TaskOrigin, TaskRemoteRun, TaskSpec,
};

use crate::access_store::{StoredRecord, StoredToken};
use crate::contents::StoredInput;
use crate::model::LogLine;

/// Approximate bytes of a row without long texts.
const SMALL: usize = 256;

/// A task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRow {
    /// Its place.
    pub position: i64,
    /// Distinguishes the tasks that have had this name.
    pub incarnation: u64,
    /// Where it was declared.
    pub origin: TaskOrigin,
    /// Counts its versions.
    pub revision: u64,
    /// Digest of the task's declaration in the configuration that took effect last.
    pub configured: Option<Digest>,
    /// All of it.
    pub spec: TaskSpec,
    /// The applied input, if no lease was granted since.
    pub last_applied: Option<Digest>,
    /// The input that has had its ordinary attempts since the last change.
    pub tried_input: Option<Digest>,
    /// Input of a cancelled run, which has no run until a newer one comes or a run is requested.
    pub cancelled_input: Option<Digest>,
    /// What no apply was leased for yet.
    pub owes_run: Option<Occasion>,
    /// The instances of the input that was applied last, if the task has a shrink limit.
    pub applied_instances: Option<InstanceCounts>,
    /// Instances that an operator has released and that are not applied yet.
    pub released_instances: Option<InstanceCounts>,
    /// Why its newest input is not applied, if the shrink limit blocks the task.
    pub held: Option<Blocked>,
    /// Its record of its Terraform state.
    pub state: StateRecord,
    /// Which runs a refusal of that state keeps waiting, as stored.
    pub state_refused: Option<String>,
    /// The last attempt to apply, by which deliveries are numbered.
    pub last_attempt: Option<DeliveryAttempt>,
    /// Its newest remote run, if it has had one.
    pub remote_run: Option<TaskRemoteRun>,
    /// Its newest check as a disabled task.
    pub last_check: Option<TaskCheck>,
    /// Failed runs since the last success.
    pub failures: u32,
    /// Inputs that needed no run.
    pub skipped: u64,
    /// When it was stored first.
    pub created_at: i64,
    /// When it was stored last.
    pub updated_at: i64,
}

/// A task of the configuration that the API has deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedTaskRow {
    /// Its name.
    pub name: TaskName,
    /// Digest of its declaration in the configuration.
    pub configured: Digest,
    /// When it was deleted.
    pub deleted_at: i64,
}

/// The configuration in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigurationRow {
    /// Counts the decisions.
    pub number: u64,
    /// Fingerprint by which its task blocks are compared, as JSON.
    pub fingerprint: String,
    /// Its task blocks, as JSON.
    pub tasks: String,
    /// Id of the member whose start decided it, or `cts config apply` with its machine.
    pub decided_by: String,
    /// When.
    pub decided_at: i64,
}

/// A frozen input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRow {
    /// Its hash.
    pub hash: Digest,
    /// Its contents.
    pub input: StoredInput,
    /// When it was stored.
    pub created_at: i64,
}

/// A content of inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentRow {
    /// Hash and bytes.
    pub content: Content,
    /// When it was stored.
    pub created_at: i64,
}

/// A run that is not running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Identity.
    pub id: RunId,
    /// The task, which need not be there any more.
    pub task: TaskName,
    /// Distinguishes the tasks that have had this name.
    pub incarnation: u64,
    /// Kind of the run.
    pub kind: RunKind,
    /// Whether it has one attempt only.
    pub no_retry: bool,
    /// Whether this very run was requested.
    pub requested: bool,
    /// Hash of the input.
    pub input: Digest,
    /// Status.
    pub status: RunStatus,
    /// Attempts so far.
    pub attempts: u32,
    /// Errors of the attempts, oldest first.
    pub errors: Vec<String>,
    /// The plan of a successful plan run.
    pub plan: Option<Plan>,
    /// Details of its last attempt, if its worker reported them.
    pub details: Option<RunDetails>,
    /// Its newest remote run, if it has had one.
    pub remote_run: Option<RemoteRun>,
    /// The concurrency group that the remote run keeps.
    pub remote_group: Option<String>,
    /// Number of the last grant of a lease, 0 if there was none.
    pub epoch: LeaseEpoch,
    /// When it is or was due.
    pub due_at: i64,
    /// Begin of the first attempt.
    pub started_at: Option<i64>,
    /// When it ended.
    pub finished_at: Option<i64>,
    /// When it was queued.
    pub created_at: i64,
    /// When it was changed last.
    pub updated_at: i64,
    /// Caller that requested it, for display.
    pub requested_by: Option<String>,
    /// Its trace, if it has one.
    pub trace: Option<RunTrace>,
    /// Its cause, if that is known.
    pub cause: Option<RunCause>,
    /// Records of its attempts, oldest first. The attempt that the move cuts off is not among them.
    pub attempt_records: Vec<AttemptRecord>,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Its place among all events.
    pub position: i64,
    /// The event.
    pub event: Event,
    /// Distinguishes the tasks that have had this name.
    pub incarnation: u64,
}

/// An event of a tick that found nothing new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickEventRow {
    /// The event.
    pub event: Event,
    /// Counts the ticks of the task.
    pub number: u64,
    /// Position of the newest event of a run of the task at that time; 0 without one.
    pub after: i64,
}

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLineRow {
    /// The run.
    pub run: RunId,
    /// Its place in the run's log, from 1.
    pub position: i64,
    /// The line.
    pub line: LogLine,
}

/// A module bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleRow {
    /// Its hash.
    pub hash: Digest,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// When it was stored.
    pub created_at: i64,
    /// When it was in use last.
    pub used_at: i64,
}

impl TaskRow {
    /// Approximate size of a specification, because the real one is not known without encoding it; few are
    /// large.
    #[expect(clippy::unused_self, reason = "as for the other rows")]
    pub(super) const fn size(&self) -> usize {
        16 * SMALL
    }
}

impl DeletedTaskRow {
    #[expect(clippy::unused_self, reason = "as for the other rows")]
    pub(super) const fn size(&self) -> usize {
        SMALL
    }
}

impl ConfigurationRow {
    pub(super) const fn size(&self) -> usize {
        SMALL + self.fingerprint.len() + self.tasks.len()
    }
}

impl InputRow {
    pub(super) const fn size(&self) -> usize {
        match &self.input {
            StoredInput::Contents(_hashes) => SMALL,
            StoredInput::OnePiece(bytes) => SMALL + bytes.len(),
        }
    }
}

impl ContentRow {
    pub(super) const fn size(&self) -> usize {
        SMALL + self.content.bytes.len()
    }
}

impl RunRow {
    pub(super) fn size(&self) -> usize {
        let plan = self.plan.as_ref().map_or(0, |plan| plan.text.len());
        let details = self.details.as_ref().map_or(0, details_size);
        let records = SMALL * self.attempt_records.len();
        SMALL + plan + details + records + self.errors.iter().map(String::len).sum::<usize>()
    }
}

/// Details are bounded; only their texts count.
fn details_size(details: &RunDetails) -> usize {
    let changes = details.findings.changes.iter();
    let diagnostics = details.findings.diagnostics.iter();
    changes.map(|change| change.address.len()).sum::<usize>()
        + diagnostics
            .map(|it| it.detail.len() + it.snippet.len() + SMALL)
            .sum::<usize>()
}

impl EventRow {
    pub(super) fn size(&self) -> usize {
        2 * SMALL + self.event.error.as_ref().map_or(0, String::len)
    }
}

impl StoredToken {
    #[expect(clippy::unused_self, reason = "as for the other rows")]
    pub(super) const fn size(&self) -> usize {
        2 * SMALL
    }
}

impl StoredRecord {
    #[expect(clippy::unused_self, reason = "as for the other rows")]
    pub(super) const fn size(&self) -> usize {
        4 * SMALL
    }
}

impl TickEventRow {
    #[expect(clippy::unused_self, reason = "as for the other rows")]
    pub(super) const fn size(&self) -> usize {
        2 * SMALL
    }
}

impl LogLineRow {
    pub(super) const fn size(&self) -> usize {
        SMALL + self.line.text.len()
    }
}

impl BundleRow {
    pub(super) const fn size(&self) -> usize {
        SMALL + self.bytes.len()
    }
}
