//! Changes of resources, bounded.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use cts_proto::run::v1::{ResourceAction, ResourceChange, ResourceCounts};
use cts_proto::run_report::CHANGES_KEPT;

/// Maximum of changes whose resources are compared; later changes count as changes of different resources.
const TOLD_APART: usize = 100_000;

/// Changes of one kind: planned or made.
#[derive(Default)]
pub(super) struct Changes {
    kept: Vec<ResourceChange>,
    /// Hashes of further addresses.
    more: HashSet<u64>,
    uncounted: u32,
    /// Number of the changes that were seen individually.
    counted: ResourceCounts,
    /// Counts of Terraform's summary at the end.
    said: Option<ResourceCounts>,
}

impl Changes {
    /// Adds an action at a resource. A resource that is destroyed and created counts as replaced.
    pub(super) fn add(&mut self, address: &str, action: ResourceAction) {
        self.counted.count(action);
        if let Some(known) = self.kept.iter_mut().find(|it| it.address == address) {
            known.action = both(known.action(), action).into();
        } else if self.kept.len() < CHANGES_KEPT {
            self.kept.push(ResourceChange {
                address: address.to_owned(),
                action: action.into(),
            });
        } else if self.more.len() < TOLD_APART {
            let mut hasher = DefaultHasher::new();
            address.hash(&mut hasher);
            self.more.insert(hasher.finish());
        } else {
            self.uncounted = self.uncounted.saturating_add(1);
        }
    }

    /// Takes the counts of Terraform's summary.
    pub(super) const fn say(&mut self, counts: ResourceCounts) {
        self.said = Some(counts);
    }

    /// Adds the imports of `plain`, which an apply does not report as events.
    pub(super) fn with_imports_of(self, plain: Self) -> Self {
        let mut all = Self::default();
        for change in plain.kept {
            if change.action() == ResourceAction::Import {
                all.add(&change.address, change.action());
            }
        }
        let imported = self.counted.imported.saturating_add(all.counted.imported);
        for change in self.kept {
            all.add(&change.address, change.action());
        }
        all.more.extend(self.more);
        Self {
            uncounted: self.uncounted,
            counted: ResourceCounts {
                imported,
                ..self.counted
            },
            said: self.said,
            ..all
        }
    }

    pub(super) fn counts(&self) -> ResourceCounts {
        self.said.unwrap_or(self.counted)
    }

    /// Counts of resources, the kept changes, and the number of further changes.
    pub(super) fn finish(self) -> (ResourceCounts, Vec<ResourceChange>, u32) {
        let more = u32::try_from(self.more.len()).unwrap_or(u32::MAX);
        (
            self.counts(),
            self.kept,
            more.saturating_add(self.uncounted),
        )
    }
}

/// Combines two actions at one resource.
const fn both(first: ResourceAction, second: ResourceAction) -> ResourceAction {
    use ResourceAction::{Create, Delete, Import, Replace};
    match (first, second) {
        (Create, Delete) | (Delete, Create) | (Replace, _) => Replace,
        (Import, other) => other,
        (first, _) => first,
    }
}
