//! Tasks as the planner should have them.

use cts_core::{TaskName, TaskSpec};

use super::due::RequestedRun;

/// The effect of changes on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskMode {
    /// Changes run the task.
    Active,
    /// The task is being created: changes are kept until it is created.
    Draft {
        /// Whether changes run the task once it is created.
        enabled: bool,
    },
    /// Changes have no effect: the task is disabled, or only requests run tasks.
    Disabled,
}

impl TaskMode {
    pub(super) const fn is_enabled(self) -> bool {
        matches!(self, Self::Active | Self::Draft { enabled: true })
    }
}

/// A task as it is stored now.
#[derive(Debug)]
pub(crate) struct DesiredTask<'a> {
    pub(crate) name: &'a TaskName,
    /// Absent if it has not changed since the last reconciliation.
    pub(crate) spec: Option<&'a TaskSpec>,
    pub(crate) mode: TaskMode,
    /// A guard holds its newest input back.
    pub(crate) held: bool,
    /// Requests that are open.
    pub(crate) requests: Vec<RequestedRun>,
}
