//! Values that a task keeps of its unreadable keys.

use std::sync::Arc;

use cts_core::{HeldKeys, UnreadableKeys, ViewId};

use super::entry::Entry;
use super::kept::Kept;

impl Entry {
    /// Whether each of these unreadable keys of a view has a kept value or is left out.
    pub(super) fn keeps(&self, view: &ViewId, unreadable: &[Arc<str>]) -> bool {
        let covers = |held: &HeldKeys| held.covers(view, unreadable);
        unreadable.is_empty() || self.held_keys().is_some_and(covers)
    }

    pub(super) fn held_keys(&self) -> Option<&HeldKeys> {
        match &self.kept {
            Some(Kept::Of { held, .. }) => Some(held),
            Some(Kept::NeverApplied) | None => None,
        }
    }

    /// Its unreadable keys without a value to keep.
    pub(super) fn left_out(&self) -> &[UnreadableKeys] {
        match &self.kept {
            Some(Kept::Of { left_out, .. }) => left_out,
            Some(Kept::NeverApplied) | None => &[],
        }
    }

    pub(super) fn was_never_applied(&self) -> bool {
        matches!(self.kept, Some(Kept::NeverApplied))
    }
}
