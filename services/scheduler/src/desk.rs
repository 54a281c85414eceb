//! What the scheduler knows of tasks and views, and which task is due: bookkeeping without IO.
//!
//! Invariants:
//! * a task is triggered only while each of its views has a snapshot (P6);
//! * a snapshot that equals the one at hand triggers nothing, so a watcher that restarts or sends
//!   everything again costs no run;
//! * of the tasks that are there at the beginning the first complete input is a trigger, also of one that
//!   has no view at all; of those that come later it is none, because whoever made them has asked
//!   for what is to be done with it (spec/api.md 11, 13);
//! * changes of a task that is being created are kept until it is there. If the run of its creation was queued
//!   by an earlier leader, nobody knows what has changed since, so its first complete input is kept as a
//!   change as well;
//! * a trigger counts until the input has been frozen: who takes a due task and fails to freeze its
//!   input gives it back with [`Desk::postpone`]. Who fails to store it begins with a new desk;
//! * a request is carried out once, as soon as the input is complete, or it is overdue once.

mod arrange;
mod entry;
mod outline;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::RunKind;
use cts_core::{
    RunId, ServiceInstance, ServiceView, TaskDefinition, TaskName, TaskSpec, UnknownRevision,
    ViewDelta, ViewId, ViewSnapshot,
};

pub(crate) use self::arrange::{Present, Standing};
use self::entry::Entry;
pub(crate) use self::entry::{Decided, Decision};
pub(crate) use self::outline::Outline;

/// See the module.
#[derive(Debug)]
pub(crate) struct Desk {
    tasks: BTreeMap<TaskName, Entry>,
    views: HashMap<ViewId, View>,
    /// Each task is due once and no more.
    one_round: bool,
    patience: Duration,
    /// It was compared with the stored tasks before.
    arranged: bool,
    /// Counts what explanations tell of.
    changes: u64,
}

#[derive(Debug)]
struct View {
    source: ServiceView,
    snapshot: Option<ViewSnapshot>,
    changed_at: Duration,
    tasks: BTreeSet<TaskName>,
}

/// A run that somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) run: RunId,
    pub(crate) kind: RunKind,
}

/// Why an input is to be frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// Something has changed.
    Change {
        /// The first since the desk was set up.
        first: bool,
    },
    /// Somebody has asked for a run.
    Request(Wanted),
}

/// A task whose input is to be frozen now.
#[derive(Debug)]
pub(crate) struct DueTask {
    pub(crate) definition: Arc<TaskDefinition>,
    pub(crate) services: Vec<Arc<ServiceInstance>>,
    pub(crate) why: Why,
}

/// A request whose input was not complete in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Overdue {
    pub(crate) task: TaskName,
    pub(crate) run: RunId,
    /// What nothing is known of.
    pub(crate) missing: Vec<ViewId>,
}

/// What is to be done now.
#[derive(Debug, Default)]
pub(crate) struct Due {
    pub(crate) tasks: Vec<DueTask>,
    pub(crate) overdue: Vec<Overdue>,
}

