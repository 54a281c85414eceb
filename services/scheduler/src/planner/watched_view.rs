//! Views that tasks use.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cts_core::{Item, ItemKind, TaskName, Trigger, View, ViewItems, ViewSnapshot, keys_text};

use super::view_problem::ViewProblem;

/// A view that some task uses.
#[derive(Debug)]
pub(super) struct WatchedView {
    pub(super) source: View,
    pub(super) snapshot: Option<ViewSnapshot>,
    /// Keys of the snapshot that cannot be read, sorted.
    pub(super) unreadable: Vec<Arc<str>>,
    /// The items of the snapshot, once an input has needed them.
    pub(super) shown: OnceLock<Arc<ViewItems>>,
    /// Counts its contents.
    pub(super) version: u64,
    pub(super) changed_at: Duration,
    /// Tasks that use the view, each with the changes that run the task.
    pub(super) tasks: BTreeMap<TaskName, Trigger>,
    /// Why changes are not seen now.
    pub(super) problem: Option<ViewProblem>,
}

impl WatchedView {
    /// The items of the snapshot, shared by all inputs with this snapshot.
    pub(super) fn shown(&self) -> Option<Arc<ViewItems>> {
        let snapshot = self.snapshot.as_ref()?;
        let shown = || Arc::new(ViewItems::of(snapshot));
        Some(Arc::clone(self.shown.get_or_init(shown)))
    }

    /// Notes which keys of a snapshot cannot be read. Returns whether they have changed.
    pub(super) fn note_unreadable(&mut self, snapshot: &ViewSnapshot) -> bool {
        if self.source.item_kind() != ItemKind::Keys {
            return false;
        }
        let keys = snapshot.items.values().filter_map(|item| match item {
            Item::UnreadableKey(key) => Some(Arc::clone(key)),
            _ => None,
        });
        let keys = keys.collect();
        std::mem::replace(&mut self.unreadable, keys) != self.unreadable
    }
}

/// The first of these keys, and the number of the remaining keys.
pub(super) fn text_of(keys: &[Arc<str>]) -> String {
    keys_text(keys.iter().map(|key| &**key))
}
