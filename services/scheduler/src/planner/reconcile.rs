//! Brings the planner in line with the stored tasks while it is in use.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::OnceLock;
use std::time::Duration;

use cts_core::runs::RunKind;
use cts_core::{Dependency, TaskName, ViewId};

use super::Planner;
use super::completeness::is_complete;
use super::desired_task::{DesiredTask, TaskMode};
use super::due::RequestedRun;
use super::entry::{Entry, views_of};
use super::tick::log_end_of_schedule;
use super::watched_view::WatchedView;

impl Planner {
    /// Whether the planner was compared with the stored tasks before.
    pub(crate) fn is_reconciled(&self) -> bool {
        self.reconciled
    }

    pub(crate) fn has(&self, task: &TaskName) -> bool {
        self.tasks.contains_key(task)
    }

    /// Makes these the tasks of the planner. Returns whether the set of views has changed.
    ///
    /// A view that one task drops and another task begins to use keeps its snapshot, because all views are linked
    /// before any view is unlinked. Otherwise the caller would not notice that the view went and came back, and would
    /// never request its full snapshot.
    pub(crate) fn reconcile<'a>(
        &mut self,
        desired: impl IntoIterator<Item = DesiredTask<'a>>,
        now: Duration,
    ) -> bool {
        let before: HashSet<ViewId> = self.views.keys().cloned().collect();
        let mut gone: BTreeSet<TaskName> = self.tasks.keys().cloned().collect();
        let is_takeover = !std::mem::replace(&mut self.reconciled, true);
        let mut dropped: Vec<(ViewId, TaskName)> = Vec::new();
        for task in desired {
            if task.mode == TaskMode::Disabled && task.requests.is_empty() {
                continue;
            }
            let name = task.name;
            gone.remove(name);
            if self.tasks.contains_key(name) {
                let views = self.update(&task, now);
                dropped.extend(views.into_iter().map(|id| (id, name.clone())));
            } else if let Some(spec) = task.spec {
                // A task that exists at the takeover, even if only since a moment ago, was an earlier leader's.
                let entry = if is_takeover && task.requests.is_empty() {
                    Entry::of_an_earlier_leader(spec, task.mode)
                } else {
                    Entry::added(spec, task.mode)
                };
                self.add(name.clone(), entry, now);
            }
            let deadline = now.saturating_add(self.request_timeout);
            if let Some(entry) = self.tasks.get_mut(name) {
                let asks_for_apply = |asked: &RequestedRun| asked.kind == RunKind::Apply;
                if is_takeover && task.requests.iter().any(asks_for_apply) {
                    entry.leave_first_to_request();
                }
                entry.note_held(task.held, now);
                entry.ask(&task.requests, deadline);
                entry.refuse_without_values();
                self.agenda.note(name, entry);
            }
        }
        for name in gone {
            if let Some(mut entry) = self.tasks.remove(&name) {
                log_end_of_schedule(&name, &entry);
                self.agenda.forget(&name, &mut entry);
                self.unknown.remove(&name);
                let views = entry.views.into_iter();
                dropped.extend(views.map(|(id, _trigger)| (id, name.clone())));
                self.changes += 1;
                self.to_count.uses = true;
            }
        }
        for (id, name) in dropped {
            self.unlink(&id, &name);
        }
        before.len() != self.views.len() || self.views.keys().any(|id| !before.contains(id))
    }

    /// Adds a task, which must not be there.
    pub(super) fn add(&mut self, name: TaskName, mut entry: Entry, now: Duration) {
        self.link(&name, &entry);
        entry.set_complete(is_complete(&self.views, &entry), now);
        self.agenda.note(&name, &mut entry);
        let task = name.clone();
        self.tasks.insert(name, entry);
        self.note_unknown(&task);
        self.changes += 1;
        self.to_count.uses = true;
    }

    /// Updates a task to its stored form. Returns the views that the task no longer uses, which are still linked.
    fn update(&mut self, task: &DesiredTask<'_>, now: Duration) -> Vec<ViewId> {
        let name = task.name;
        let Some(mut entry) = self.tasks.remove(name) else {
            return Vec::new();
        };
        self.to_count.uses |= task.spec.is_some() || !entry.is_in(task.mode);
        let Some(spec) = task.spec else {
            entry.set_mode(task.mode);
            self.tasks.insert(name.clone(), entry);
            return Vec::new();
        };
        entry.update(spec, task.mode, now);
        let views = views_of(&spec.definition);
        let mut dropped = Vec::new();
        if views != entry.views {
            let before = std::mem::replace(&mut entry.views, views);
            let before = before.into_iter().map(|(id, _trigger)| id);
            dropped = before
                .filter(|id| entry.views.iter().all(|(kept, _trigger)| kept != id))
                .collect();
            for id in &dropped {
                entry.reads.retain(|kept| kept != id);
            }
            self.link(name, &entry);
            entry.set_complete(is_complete(&self.views, &entry), now);
            self.changes += 1;
        }
        self.tasks.insert(name.clone(), entry);
        self.note_unknown(name);
        dropped
    }

    fn link(&mut self, name: &TaskName, entry: &Entry) {
        for Dependency { view, trigger } in entry.definition.dependencies() {
            let view = self.views.entry(view.id()).or_insert_with(|| WatchedView {
                source: view,
                snapshot: None,
                unreadable: Vec::new(),
                shown: OnceLock::new(),
                version: 0,
                changed_at: Duration::ZERO,
                tasks: BTreeMap::new(),
                problem: None,
            });
            view.tasks.insert(name.clone(), trigger);
        }
    }

    fn unlink(&mut self, id: &ViewId, name: &TaskName) {
        if let Some(view) = self.views.get_mut(id) {
            view.tasks.remove(name);
            if view.tasks.is_empty() {
                self.views.remove(id);
                self.unreadable.remove(id);
            }
        }
    }
}