impl Desk {
    /// A desk with the enabled ones of these tasks, on which requests wait for ever.
    pub(crate) fn new<'a>(tasks: impl IntoIterator<Item = &'a TaskSpec>) -> Self {
        let mut desk = Self {
            tasks: BTreeMap::new(),
            views: HashMap::new(),
            one_round: false,
            patience: Duration::MAX,
            arranged: false,
            changes: 0,
        };
        for task in tasks.into_iter().filter(|task| task.enabled) {
            desk.add(task.name().clone(), Entry::of_the_beginning(task));
        }
        desk
    }

    /// The same desk, on which each task is due once, as soon as it can be, and no more.
    pub(crate) fn for_one_round(self) -> Self {
        Self {
            one_round: true,
            ..self
        }
    }

    /// The same desk, whose requests wait for a complete input so long.
    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Whether there is no task.
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The views that the tasks need, each once.
    pub(crate) fn views(&self) -> Vec<ServiceView> {
        self.views
            .values()
            .map(|view| view.source.clone())
            .collect()
    }

    /// A delta of a view has arrived.
    pub(crate) fn observe(
        &mut self,
        id: &ViewId,
        delta: ViewDelta,
        now: Duration,
    ) -> Result<(), UnknownRevision> {
        let Some(view) = self.views.get_mut(id) else {
            return Ok(());
        };
        let incremental_and_empty =
            delta.base.is_some() && delta.upserts.is_empty() && delta.removals.is_empty();
        let before = match delta.base {
            // A full snapshot may come from another watcher; it is compared with what is at hand.
            None => view.snapshot.take(),
            Some(_) => None,
        };
        let after = ViewSnapshot::after(view.snapshot.take(), delta)?;
        let unchanged = incremental_and_empty
            || before.is_some_and(|before| before.instances == after.instances);
        view.snapshot = Some(after);
        if unchanged {
            return Ok(());
        }
        view.changed_at = now;
        self.changes += 1;
        for name in &view.tasks.clone() {
            if self.is_complete(name)
                && let Some(entry) = self.tasks.get_mut(name)
            {
                entry.changed(now, self.one_round);
            }
        }
        Ok(())
    }

    fn is_complete(&self, task: &TaskName) -> bool {
        self.tasks
            .get(task)
            .is_some_and(|entry| is_complete(entry, &self.views))
    }

    /// When there is something to do next.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        let views = &self.views;
        let times = self.tasks.values().filter_map(|entry| {
            let request = entry.next_request(|| is_complete(entry, views));
            entry.due_at().into_iter().chain(request).min()
        });
        times.min()
    }

    /// Takes what is due.
    pub(crate) fn take_due(&mut self, now: Duration) -> Due {
        let views = &self.views;
        let mut due = Due::default();
        for (name, entry) in &mut self.tasks {
            if let Some(first) = entry.take_trigger(now) {
                self.changes += 1;
                due.tasks
                    .push(due_task(entry, views, Why::Change { first }));
            }
            if !entry.has_requests() {
                continue;
            }
            let complete = is_complete(entry, views);
            for wanted in entry.take_requests(complete) {
                due.tasks.push(due_task(entry, views, Why::Request(wanted)));
            }
            for wanted in entry.take_overdue(now) {
                due.overdue.push(Overdue {
                    task: name.clone(),
                    run: wanted.run,
                    missing: missing(entry, views),
                });
            }
        }
        due
    }

    /// Gives back a due task whose input could not be frozen; it is due again at `until`.
    pub(crate) fn postpone(&mut self, task: &TaskName, now: Duration, until: Duration) {
        if let Some(entry) = self.tasks.get_mut(task) {
            entry.postpone(now, until);
        }
    }

    /// Notes what was made of an input.
    pub(crate) fn decided(&mut self, task: &TaskName, now: Duration, decision: Decision) {
        if let Some(entry) = self.tasks.get_mut(task) {
            entry.decided = Some(Decided { at: now, decision });
            self.changes += 1;
        }
    }
}

fn is_complete(entry: &Entry, views: &HashMap<ViewId, View>) -> bool {
    entry.views.iter().all(|id| is_known(id, views))
}

fn is_known(id: &ViewId, views: &HashMap<ViewId, View>) -> bool {
    views.get(id).is_some_and(|view| view.snapshot.is_some())
}

fn missing(entry: &Entry, views: &HashMap<ViewId, View>) -> Vec<ViewId> {
    let unknown = entry.views.iter().filter(|id| !is_known(id, views));
    unknown.cloned().collect()
}

fn due_task(entry: &Entry, views: &HashMap<ViewId, View>, why: Why) -> DueTask {
    let instances = entry
        .views
        .iter()
        .filter_map(|id| views.get(id)?.snapshot.as_ref())
        .flat_map(|snapshot| snapshot.instances.values().cloned());
    DueTask {
        definition: Arc::clone(&entry.definition),
        services: instances.collect(),
        why,
    }
}

#[cfg(test)]
mod tests;
