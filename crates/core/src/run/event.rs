//! Events and the status that follows from them (docs/runs.md#events-and-status, docs/rest.md#task-status).

use serde::{Deserialize, Serialize};

use crate::engine::hidden::without_secrets;
use crate::spelled;
use crate::task::spec::TaskSpec;

/// Number of newest events that determine a task's status and are shown by default.
pub const EVENTS_KEPT: usize = 5;

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

spelled! {
    /// Status of a task, derived from its newest events.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum TaskStatus {
        /// The newest run was applied.
        Successful = "successful",
        /// The newest run failed, and it is the only failure.
        Errored = "errored",
        /// The newest run failed, and it is not the only failure.
        Critical = "critical",
        /// The task never ran.
        Unknown = "unknown",
    }
}

impl TaskStatus {
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
