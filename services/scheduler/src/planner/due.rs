//! Tasks and requests that are to be handled.

use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::{self, RunKind};
use cts_core::{
    CompleteInput, IncompleteInput, Requirement, RunId, ShrinkLimit, TaskDefinition, TaskName,
    ViewId,
};

use super::awaited_reads::UnreadView;
use super::cause::Cause;

/// A run that the API has requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestedRun {
    pub(crate) run: RunId,
    pub(crate) kind: RunKind,
}

/// Why an input is to be frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnqueueReason {
    /// Something has changed.
    Change {
        /// The first since the planner was set up.
        first: bool,
        /// The schedule of the task has ticked.
        tick: bool,
    },
    Request(RequestedRun),
}

/// A task whose input is to be frozen now.
#[derive(Debug)]
pub(crate) struct DueTask {
    pub(crate) definition: Arc<TaskDefinition>,
    pub(crate) data: DueData,
    pub(crate) reason: EnqueueReason,
    /// When the first change came that the input stands for.
    pub(crate) changed_at: Duration,
    /// The limit on the instances that the task may lose.
    pub(crate) guard: ShrinkLimit,
    /// The engine that its runs need.
    pub(crate) engine: Requirement,
    /// The changes that triggered the task; `None` for a request.
    pub(crate) cause: Option<Cause>,
    /// The changes in the data since an input was frozen.
    pub(crate) causes: Vec<Arc<runs::Cause>>,
    /// Views that were not read between the triggers and now.
    pub(crate) unread: Vec<UnreadView>,
}

/// The data with which a due task is frozen.
#[derive(Debug)]
pub(crate) enum DueData {
    /// All data that the task depends on.
    Complete(CompleteInput),
    /// Nothing: a disabled task is only checked, and its views are not read.
    NotNeeded,
}

/// A request whose input was not complete in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Overdue {
    pub(crate) task: TaskName,
    pub(crate) requested: RequestedRun,
    /// Missing data; `None` if the data arrived at the last moment.
    pub(crate) incomplete: Option<IncompleteInput>,
    /// A missing view whose data Consul refused, and Consul's error text.
    pub(crate) refusal: Option<(ViewId, String)>,
}

/// Tasks and requests that are to be handled now.
#[derive(Debug, Default)]
pub(crate) struct Due {
    pub(crate) tasks: Vec<DueTask>,
    pub(crate) overdue: Vec<Overdue>,
}
