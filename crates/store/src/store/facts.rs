//! Facts about tasks that schedulers show, read incrementally.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cts_core::TaskName;
use cts_core::runs::{RunKind, RunPhase, RunStatus};
use cts_core::{RunId, WorkerId};

use crate::error::StoreError;
use crate::model::{RunRecord, TaskState, awaits_ending};

/// Facts about tasks for callers that cache them, as a trait of every store. Every method is one transaction, like
/// those of [`Store`](crate::Store).
///
/// A caller reads the changes first, then the facts of the changed tasks. The facts may be newer than the position,
/// but are never older.
#[async_trait]
pub trait FactStore {
    /// Returns the tasks whose facts may have changed after this position; all tasks without a position.
    ///
    /// A position is valid for this store; after a failover of the database it may miss changes. A
    /// [prune](crate::Store::prune) that keeps fewer runs than a status is made of is the only change of facts that
    /// is not reported.
    async fn changed_tasks(&self, after: Option<&str>) -> Result<ChangedTasks, StoreError>;

    /// The facts of the visible tasks among these, by name.
    async fn task_facts(&self, names: &[TaskName]) -> Result<Vec<TaskFacts>, StoreError>;

    /// All queued and running runs, the queued ones first.
    async fn shown_runs(&self) -> Result<Vec<ShownRun>, StoreError>;
}

/// Tasks that may have changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedTasks {
    /// Opaque: the position of the newest change.
    pub position: String,
    /// Number of all tasks, including invisible tasks. A caller that caches more names has missed a deletion.
    pub tasks: usize,
    /// The tasks, in any order. Deleted ones are left out.
    pub names: Vec<TaskName>,
}

/// The stored facts that are shown of a visible task, without its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFacts {
    /// Its state, derived from its newest events.
    pub state: TaskState,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The last explanation noted by the leader ([`Store::explanation`](crate::Store::explanation)).
    pub explanation: Option<String>,
}

/// A run that has not ended, as shown in the state of its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownRun {
    /// Identity.
    pub id: RunId,
    /// The task.
    pub task: TaskName,
    /// Kind of the run.
    pub kind: RunKind,
    /// Status.
    pub status: RunStatus,
    /// Condition outside of cts for which the run waits while it is leased.
    pub waiting_for: Option<String>,
    /// See [`RunRecord::awaits`].
    pub awaits: Option<String>,
    /// Due time.
    pub due_at: DateTime<Utc>,
    /// Start of its first attempt.
    pub started_at: Option<DateTime<Utc>>,
    /// The worker that holds its lease, while it is running.
    pub worker: Option<WorkerId>,
    /// Activity of that worker and its start, if the worker reported them.
    pub phase: Option<(RunPhase, DateTime<Utc>)>,
    /// See [`RunRecord::error`].
    pub error: Option<String>,
}

impl From<&RunRecord> for ShownRun {
    fn from(run: &RunRecord) -> Self {
        Self {
            id: run.id,
            task: run.task.clone(),
            kind: run.kind,
            status: run.status,
            waiting_for: run.waiting_for.clone(),
            awaits: run.awaits.clone(),
            due_at: run.due_at,
            started_at: run.started_at,
            worker: run.worker.clone(),
            phase: run.phase,
            error: run.error(),
        }
    }
}

impl ShownRun {
    /// See [`RunRecord::awaits_ending`].
    pub fn awaits_ending(&self) -> bool {
        awaits_ending(self.status, self.worker.as_ref())
    }
}
