//! Runs, as they are read.

use std::collections::BTreeMap;

use cts_core::Digest;
use serde::Deserialize;

use crate::document::{Related, Resource, or_default};
use crate::resources::run_phase::RunPhase;
use crate::resources::run_variable::{RunVariable, digests};
use crate::word::Word;

pub type Run = Resource<RunAttributes, RunRelations>;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RunAttributes {
    pub status: Word,
    /// Message of its creator.
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
    /// Whether its plan is applied without confirmation.
    #[serde(default, deserialize_with = "or_default")]
    pub auto_apply: bool,
    /// Digests of its own values by their names; empty if it has none, or if the server does not show them.
    #[serde(default, deserialize_with = "digests")]
    pub variables: BTreeMap<String, Digest>,
    /// Whether the plan has changes; `None` before the plan.
    pub has_changes: Option<bool>,
    /// Possible actions.
    #[serde(default, deserialize_with = "or_default")]
    pub actions: RunActions,
}

/// Actions that the state of a run allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct RunActions {
    /// Whether it can be cancelled.
    pub is_cancelable: bool,
    /// Whether its plan can be confirmed.
    pub is_confirmable: bool,
    /// Whether it can be discarded.
    pub is_discardable: bool,
    /// Whether it can be cancelled by force.
    pub is_force_cancelable: bool,
}

/// Objects that a run is related to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RunRelations {
    pub workspace: Related,
    pub plan: Related,
    pub apply: Related,
}

impl RunAttributes {
    /// Where the run is on its way.
    pub fn phase(&self) -> RunPhase {
        RunPhase::of(self.status.as_str(), self.actions.is_confirmable)
    }

    /// Whether the run has all these values as its own. Servers that have no such values ignore them without a word.
    pub fn has_taken(&self, variables: &[RunVariable]) -> bool {
        let mut variables = variables.iter();
        variables.all(|variable| self.variables.get(&variable.key) == Some(&variable.digest()))
    }
}
