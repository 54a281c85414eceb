//! Views that tasks use, and whether the input of a task is complete.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cts_core::{
    CompleteInput, IncompleteInput, Item, ItemKind, TaskName, Trigger, View, ViewId, ViewItems,
    ViewSnapshot, keys_text,
};

use super::entry::Entry;
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

pub(super) fn is_complete(views: &HashMap<ViewId, WatchedView>, entry: &Entry) -> bool {
    let mut views_of_task = entry.views.iter();
    views_of_task.all(|(id, _trigger)| {
        let view = views.get(id).filter(|view| view.snapshot.is_some());
        view.is_some_and(|view| entry.keeps(id, &view.unreadable))
    })
}

pub(super) fn incomplete(
    views: &HashMap<ViewId, WatchedView>,
    entry: &Entry,
) -> Option<IncompleteInput> {
    complete_input(views, entry).err()
}

/// Why Consul refuses the missing data, if it does. An unreadable value of a task that was never applied counts
/// as refused.
pub(super) fn refusal(
    views: &HashMap<ViewId, WatchedView>,
    entry: &Entry,
) -> Option<(ViewId, String)> {
    entry.views.iter().find_map(|(id, _trigger)| {
        if entry.was_never_applied()
            && let Some(view) = views.get(id).filter(|view| !view.unreadable.is_empty())
        {
            return Some((id.clone(), refusal_text(&view.unreadable)));
        }
        let view = views.get(id).filter(|view| view.snapshot.is_none())?;
        let problem = view.problem.as_ref().filter(|problem| problem.refused)?;
        Some((id.clone(), problem.text.clone()))
    })
}

pub(super) fn complete_input(
    views: &HashMap<ViewId, WatchedView>,
    entry: &Entry,
) -> Result<CompleteInput, IncompleteInput> {
    let definition = Arc::clone(&entry.definition);
    CompleteInput::new(definition, |id| views.get(id)?.shown(), entry.held_keys())
}

/// Why a task with these keys that was never applied cannot run.
fn refusal_text(keys: &[Arc<str>]) -> String {
    format!(
        "the task was never applied, and these values are not text in UTF-8, or longer than 2 MiB: {}",
        text_of(keys)
    )
}

/// The first of these keys, and the number of the remaining keys.
pub(super) fn text_of(keys: &[Arc<str>]) -> String {
    keys_text(keys.iter().map(|key| &**key))
}
