//! Snapshots of a view, and the deltas between them.

use std::collections::BTreeMap;

use super::item::{Item, ItemKey};
use crate::words::trace::TraceContext;

/// All items of one view at one time. Items are shared, so that an old snapshot kept for comparison costs only the
/// differences.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ViewSnapshot {
    /// Increases with every change of the items; counted by cts, never Consul's index.
    pub revision: u64,
    /// The items in module order.
    pub items: BTreeMap<ItemKey, Item>,
}

/// The difference between a snapshot and a later snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewDelta {
    /// Revision to which this delta applies; `None` for a full snapshot.
    pub base: Option<u64>,
    /// Revision that results from the delta.
    pub revision: u64,
    /// Items that are new or changed.
    pub upserts: Vec<Item>,
    /// Removed items.
    pub removals: Vec<ItemKey>,
    /// The span of the newest change in the delta; `None` in full snapshots, and without tracing.
    pub trace: Option<TraceContext>,
}

/// A delta does not apply to the present snapshot; a full snapshot must be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the delta builds on revision {base}, but the snapshot at hand is {at_hand:?}")]
pub struct UnknownRevision {
    /// Revision to which the delta applies.
    pub base: u64,
    /// Revision of the present snapshot.
    pub at_hand: Option<u64>,
}

impl ViewSnapshot {
    /// A snapshot of these items; if two items have the same key, the later item counts.
    pub fn new<T: Into<Item>>(revision: u64, items: impl IntoIterator<Item = T>) -> Self {
        let items = items.into_iter().map(Into::into);
        Self {
            revision,
            items: items.map(|item| (item.key(), item)).collect(),
        }
    }

    /// Returns the delta for a subscriber that has `earlier` (or nothing).
    pub fn delta_from(&self, earlier: Option<&Self>) -> ViewDelta {
        let Some(earlier) = earlier else {
            return ViewDelta {
                base: None,
                revision: self.revision,
                upserts: self.items.values().cloned().collect(),
                removals: Vec::new(),
                trace: None,
            };
        };
        let upserts = self
            .items
            .iter()
            .filter(|(key, item)| earlier.items.get(*key) != Some(*item))
            .map(|(_, item)| item.clone())
            .collect();
        let removals = earlier
            .items
            .keys()
            .filter(|key| !self.items.contains_key(*key))
            .cloned()
            .collect();
        ViewDelta {
            base: Some(earlier.revision),
            revision: self.revision,
            upserts,
            removals,
            trace: None,
        }
    }

    /// Whether `delta`, which applies to this snapshot, adds or removes items, instead of only changing items.
    pub fn gets_other_keys(&self, delta: &ViewDelta) -> bool {
        let is_new = |item: &Item| !self.items.contains_key(&item.key());
        !delta.removals.is_empty() || delta.upserts.iter().any(is_new)
    }

    /// Applies `delta` to the snapshot `at_hand`.
    pub fn after(at_hand: Option<Self>, delta: ViewDelta) -> Result<Self, UnknownRevision> {
        let mut snapshot = match delta.base {
            None => Self::default(),
            Some(base) => match at_hand {
                Some(snapshot) if snapshot.revision == base => snapshot,
                other => {
                    return Err(UnknownRevision {
                        base,
                        at_hand: other.map(|s| s.revision),
                    });
                }
            },
        };
        for key in delta.removals {
            snapshot.items.remove(&key);
        }
        for item in delta.upserts {
            snapshot.items.insert(item.key(), item);
        }
        snapshot.revision = delta.revision;
        Ok(snapshot)
    }
}
