//! Known data of a task's Terraform state, which the API arranges differently than the wire
//! (docs/rest.md#the-state-of-a-task).

use prost_types::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Word as _, time};
use crate::run::v1::{StateAt, StateKeep};
use crate::task::v1::KnownTerraformState;

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
    #[serde(default, with = "time")]
    pub recorded_at: Option<Timestamp>,
}

/// Two states between which the user decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateConflict {
    /// Why.
    pub reason: String,
    /// When the run was refused.
    #[serde(default, with = "time")]
    pub at: Option<Timestamp>,
    /// State at the old place.
    pub old: Option<StateAt>,
    /// State at the new place.
    pub new: Option<StateAt>,
}

impl KnownState {
    /// Arranges `state` of the task `task`.
    pub fn new(task: String, state: KnownTerraformState) -> Self {
        let known = state.known.unwrap_or_default();
        let keep = Some(known.keep()).filter(|keep| *keep != StateKeep::Unspecified);
        let recorded_at = state.recorded_at;
        Self {
            task,
            keep: keep.map(StateKeep::word),
            from: Some(known.from).filter(|from| !from.is_empty()),
            state: (!known.lineage.is_empty()).then_some(StateIdentity {
                lineage: known.lineage,
                serial: known.serial,
                moves: known.moves,
                recorded_at,
            }),
            conflict: state.conflict.map(|conflict| StateConflict {
                reason: conflict.reason,
                at: state.conflict_at,
                old: conflict.old,
                new: conflict.new,
            }),
        }
    }
}
