//! Lineage and serial of a task's Terraform state (docs/rest.md#the-state-of-a-task).

use chrono::{DateTime, FixedOffset};
use serde::{Deserialize, Serialize};

/// Known lineage and serial of a task's Terraform state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownState {
    /// The task.
    pub task: String,
    /// Identity of its known state; `None` before the first apply.
    pub state: Option<StateIdentity>,
    /// Why the last run was refused; `None` if it was not.
    pub conflict: Option<StateConflict>,
    /// A decision that is not carried out yet, `old` or `new`.
    pub keep: Option<String>,
    /// Name of the task whose state the task is to take.
    pub from: Option<String>,
}

/// Identity of a known state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateIdentity {
    /// Identifies a state; all its versions have it in common.
    pub lineage: String,
    /// Increases with each version.
    pub serial: u64,
    /// How often it has moved to a different backend.
    #[serde(default)]
    pub moves: u32,
    /// When it was reported last.
    pub recorded_at: Option<DateTime<FixedOffset>>,
}

/// Two states between which the user decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateConflict {
    /// Why.
    pub reason: String,
    /// When the run was refused.
    pub at: Option<DateTime<FixedOffset>>,
    /// State at the old place.
    pub old: Option<StatePlace>,
    /// State at the new place.
    pub new: Option<StatePlace>,
}

/// State of a workspace in a backend; without a lineage the backend has no state there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatePlace {
    /// Kind of the backend.
    pub backend: String,
    /// The workspace.
    pub workspace: String,
    /// Lineage of the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage: Option<String>,
    /// Its serial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<u64>,
    /// Number of its resources, if they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<u64>,
}

/// Decision about a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StateDecision<'a> {
    /// Which of two states is kept, `old` or `new`.
    Keep(&'a str),
    /// The task takes the state of the task that had this name.
    From(&'a str),
}
