//! Unreadable keys: the tasks that have them, and the values that each task keeps.

use std::collections::BTreeSet;
use std::time::Duration;

use cts_core::{AppliedKeys, Digest, HeldKeys, TaskName, UnreadableKeys, ViewId, keys_text};

use super::Planner;
use super::completeness::is_complete;
use super::entry::Entry;
use super::kept::Kept;
use super::watched_view::text_of;

/// A task with unreadable keys, whose applied input is to be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WantedInput {
    pub(crate) task: TaskName,
    /// The input whose values are noted for all of its unreadable keys.
    pub(crate) known: Option<Digest>,
}

/// The input that a task applied last.
#[derive(Debug)]
pub(crate) enum AppliedInput {
    /// The task was never applied.
    Never,
    /// The input with this hash, which has these keys.
    Of(Digest, AppliedKeys),
}

/// The keys of a view that cannot be read, for explanations.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnreadableStatus {
    /// The first keys by name, and the number of the remaining keys.
    pub(crate) keys: String,
    /// The task was never applied, and waits for their values.
    pub(crate) waits: bool,
    /// Names of the keys that are left out, if any.
    pub(crate) left_out: Option<String>,
}

/// Changes of the unreadable keys of a task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NewlyHeld {
    /// Nothing is logged.
    Nothing,
    /// The task was never applied, and waits for these.
    Waits(Vec<UnreadableKeys>),
    /// These are left out, because the applied input does not have them.
    LeftOut(Vec<UnreadableKeys>),
}

impl Planner {
    /// Whether the applied input of a task with unreadable keys is still unknown.
    pub(crate) fn lacks_applied_input(&self) -> bool {
        !self.unknown.is_empty()
    }

    /// Tasks with unreadable keys whose applied input is to be looked at `now`: before they are frozen, and where it is
    /// not known yet.
    pub(crate) fn wanted_inputs(&self, now: Duration) -> Vec<WantedInput> {
        self.wanted(|entry| entry.next().is_some_and(|at| at <= now))
    }

    /// Wanted inputs of all tasks with unreadable keys: an ended run may have changed the last applied input of each
    /// task.
    pub(crate) fn all_wanted_inputs(&self) -> Vec<WantedInput> {
        self.wanted(|_entry| true)
    }

    fn wanted(&self, is_asked: impl Fn(&Entry) -> bool) -> Vec<WantedInput> {
        let tasks = self.tasks_with_unreadable().into_iter();
        let wanted = tasks.filter_map(|name| {
            let is_unknown = self.unknown.contains(name);
            let entry = self.tasks.get(name);
            let entry = entry.filter(|entry| is_unknown || is_asked(entry))?;
            let known = match &entry.kept {
                Some(Kept::Of { input, .. }) if !is_unknown => Some(*input),
                _ => None,
            };
            let task = name.clone();
            Some(WantedInput { task, known })
        });
        wanted.collect()
    }

    /// Notes the input that a task applied last. A task whose unreadable keys had other values in its newest input is
    /// due again.
    pub(crate) fn note_applied(
        &mut self,
        task: &TaskName,
        applied: AppliedInput,
        now: Duration,
    ) -> NewlyHeld {
        let Some(entry) = self.tasks.get(task) else {
            return NewlyHeld::Nothing;
        };
        let unreadable = self.unreadable_of(entry);
        self.unknown.remove(task);
        let is_known = entry.was_never_applied() && matches!(applied, AppliedInput::Never);
        let Some(entry) = self.tasks.get_mut(task).filter(|_| !is_known) else {
            return NewlyHeld::Nothing;
        };
        let (kept, news) = match applied {
            AppliedInput::Never => (Kept::NeverApplied, NewlyHeld::Waits(unreadable)),
            AppliedInput::Of(input, keys) => {
                let held = HeldKeys::choose(&unreadable, &keys);
                let none = HeldKeys::default();
                let left_out = held.newly_left_out(entry.held_keys().unwrap_or(&none));
                let news = if left_out.is_empty() {
                    NewlyHeld::Nothing
                } else {
                    NewlyHeld::LeftOut(left_out)
                };
                let left_out = held.left_out();
                let kept = Kept::Of {
                    input,
                    held,
                    left_out,
                };
                (kept, news)
            }
        };
        let before = entry.kept.replace(kept);
        if let (Some(Kept::Of { held: before, .. }), Some(held)) = (&before, entry.held_keys())
            && held.contradicts(before)
        {
            entry.reevaluate(now);
        }
        entry.set_complete(is_complete(&self.views, entry), now);
        entry.refuse_without_values();
        self.agenda.note(task, entry);
        self.changes += 1;
        news
    }

    /// Takes up that a view has other unreadable keys than before. Tasks without unreadable keys forget the kept
    /// values: they apply newer values.
    pub(super) fn unreadable_changed(&mut self, id: &ViewId) {
        let Some(view) = self.views.get(id) else {
            return;
        };
        if view.unreadable.is_empty() {
            self.unreadable.remove(id);
        } else {
            self.unreadable.insert(id.clone());
        }
        let names: Vec<TaskName> = view.tasks.keys().cloned().collect();
        for name in names {
            let entry = self.tasks.get(&name);
            let is_readable = entry.is_some_and(|entry| self.unreadable_of(entry).is_empty());
            if let Some(entry) = self.tasks.get_mut(&name).filter(|_| is_readable) {
                entry.kept = None;
            }
            self.note_unknown(&name);
        }
    }

    pub(super) fn unreadable_status(
        &self,
        entry: &Entry,
        view: &ViewId,
    ) -> Option<UnreadableStatus> {
        let keys = &self.views.get(view)?.unreadable;
        if keys.is_empty() {
            return None;
        }
        let left_out = entry
            .left_out()
            .iter()
            .find(|left_out| left_out.view == *view);
        let left_out = left_out.into_iter().flat_map(|left_out| &left_out.keys);
        let left_out = left_out.filter(|key| keys.binary_search(key).is_ok());
        let left_out: Vec<&str> = left_out.map(|key| &**key).collect();
        Some(UnreadableStatus {
            keys: text_of(keys),
            waits: entry.was_never_applied(),
            left_out: (!left_out.is_empty()).then(|| keys_text(left_out)),
        })
    }

    fn tasks_with_unreadable(&self) -> BTreeSet<&TaskName> {
        let views = self.unreadable.iter();
        let views = views.filter_map(|id| self.views.get(id));
        views.flat_map(|view| view.tasks.keys()).collect()
    }

    fn unreadable_of(&self, entry: &Entry) -> Vec<UnreadableKeys> {
        let views = entry.views.iter().filter_map(|(id, _trigger)| {
            let keys = &self.views.get(id)?.unreadable;
            (!keys.is_empty()).then(|| UnreadableKeys {
                view: id.clone(),
                keys: keys.clone(),
            })
        });
        views.collect()
    }

    /// Looks whether the applied input of a task must be read, after its views or their keys have changed.
    pub(super) fn note_unknown(&mut self, task: &TaskName) {
        let is_unknown = self.tasks.get(task).is_some_and(|entry| {
            let mut views = entry.views.iter();
            !entry.was_never_applied()
                && views.any(|(id, _trigger)| {
                    let view = self.views.get(id);
                    view.is_some_and(|view| !entry.keeps(id, &view.unreadable))
                })
        });
        if is_unknown {
            self.unknown.insert(task.clone());
        } else {
            self.unknown.remove(task);
        }
    }
}
