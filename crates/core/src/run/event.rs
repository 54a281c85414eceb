//! Events and the status that follows from them (docs/runs.md#events-and-status, docs/rest.md#task-status).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::engine::hidden::without_secrets;
use crate::run::runs::{ResourceCounts, RunCause};
use crate::task::spec::TaskSpec;
use crate::words::identity::{EventId, RunId, TaskName};

/// Number of newest events that determine a task's status and are shown by default.
pub const EVENTS_KEPT: usize = 5;

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

/// The deprecated `config` member of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventConfig {
    /// Provider ids of the task.
    pub providers: Vec<String>,
    /// Only the deprecated `services` list, else empty.
    pub services: Vec<String>,
    /// Module source; local paths absolute, secrets in URLs replaced.
    pub source: String,
}

impl EventConfig {
    /// Returns the part of a task that its events contain. The module source has no secrets in it.
    pub fn of(task: &TaskSpec) -> Self {
        let definition = &task.definition;
        let providers = definition.providers.iter();
        Self {
            providers: providers.map(ToString::to_string).collect(),
            services: definition.services.clone(),
            source: without_secrets(&definition.module_source).into_owned(),
        }
    }
}

/// Status of a task, derived from its newest events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskStatus {
    /// The newest run was applied.
    Successful,
    /// The newest run failed, and it is the only failure.
    Errored,
    /// The newest run failed, and it is not the only failure.
    Critical,
    /// The task never ran.
    Unknown,
}

impl TaskStatus {
    /// All statuses, in the order of the overall status.
    pub const ALL: [Self; 4] = [
        Self::Successful,
        Self::Errored,
        Self::Critical,
        Self::Unknown,
    ];

    /// Derives the status from the outcomes of the newest [`EVENTS_KEPT`] events, newest first.
    pub fn derive(newest_first: impl IntoIterator<Item = bool>) -> Self {
        let mut outcomes = newest_first.into_iter().take(EVENTS_KEPT);
        match outcomes.next() {
            None => Self::Unknown,
            Some(true) => Self::Successful,
            Some(false) if outcomes.all(|success| success) => Self::Errored,
            Some(false) => Self::Critical,
        }
    }

    /// The spelling of the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Successful => "successful",
            Self::Errored => "errored",
            Self::Critical => "critical",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_five_events_decide() {
        let (ok, x) = (true, false);
        let cases: [(&[bool], TaskStatus); 7] = [
            (&[], TaskStatus::Unknown),
            (&[ok, x, x, x, x], TaskStatus::Successful),
            (&[x], TaskStatus::Errored),
            (&[x, ok, ok, ok, ok], TaskStatus::Errored),
            (&[x, ok, x, ok, ok], TaskStatus::Critical),
            (&[x, x, x, x, x], TaskStatus::Critical),
            (&[x, ok, ok, ok, ok, x], TaskStatus::Errored),
        ];
        for (outcomes, expected) in cases {
            assert_eq!(
                TaskStatus::derive(outcomes.iter().copied()),
                expected,
                "{outcomes:?}"
            );
        }
    }
}
