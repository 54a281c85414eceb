//! The reads that the planner requests next.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use cts_core::{Trigger, ViewId};

use super::entry::Entry;
use super::watched_view::WatchedView;

/// Reads that are to be requested.
#[derive(Debug, Default)]
pub(super) struct WantedReads {
    /// Inputs wait for reads.
    pub(super) enabled: bool,
    pub(super) mark: u64,
    pub(super) at_once: BTreeSet<ViewId>,
    pub(super) gathered: BTreeSet<ViewId>,
}

impl WantedReads {
    /// The lower mark of the next two requests.
    pub(super) fn mark(&mut self) -> u64 {
        if self.at_once.is_empty() && self.gathered.is_empty() {
            self.mark += 2;
        }
        self.mark
    }

    pub(super) fn add(&mut self, views: impl IntoIterator<Item = ViewId>, gather: bool) {
        if gather {
            self.gathered.extend(views);
        } else {
            self.at_once.extend(views);
        }
    }

    /// Requests the reads that a due task needs. Returns whether its input may be frozen now.
    pub(super) fn let_freeze(
        &mut self,
        entry: &mut Entry,
        views: &HashMap<ViewId, WatchedView>,
        (due_at, now): (Duration, Duration),
    ) -> bool {
        if !self.enabled {
            return true;
        }
        if entry.reads.needs_request() {
            let gather = entry.reads.only_tick();
            let mark = self.mark();
            let silent = silent(&entry.views, views);
            let asked = entry.reads.request(silent, (due_at, now), mark);
            self.add(asked, gather);
        }
        entry.reads.waits_until().is_none_or(|until| until <= now)
    }

    /// The first input of a task is frozen, without a wait: the reads that it owes follow.
    pub(super) fn owe_beginning(
        &mut self,
        entry: &mut Entry,
        views: &HashMap<ViewId, WatchedView>,
    ) {
        if !entry.reads.take_beginning() || !self.enabled {
            return;
        }
        let mark = self.mark();
        let mut owed = Vec::new();
        for (id, view) in silent(&entry.views, views) {
            entry.reads.owe(id, mark, view.version);
            owed.push(id.clone());
        }
        self.add(owed, true);
    }
}

/// The views of a task that trigger nothing.
fn silent<'a>(
    of_task: &'a [(ViewId, Trigger)],
    views: &'a HashMap<ViewId, WatchedView>,
) -> impl Iterator<Item = (&'a ViewId, &'a WatchedView)> {
    let silent = of_task
        .iter()
        .filter(|(_id, trigger)| *trigger == Trigger::Nothing);
    silent.filter_map(|(id, _trigger)| Some((id, views.get(id)?)))
}
