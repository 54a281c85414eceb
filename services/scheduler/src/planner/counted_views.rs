//! Numbers of instances in the views of the tasks, for the brake of the fleet.

use std::collections::{BTreeMap, BTreeSet};

use cts_core::{Item, ItemKind, TaskName, ViewId};

use super::Planner;
use super::entry::Entry;

impl Planner {
    /// Whether enabled tasks may use other views since the last call.
    pub(crate) fn take_other_uses(&mut self) -> bool {
        std::mem::take(&mut self.to_count.uses)
    }

    /// Takes the views whose snapshot has changed since the last call.
    pub(crate) fn take_changed_views(&mut self) -> BTreeSet<ViewId> {
        std::mem::take(&mut self.to_count.changed)
    }

    /// Views of instances that enabled tasks use, each with its datacenter.
    pub(crate) fn counted_views(&self) -> BTreeMap<ViewId, String> {
        let views = self.views.iter().filter(|(_id, view)| {
            let is_active = |name| self.tasks.get(name).is_some_and(Entry::is_active);
            view.source.item_kind() == ItemKind::Instances && view.tasks.keys().any(is_active)
        });
        views
            .map(|(id, view)| (id.clone(), view.source.datacenter().to_owned()))
            .collect()
    }

    /// Number of instances of each service in a view; `None` before its first snapshot, and for other views.
    pub(crate) fn instances(&self, view: &ViewId) -> Option<BTreeMap<String, u32>> {
        let view = self.views.get(view)?;
        if view.source.item_kind() != ItemKind::Instances {
            return None;
        }
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for item in view.snapshot.as_ref()?.items.values() {
            if let Item::Instance(instance) = item {
                match counts.get_mut(&instance.name) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(instance.name.clone(), 1)),
                }
            }
        }
        Some(counts)
    }

    /// Enabled tasks that use a view, each with whether a change of it waits to be queued.
    pub(crate) fn users(&self, view: &ViewId) -> impl Iterator<Item = (&TaskName, bool)> {
        let tasks = self
            .views
            .get(view)
            .into_iter()
            .flat_map(|it| it.tasks.keys());
        tasks.filter_map(|name| {
            let entry = self.tasks.get(name).filter(|entry| entry.is_active())?;
            Some((name, entry.is_pending()))
        })
    }
}
