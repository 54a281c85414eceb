//! Record that a task keeps of its state, and reports of workers about it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::spelled;
use crate::words::excerpt::cut;
use crate::words::identity::TaskName;

/// Maximum bytes of a lineage. Terraform's lineages are UUIDs.
pub const LINEAGE_LIMIT: usize = 255;

/// Maximum bytes of a reason of a conflict.
const REASON_LIMIT: usize = 4096;

/// Maximum bytes of the name of a backend or of a workspace.
const NAME_LIMIT: usize = 255;

/// A state was not made by Terraform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the lineage of a state has 1 to {LINEAGE_LIMIT} bytes")]
pub struct InvalidLineage;

/// The identity of an existing Terraform state, with or without resources, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TerraformState {
    /// Equal for all versions of one state.
    pub lineage: String,
    /// Increases with each version.
    pub serial: u64,
    /// Number of its resources, if they were counted. Not a part of its identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<u64>,
}

impl TerraformState {
    /// A state whose resources were not counted.
    pub fn new(lineage: impl Into<String>, serial: u64) -> Result<Self, InvalidLineage> {
        let lineage = lineage.into();
        if lineage.is_empty() || lineage.len() > LINEAGE_LIMIT || lineage.contains('\0') {
            return Err(InvalidLineage);
        }
        Ok(Self {
            lineage,
            serial,
            resources: None,
        })
    }

    /// Whether this is `other` or a later version of it.
    pub fn continues(&self, other: &Self) -> bool {
        self.lineage == other.lineage && self.serial >= other.serial
    }
}

/// The state that a task is known to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownState {
    /// Its lineage.
    pub lineage: String,
    /// Its serial in the last report.
    pub serial: u64,
    /// Its serial at its last move to a different backend: the state left in the old backend has at most this serial.
    pub moved: Option<u64>,
}

impl KnownState {
    /// Whether `state` is the known state, in the last known version or a later one.
    pub fn is_continued_by(&self, state: &TerraformState) -> bool {
        state.lineage == self.lineage && state.serial >= self.serial
    }

    /// Whether `state` was written after this record: a newer version, or a different state. Unless a run has failed
    /// since, the record is then older than the last apply, as after a restore of the database.
    pub fn is_behind(&self, state: &TerraformState) -> bool {
        state.lineage != self.lineage || state.serial > self.serial
    }
}

spelled! {
    /// State with which a task continues, if an operator must decide.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Keep {
        /// The state of the old backend, whatever the new backend contains.
        Old = "old",
        /// The state of the new backend, even if the new backend has no state.
        New = "new",
    }
}

impl Keep {
    /// Parses the spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|keep| keep.as_str() == text)
    }
}

/// State of a backend in one workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateAt {
    /// Kind of the backend, such as "consul".
    pub backend: String,
    /// The workspace.
    pub workspace: String,
    /// The state there, if any.
    #[serde(flatten)]
    pub state: Option<TerraformState>,
}

/// Reason why a run was refused, and the states that its worker saw. Without credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateConflict {
    /// Text for operators.
    pub reason: String,
    /// State at the old place, if known.
    #[serde(default)]
    pub old: Option<StateAt>,
    /// State at the new place, if the worker read it.
    #[serde(default)]
    pub new: Option<StateAt>,
}

impl StateConflict {
    /// Returns the conflict with texts of bounded size.
    #[must_use]
    pub fn bounded(self) -> Self {
        let at = |at: Option<StateAt>| {
            at.map(|at| StateAt {
                backend: bounded(&at.backend, NAME_LIMIT),
                workspace: bounded(&at.workspace, NAME_LIMIT),
                state: at.state,
            })
        };
        Self {
            reason: bounded(&self.reason, REASON_LIMIT),
            old: at(self.old),
            new: at(self.new),
        }
    }
}

/// Cuts a text to a limit, and replaces the character that databases cannot store.
fn bounded(text: &str, limit: usize) -> String {
    cut(text, limit, |character| character == '\0')
}

/// Report of a lease's holder about its task's state, before it applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateReport {
    /// The task continues with the state at its place; `None` without a state there.
    Accepted(Option<TerraformState>),
    /// This state was moved to its place.
    Moved(TerraformState),
    /// The run is refused.
    Refused(StateConflict),
}

/// Decision of an operator about a task's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateDecision {
    /// The state to keep, of the two.
    Keep(Keep),
    /// The task takes over the state of the earlier task with this name.
    From(TaskName),
}

/// Record that a task keeps of its state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StateRecord {
    /// The known state; `None` before the first report.
    pub known: Option<KnownState>,
    /// Number of moves, and of other records after which an initialised directory must be verified again.
    pub moves: u32,
    /// A decision that the next apply carries out.
    pub keep: Option<Keep>,
    /// The next apply takes the state from the workspace of this earlier task.
    pub from: Option<TaskName>,
    /// Reason and time of the last refusal.
    pub conflict: Option<(StateConflict, DateTime<Utc>)>,
    /// Time of the last report of the known state.
    pub recorded_at: Option<DateTime<Utc>>,
}

impl StateRecord {
    /// Whether a decision of an operator still has to be carried out.
    pub const fn is_pending(&self) -> bool {
        self.keep.is_some() || self.from.is_some()
    }
}
