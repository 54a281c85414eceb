//! Events of tasks.

use chrono::{DateTime, Utc};
use cts_core::runs::RunCause;
use cts_core::{EventConfig, EventId, RunId, TaskName};
use cts_proto::run::v1::ResourceCounts;

/// The outcome of one finished run, regardless of the number of attempts; or of a tick of a schedule without changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Identity.
    pub id: EventId,
    /// The task.
    pub task_name: TaskName,
    /// The run that ended; `None` for a tick.
    pub run_id: Option<RunId>,
    /// Whether the input was applied.
    pub success: bool,
    /// Start of the first attempt.
    pub start_time: DateTime<Utc>,
    /// End of the last attempt.
    pub end_time: DateTime<Utc>,
    /// Failures of the attempts, newest first; `None` on success.
    pub error: Option<String>,
    /// Changed resources, if the worker reported them.
    pub resources: Option<ResourceCounts>,
    /// Address of the remote run of the last attempt, if any.
    pub remote_url: Option<String>,
    /// Caller that requested the run, for display; `None` if a change of data caused it.
    pub requested_by: Option<String>,
    /// The cause of the run, if known; `None` for a requested run.
    pub cause: Option<RunCause>,
    /// Settings at the time of the run.
    pub config: EventConfig,
}
