//! What schedulers show of tasks, read by what has changed.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cts_core::TaskName;
use cts_core::runs::{RunKind, RunPhase, RunStatus};
use cts_core::{RunId, WorkerId};

use crate::error::StoreError;
use crate::model::{RunRecord, TaskState, awaits_ending};

/// Facts about tasks for callers that keep them, as a trait of every store. Every method is one transaction, as those
/// of [`Store`](crate::Store) are.
///
/// A caller reads the changes first, then the facts of the changed tasks. So the facts may be newer than the position,
/// never older.
#[async_trait]
pub trait FactStore {
    /// Tasks of which some fact may have changed after this position; all tasks without one. A position is of this store;
    /// after a failover of its database it may miss changes. Only a [prune](crate::Store::prune) to fewer runs than a
    /// status is made of changes facts without being told.
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
    /// Number of all tasks, also of those that are not visible. A caller that knows more names has missed a deletion.
    pub tasks: usize,
    /// The tasks, in any order. Deleted ones are left out.
    pub names: Vec<TaskName>,
}

/// What is stored of a visible task and shown, besides its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFacts {
    /// Its state by its newest events.
    pub state: TaskState,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// What its leader noted last ([`Store::explanation`](crate::Store::explanation)).
    pub explanation: Option<String>,
}

/// A run that has not ended, as states of tasks show it.
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
    /// Condition outside of cts that it waits for while it is leased.
    pub waiting_for: Option<String>,
    /// When it is or was due.
    pub due_at: DateTime<Utc>,
    /// When its first attempt began.
    pub started_at: Option<DateTime<Utc>>,
    /// The worker that holds its lease, while it is running.
    pub worker: Option<WorkerId>,
    /// Work of that worker, and since when, as far as it reported that.
    pub phase: Option<(RunPhase, DateTime<Utc>)>,
    /// As [`RunRecord::error`].
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
            due_at: run.due_at,
            started_at: run.started_at,
            worker: run.worker.clone(),
            phase: run.phase,
            error: run.error(),
        }
    }
}

impl ShownRun {
    /// As [`RunRecord::awaits_ending`].
    pub fn awaits_ending(&self) -> bool {
        awaits_ending(self.status, self.worker.as_ref())
    }
}
