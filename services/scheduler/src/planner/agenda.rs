//! Finds the next due task without a scan of all tasks.

use std::collections::BTreeSet;
use std::time::Duration;

use cts_core::TaskName;

use super::entry::Entry;

/// Tasks with the time of their next action, the earliest first. Each entry stores its own time, so that it is
/// found when that time changes.
#[derive(Debug, Default)]
pub(super) struct Agenda(BTreeSet<(Duration, TaskName)>);

impl Agenda {
    /// The earliest time.
    pub(super) fn next(&self) -> Option<Duration> {
        self.0.first().map(|(at, _task)| *at)
    }

    /// Brings the time of a task in line with its entry; to be called whenever that may have changed.
    pub(super) fn note(&mut self, task: &TaskName, entry: &mut Entry) {
        let next = entry.next();
        if next == entry.noted {
            return;
        }
        self.forget(task, entry);
        if let Some(at) = next {
            self.0.insert((at, task.clone()));
            entry.noted = next;
        }
    }

    /// Removes a task.
    pub(super) fn forget(&mut self, task: &TaskName, entry: &mut Entry) {
        if let Some(at) = entry.noted.take() {
            self.0.remove(&(at, task.clone()));
        }
    }

    /// The tasks whose time has come.
    pub(super) fn due(&self, now: Duration) -> impl Iterator<Item = &TaskName> {
        let due = self.0.iter().take_while(move |(at, _task)| *at <= now);
        due.map(|(_at, task)| task)
    }
}
