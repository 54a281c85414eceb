//! The leader's notes as they are stored.

use chrono::{DateTime, Utc};
use cts_core::RunId;
use serde::{Deserialize, Serialize};

/// The leader's notes on a task, as stored: JSON, readable by this version and later versions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct KnownTask {
    pub(super) views: Vec<KnownView>,
    /// Since when the next run waits for one of them, as this leader has seen it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) waits_since: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) buffered_until: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) next_tick: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) decision: Option<KnownDecision>,
}

/// The leader's notes on a view.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct KnownView {
    pub(super) name: String,
    /// A full snapshot has come.
    pub(super) complete: bool,
    #[serde(default)]
    pub(super) revision: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) changed_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub(super) triggers: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<KnownProblem>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unreadable: Option<KnownUnreadable>,
}

/// Keys of a view that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct KnownUnreadable {
    /// The first keys by name, and the number of the remaining keys.
    pub(super) keys: String,
    /// The task was never applied, and waits for their values.
    #[serde(default)]
    pub(super) waits: bool,
    /// Names of the keys that are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) left_out: Option<String>,
}

/// Why changes of a view are not seen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct KnownProblem {
    pub(super) text: String,
    /// Whether all views of the same Consul or watcher have this problem.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) outage: bool,
    pub(super) since: DateTime<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) next_try: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_answer: Option<DateTime<Utc>>,
}

/// The planner's decision on the newest complete input.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct KnownDecision {
    pub(super) kind: DecisionKind,
    pub(super) at: DateTime<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<RunId>,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DecisionKind {
    Queued,
    Merged,
    Unchanged,
    Held,
    Failed,
}

/// The stored text: [`KnownTask`] and when it was written.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Written {
    pub(super) as_of: DateTime<Utc>,
    #[serde(flatten)]
    pub(super) known: KnownTask,
}
