//! What the scheduler knows of tasks and views, and which task is due: bookkeeping without IO.
//!
//! Invariants:
//! * a task is triggered only while each of its views has a snapshot (P6);
//! * a snapshot that equals the one at hand triggers nothing, so a watcher that restarts or sends
//!   everything again costs no run;
//! * a task without a condition is triggered once, at the beginning;
//! * a trigger counts until the input has been frozen: who takes a due task and fails to freeze its
//!   input gives it back with [`Desk::postpone`]. Who fails to store it begins with a new desk.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use cts_core::{
    Condition, ServiceInstance, ServiceView, TaskDefinition, TaskName, TaskSchedule, TaskSpec,
    UnknownRevision, ViewDelta, ViewId, ViewSnapshot,
};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    tasks: BTreeMap<TaskName, Entry>,
    views: HashMap<ViewId, View>,
    /// Each task is due once and no more.
    one_round: bool,
}

#[derive(Debug)]
struct Entry {
    definition: Arc<TaskDefinition>,
    views: Vec<ViewId>,
    schedule: TaskSchedule,
    /// Not to be frozen before; set when freezing failed.
    postponed_until: Duration,
    /// No input of it has been frozen yet.
    first: bool,
}

#[derive(Debug)]
struct View {
    source: ServiceView,
    snapshot: Option<ViewSnapshot>,
    tasks: Vec<TaskName>,
}

/// A task whose input is to be frozen now.
#[derive(Debug)]
pub(crate) struct DueTask {
    pub(crate) definition: Arc<TaskDefinition>,
    pub(crate) services: Vec<Arc<ServiceInstance>>,
    /// The first since the desk was set up.
    pub(crate) first: bool,
}

impl Desk {
    /// A desk with the enabled ones of these tasks.
    pub(crate) fn new<'a>(tasks: impl IntoIterator<Item = &'a TaskSpec>) -> Self {
        let mut desk = Self::default();
        for task in tasks.into_iter().filter(|task| task.enabled) {
            desk.add(task);
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

    /// Whether there is no task.
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    fn add(&mut self, task: &TaskSpec) {
        let views = task.definition.condition.views();
        for view in &views {
            self.views
                .entry(view.id())
                .or_insert_with(|| View {
                    source: view.clone(),
                    snapshot: None,
                    tasks: Vec::new(),
                })
                .tasks
                .push(task.name().clone());
        }
        let mut schedule = TaskSchedule::new(task.buffer_period);
        if task.definition.condition == Condition::NoCondition {
            schedule.trigger(Duration::ZERO);
        }
        self.tasks.insert(
            task.name().clone(),
            Entry {
                definition: Arc::new(task.definition.clone()),
                views: views.iter().map(ServiceView::id).collect(),
                schedule,
                postponed_until: Duration::ZERO,
                first: true,
            },
        );
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
        for name in view.tasks.clone() {
            if self.is_complete(&name)
                && let Some(entry) = self.tasks.get_mut(&name)
                && (entry.first || !self.one_round)
            {
                entry.schedule.trigger(now);
            }
        }
        Ok(())
    }

    fn is_complete(&self, task: &TaskName) -> bool {
        self.tasks.get(task).is_some_and(|entry| {
            entry
                .views
                .iter()
                .all(|id| self.views.get(id).is_some_and(|v| v.snapshot.is_some()))
        })
    }

    /// When the next task is due.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        self.tasks.values().filter_map(Entry::due_at).min()
    }

    /// Takes the tasks that are due.
    pub(crate) fn take_due(&mut self, now: Duration) -> Vec<DueTask> {
        let views = &self.views;
        let due = self.tasks.values_mut().filter_map(|entry| {
            if entry.postponed_until > now || !entry.schedule.take_due(now) {
                return None;
            }
            let instances = entry
                .views
                .iter()
                .filter_map(|id| views.get(id)?.snapshot.as_ref())
                .flat_map(|snapshot| snapshot.instances.values().cloned());
            Some(DueTask {
                definition: Arc::clone(&entry.definition),
                services: instances.collect(),
                first: std::mem::replace(&mut entry.first, false),
            })
        });
        due.collect()
    }

    /// Gives back a due task whose input could not be stored; it is due again at `until`.
    pub(crate) fn postpone(&mut self, task: &TaskName, now: Duration, until: Duration) {
        if let Some(entry) = self.tasks.get_mut(task) {
            entry.schedule.trigger(now);
            entry.postponed_until = until;
        }
    }
}

impl Entry {
    fn due_at(&self) -> Option<Duration> {
        self.schedule
            .due_at()
            .map(|at| at.max(self.postponed_until))
    }
}

#[cfg(test)]
mod tests;
