//! The planner's bookkeeping of a task, for explanations.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::{TaskName, Trigger, ViewId};

use super::Planner;
use super::decision::Decided;
use super::unreadable::UnreadableStatus;
use super::view_problem::ViewProblem;

/// The planner's bookkeeping of a task. Times are of the planner's clock.
#[derive(Debug)]
pub(crate) struct TaskSnapshot<'a> {
    pub(crate) task: &'a TaskName,
    /// Whether changes run the task.
    pub(crate) is_active: bool,
    pub(crate) views: Vec<ViewStatus<'a>>,
    /// End of the time in which changes gather.
    pub(crate) buffered_until: Option<Duration>,
    /// When its schedule runs it next, by the wall clock.
    pub(crate) next_tick: Option<DateTime<Utc>>,
    pub(crate) decided: Option<&'a Decided>,
}

/// The planner's bookkeeping of a view.
#[derive(Debug)]
pub(crate) struct ViewStatus<'a> {
    pub(crate) id: &'a ViewId,
    /// Revision at the watcher, and when the content was another last; `None` before the first snapshot.
    pub(crate) seen: Option<(u64, Duration)>,
    /// Whether a change runs the task.
    pub(crate) triggers: bool,
    /// Why changes are not seen now.
    pub(crate) problem: Option<&'a ViewProblem>,
    /// Its keys that cannot be read, if any.
    pub(crate) unreadable: Option<UnreadableStatus>,
}

impl TaskSnapshot<'_> {
    /// Whether the next run waits for a view: for its first snapshot, or for a value that the first run needs.
    pub(crate) fn waits_for_views(&self) -> bool {
        let waits = |view: &ViewStatus<'_>| {
            view.seen.is_none() || view.unreadable.as_ref().is_some_and(|keys| keys.waits)
        };
        self.is_active && self.views.iter().any(waits)
    }
}

impl Planner {
    /// Increases whenever a snapshot may have changed.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Bookkeeping of each task.
    pub(crate) fn task_snapshots(&self) -> impl Iterator<Item = TaskSnapshot<'_>> {
        self.tasks.iter().map(|(task, entry)| {
            let views = entry.views.iter().map(|(id, trigger)| ViewStatus {
                id,
                seen: self.views.get(id).and_then(|view| {
                    let snapshot = view.snapshot.as_ref()?;
                    Some((snapshot.revision, view.changed_at))
                }),
                triggers: entry.is_active() && *trigger != Trigger::Nothing,
                problem: self.views.get(id).and_then(|view| view.problem.as_ref()),
                unreadable: self.unreadable_status(entry, id),
            });
            TaskSnapshot {
                task,
                is_active: entry.is_active(),
                views: views.collect(),
                buffered_until: entry.due_at(),
                next_tick: entry.next_tick(),
                decided: entry.decided.as_ref(),
            }
        })
    }
}
