//! Whether the input of a task is complete.

use std::collections::HashMap;
use std::sync::Arc;

use cts_core::{CompleteInput, IncompleteInput, ViewId};

use super::entry::Entry;
use super::watched_view::{WatchedView, text_of};

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
