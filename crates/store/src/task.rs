//! Tasks, and requests for them while the program runs.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::{Accompanied, Occasion, RunKind};
use cts_core::{
    Creation, RequestKey, RunId, TaskActivity, TaskName, TaskOrigin, TaskPhase, TaskSpec,
    Withdrawal, spelled,
};

use crate::details::plan_summary::PlanSummary;
use crate::error::{StoreError, TaskError};

/// Time for which a discarded draft keeps its name in use, so that a waiting caller can read its run.
pub const DRAFTS_KEPT: Duration = Duration::from_secs(30);

/// Reason with which requests are refused when their task is being deleted. For implementations.
pub const DELETED: &str = "the task was deleted";

/// A task as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTask {
    /// The task.
    pub spec: TaskSpec,
    /// Where it was declared.
    pub origin: TaskOrigin,
    /// Its phase between creation and deletion.
    pub phase: TaskPhase,
    /// Number of its version: 1 at creation, incremented with every change of its declaration.
    pub revision: u64,
    /// The run that destroys its infrastructure before the task is removed; `None` if the infrastructure is kept. The
    /// run is queued when no other run of the task runs.
    pub destroy_run: Option<RunId>,
    /// The destroying run was cancelled, and goes on when the task is deleted again.
    pub destruction_suspended: bool,
}

/// Version of a task, without its declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskVersion {
    /// Its name.
    pub name: TaskName,
    /// Distinguishes the successive tasks with this name.
    pub incarnation: u64,
    /// See [`StoredTask::revision`].
    pub revision: u64,
    /// Its phase between creation and deletion.
    pub phase: TaskPhase,
    /// Whether changes run it.
    pub enabled: bool,
    /// Whether the shrink limit blocks its newest input.
    pub held: bool,
}

/// A requested run that the leader has not queued yet. The run gets the newest complete input of the task and one
/// attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRequest {
    /// The id of the future run.
    pub run: RunId,
    /// The task.
    pub task: TaskName,
    /// Kind of the run.
    pub kind: RunKind,
    /// Time of the request.
    pub requested_at: DateTime<Utc>,
    /// Caller that requested the run, for display, if known.
    pub requested_by: Option<String>,
    /// Reason why no run follows; `None` while the request is open.
    pub refused: Option<Refused>,
}

/// Why a request is not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Code of the reason, for decisions of callers.
    pub code: RefusedCode,
    /// Text of the reason, for display.
    pub reason: String,
}

spelled! {
    /// Kinds of reasons for which a request is refused.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum RefusedCode {
        /// The data of its task was not complete in time.
        Incomplete = "incomplete",
        /// No input can be made from the data.
        Unusable = "unusable",
        /// The task was deleted, disabled or changed since the request, or a person has rejected the effect.
        Withdrawn = "withdrawn",
        /// The run only accompanies a change, and the shrink limit or a cancelled input blocks it; the task owes a run.
        Held = "held",
    }
}

/// Tasks that a reading of the configuration, or a reset, must wait for, because one of their runs is running.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PendingDeletions {
    /// Tasks that are being deleted: they are removed as soon as their run has ended. Sorted by name.
    pub deleting: Vec<TaskName>,
    /// Declared tasks that are not stored yet, because an earlier task with the same name is still being deleted:
    /// reading the configuration again stores them. In the order of the configuration.
    pub postponed: Vec<TaskName>,
}

/// A task to be created.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTask {
    /// The task.
    pub spec: TaskSpec,
    /// Effect on the task when its run has ended.
    pub creation: Creation,
    /// Id of the run.
    pub run: RunId,
    /// Kind of the run.
    pub kind: RunKind,
}

/// An effect that an inspection has shown, and that is approved with a [change](TaskChange) of the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownEffect {
    /// The run of the inspection.
    pub inspection: RunId,
    /// Fingerprint of the effect.
    pub effect: String,
    /// Summary of the plan.
    pub summary: PlanSummary,
    /// The caller, for display.
    pub by: String,
}

/// A change of a task and its conditions; the default has neither.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskChange {
    /// Whether changes run the task; `None` keeps the present value, or that of `spec`.
    pub enabled: Option<bool>,
    /// A different declaration with the same name.
    pub spec: Option<TaskSpec>,
    /// Revision that the task must have.
    pub revision: Option<u64>,
    /// Id and kind of a run to request with the change.
    pub request: Option<(RunId, RunKind)>,
    /// Key of the request, from which its id is made; `None` for a request that is made once.
    pub key: Option<RequestKey>,
    /// The requested apply only accompanies this occasion: the shrink limit and a cancelled input block it.
    pub accompanies: Option<Occasion>,
    /// Whether the change requires that the task is not [busy](cts_core::TaskActivity::is_busy).
    pub idle_only: bool,
    /// Approves this effect of the task.
    pub approve: Option<ShownEffect>,
}

impl TaskChange {
    /// Returns the declaration of the task after the change, if the change may be made now. For implementations.
    pub fn accepted(
        &self,
        task: &StoredTask,
        activity: TaskActivity,
    ) -> Result<TaskSpec, TaskError> {
        if activity.phase == TaskPhase::Deleting {
            return Err(if self.idle_only {
                TaskError::Busy
            } else {
                TaskError::Deleting
            });
        }
        if self.revision.is_some_and(|meant| meant != task.revision) {
            return Err(TaskError::Revision {
                current: task.revision,
            });
        }
        if self.idle_only && activity.is_busy() {
            return Err(TaskError::Busy);
        }
        let mut spec = self.spec.clone().unwrap_or_else(|| task.spec.clone());
        if spec.name() != task.spec.name() {
            return Err(TaskError::Store(StoreError::Database {
                operation: "change a task",
                source: "the new declaration is of another task".into(),
            }));
        }
        if let Some(enabled) = self.enabled {
            spec.enabled = enabled;
        }
        Ok(spec)
    }

    /// Reason why queued applies become pointless by this change, if they do.
    ///
    /// A run that was requested for a disabled task stays useful, unless the change disables the task again. For
    /// implementations.
    pub fn withdrawal(&self, before: &TaskSpec, after: &TaskSpec) -> Option<Withdrawal> {
        let disabled = !after.enabled && self.enabled == Some(false);
        let again = disabled.then_some(Withdrawal::Disabled);
        before.withdrawal(after).or(again)
    }

    /// The occasion that the requested apply accompanies. For implementations.
    pub fn accompanied(&self) -> Option<Accompanied> {
        let (_, kind) = self.request?;
        let occasion = self.accompanies.filter(|_| kind.applies())?;
        Some(occasion.into())
    }

    /// Reason with which requests are refused that this change makes pointless. For implementations.
    pub const fn reason(&self) -> &'static str {
        match self.spec {
            Some(_) => "the task was changed",
            None => "the task was disabled",
        }
    }
}
