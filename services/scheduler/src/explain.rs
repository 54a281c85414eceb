//! Why tasks run or do not: the leader's stored notes, and the answers that any replica makes of them.

mod build;
mod journal;

use chrono::{DateTime, Utc};
use cts_core::RunId;
use serde::{Deserialize, Serialize};

pub(crate) use self::build::{explain, waiting_for};
pub(crate) use self::journal::Journal;

/// The leader's notes on a task, as they are stored: JSON, readable by this version and later ones.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Known {
    views: Vec<KnownView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    buffered_until: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_tick: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decision: Option<KnownDecision>,
}

/// The leader's notes on a view.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct KnownView {
    name: String,
    /// A full snapshot has come.
    complete: bool,
    #[serde(default)]
    revision: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changed_at: Option<DateTime<Utc>>,
    #[serde(default)]
    triggers: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    problem: Option<KnownProblem>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unreadable: Option<KnownUnreadable>,
}

/// Keys of a view that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct KnownUnreadable {
    /// The first keys by name, and the number of further ones.
    keys: String,
    /// The task was never applied, and waits for their values.
    #[serde(default)]
    waits: bool,
    /// Names of the keys that are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
}

/// Why changes of a view are not seen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct KnownProblem {
    text: String,
    since: DateTime<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_try: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_answer: Option<DateTime<Utc>>,
}

/// The planner's decision on the newest complete input.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct KnownDecision {
    kind: DecisionKind,
    at: DateTime<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DecisionKind {
    Queued,
    Merged,
    Unchanged,
    Held,
    Failed,
}

/// The stored text: [`Known`] and when it was written.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    as_of: DateTime<Utc>,
    #[serde(flatten)]
    known: Known,
}
