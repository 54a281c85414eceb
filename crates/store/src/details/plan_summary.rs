//! Numbers of the changes of a plan, for lists and rules.

use cts_core::{ChangeKind, PlanFacts};
use cts_proto::run::v1::PlanCounts;
use serde::{Deserialize, Serialize};

/// Summary of a plan for lists of approvals. Stored as JSON, so members are only added.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanSummary {
    /// Resources that are created.
    #[serde(default)]
    pub created: u32,
    /// Updated in place.
    #[serde(default)]
    pub updated: u32,
    /// Destroyed.
    #[serde(default)]
    pub deleted: u32,
    /// Replaced.
    #[serde(default)]
    pub replaced: u32,
    /// Taken into the state.
    #[serde(default)]
    pub imported: u32,
    /// At another address in the state than before.
    #[serde(default)]
    pub moved: u32,
    /// Removed from the state.
    #[serde(default)]
    pub forgotten: u32,
    /// With unknown actions.
    #[serde(default)]
    pub unknown: u32,
    /// Actions that providers are asked to do.
    #[serde(default)]
    pub invoked: u32,
    /// Put off to a later plan.
    #[serde(default)]
    pub deferred: u32,
    /// Why the plan does not show everything that would be done.
    #[serde(default)]
    pub unclear: Vec<String>,
    /// Where the plan differs from the plan that people were shown before.
    #[serde(default)]
    pub differs: Vec<String>,
}

impl PlanSummary {
    /// The summary of a plan with these numbers.
    pub fn new(counts: &PlanCounts, unclear: &[String]) -> Self {
        Self {
            created: counts.created,
            updated: counts.updated,
            deleted: counts.deleted,
            replaced: counts.replaced,
            imported: counts.imported,
            moved: counts.moved,
            forgotten: counts.forgotten,
            unknown: counts.unknown,
            invoked: counts.invoked,
            deferred: counts.deferred,
            unclear: unclear.to_vec(),
            differs: Vec::new(),
        }
    }

    /// The kinds of its changes, each once.
    pub fn changes(&self) -> impl Iterator<Item = ChangeKind> {
        let numbers = [
            (self.created, ChangeKind::Created),
            (self.updated, ChangeKind::Updated),
            (self.deleted, ChangeKind::Deleted),
            (self.replaced, ChangeKind::Replaced),
            (self.imported, ChangeKind::Imported),
            (self.moved, ChangeKind::Moved),
            (self.forgotten, ChangeKind::Forgotten),
            (self.unknown, ChangeKind::Unknown),
            (self.invoked, ChangeKind::Invoked),
            (self.deferred, ChangeKind::Deferred),
        ];
        let numbers = numbers.into_iter().filter(|(number, _)| *number > 0);
        numbers.map(|(_, kind)| kind)
    }

    /// The facts about the plan that rules decide on, without its fingerprint.
    pub(crate) fn facts(&self) -> PlanFacts {
        let mut facts = PlanFacts::of_changes(self.changes());
        facts.unclear |= !self.unclear.is_empty();
        facts
    }

    /// The numbers. Reads and unchanged resources are not kept.
    pub fn counts(&self) -> PlanCounts {
        PlanCounts {
            created: self.created,
            updated: self.updated,
            deleted: self.deleted,
            replaced: self.replaced,
            imported: self.imported,
            moved: self.moved,
            forgotten: self.forgotten,
            unknown: self.unknown,
            invoked: self.invoked,
            deferred: self.deferred,
            ..PlanCounts::default()
        }
    }
}
