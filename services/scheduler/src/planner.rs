//! Tracks tasks and views, and decides which task is due; without IO.
//!
//! Invariants:
//! * an input is taken only while each view of its task has a snapshot, which [`CompleteInput`] enforces; a trigger
//!   waits for a complete input, however the task became incomplete, and stays until an input was taken for that
//!   trigger;
//! * a view keeps its snapshot while any task uses it, also when its only user changes within one
//!   [`Planner::reconcile`] and when a delta does not fit;
//! * a change of a view that has a snapshot triggers if the task's condition requires it, also while the task
//!   waits for another view; a tick of its schedule does the same;
//! * a snapshot that equals the one at hand triggers nothing, so a watcher that restarts or sends everything
//!   again costs no run;
//! * the first complete input of a task that exists at the beginning is a trigger, even if the task has no view. The
//!   first complete input of a later task is not a trigger, because the creator of the task has requested the wanted
//!   run (docs/rest.md#creating-a-task, #updating-a-task). The same holds for a task of the beginning with a requested
//!   apply;
//! * changes of a task that is being created are kept until it is created. If the run of its creation was
//!   queued by an earlier leader, something may have changed since, so its first complete input is kept as a
//!   change as well;
//! * a trigger counts until the input has been frozen: a caller that takes a due task and fails to freeze its input
//!   gives it back with [`Planner::postpone`]. A caller that fails to store the frozen input keeps it;
//! * a task that a guard blocks is examined again when its input changes, or when the store reports that it is
//!   no longer blocked;
//! * a key that cannot be read has the value that the task applied last. The leader reads that from the store
//!   ([`Planner::wanted_inputs`]); before that, and while the task was never applied, its input is not
//!   complete;
//! * a request is carried out once, as soon as the input is complete, or it is overdue once. An overdue request
//!   to apply leaves a trigger, so that the task is applied when its input is complete.

mod agenda;
mod awaited_reads;
mod cause;
mod change_groups;
mod completeness;
mod counted_views;
mod cron_state;
mod decision;
mod desired_task;
mod due;
mod entry;
mod held_values;
mod kept;
mod problem;
mod reads;
mod reconcile;
mod task_snapshot;
mod tick;
mod to_count;
mod unreadable;
mod view_problem;
mod wanted_reads;
mod watched_view;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::{self, RunKind};
use cts_core::{
    ItemKind, TaskDefinition, TaskName, TaskSpec, Trigger, UnknownRevision, View, ViewDelta,
    ViewId, ViewSnapshot, view_changes,
};

use self::agenda::Agenda;
use self::awaited_reads::Origin;
pub(crate) use self::awaited_reads::{UnreadReason, UnreadView};
pub(crate) use self::cause::Cause;
pub(crate) use self::change_groups::{ChangeGroups, add_later};
use self::completeness::{complete_input, incomplete, is_complete, refusal};
pub(crate) use self::decision::{Decided, Decision};
pub(crate) use self::desired_task::{DesiredTask, TaskMode};
pub(crate) use self::due::{Due, DueData, DueTask, EnqueueReason, Overdue, RequestedRun};
use self::entry::Entry;
pub(crate) use self::task_snapshot::TaskSnapshot;
use self::to_count::ToCount;
pub(crate) use self::unreadable::{AppliedInput, NewlyHeld, WantedInput};
pub(crate) use self::view_problem::ViewProblem;
use self::wanted_reads::WantedReads;
use self::watched_view::WatchedView;

#[derive(Debug)]
pub(crate) struct Planner {
    tasks: BTreeMap<TaskName, Entry>,
    agenda: Agenda,
    views: HashMap<ViewId, WatchedView>,
    /// Views with unreadable keys.
    unreadable: BTreeSet<ViewId>,
    /// Tasks with unreadable keys whose applied input is not known yet.
    unknown: BTreeSet<TaskName>,
    request_timeout: Duration,
    wanted_reads: WantedReads,
    /// The planner was compared with the stored tasks before.
    reconciled: bool,
    /// Counts changes that explanations show.
    changes: u64,
    to_count: ToCount,
    pub(crate) groups: Option<ChangeGroups>,
}

impl Planner {
    /// Makes a planner for the enabled tasks among `tasks`. Requests have no deadline, and inputs wait for no reads.
    pub(crate) fn new<'a>(tasks: impl IntoIterator<Item = &'a TaskSpec>) -> Self {
        let mut planner = Self {
            tasks: BTreeMap::new(),
            agenda: Agenda::default(),
            views: HashMap::new(),
            unreadable: BTreeSet::new(),
            unknown: BTreeSet::new(),
            request_timeout: Duration::MAX,
            wanted_reads: WantedReads::default(),
            reconciled: false,
            changes: 0,
            to_count: ToCount::default(),
            groups: None,
        };
        for task in tasks.into_iter().filter(|task| task.enabled) {
            planner.add(task.name().clone(), Entry::initial(task), Duration::ZERO);
        }
        planner
    }

    /// Returns the planner with this limit on the time for which requests wait for a complete input.
    pub(crate) fn with_request_timeout(mut self, request_timeout: Duration) -> Self {
        self.request_timeout = request_timeout;
        self
    }

    /// The views that the tasks need, each once.
    pub(crate) fn views(&self) -> Vec<View> {
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
        let at_hand = view.snapshot.as_ref().map(|snapshot| snapshot.revision);
        if let Some(base) = delta.base
            && at_hand != Some(base)
        {
            // The snapshot at hand was complete, and stays until a full snapshot replaces it.
            return Err(UnknownRevision { base, at_hand });
        }
        let nothing_new =
            delta.base.is_some() && delta.upserts.is_empty() && delta.removals.is_empty();
        let change = delta.trace;
        let begins_anew = delta.base.is_none();
        // Matters only for views of names.
        let has_names = view.source.item_kind() == ItemKind::Services;
        let known = view.snapshot.as_ref().filter(|_| has_names);
        let gets_other_names = known.is_some_and(|known| known.gets_other_keys(&delta));
        // A full snapshot may come from another watcher; it is compared with the known snapshot.
        let before = match delta.base {
            None => view.snapshot.take(),
            Some(_) => None,
        };
        let described = view
            .snapshot
            .as_ref()
            .map(|known| view_changes(known, &delta));
        let after = ViewSnapshot::after(view.snapshot.take(), delta)?;
        let unchanged = nothing_new
            || before
                .as_ref()
                .is_some_and(|before| before.items == after.items);
        let has_other_names = match before.as_ref().filter(|_| has_names) {
            Some(before) => !before.items.keys().eq(after.items.keys()),
            None => gets_other_names,
        };
        let has_other_unreadable = view.note_unreadable(&after);
        view.snapshot = Some(after);
        let is_mended = view.problem.take().is_some();
        if is_mended {
            self.changes += 1;
        }
        if !unchanged {
            view.version += 1;
        }
        if is_mended || begins_anew {
            self.request_owed_again(id);
        }
        let Some(view) = self.views.get_mut(id).filter(|_| !unchanged) else {
            return Ok(());
        };
        let lines = described.or_else(|| {
            let (before, after) = (before.as_ref()?, view.snapshot.as_ref()?);
            Some(view_changes(before, &after.delta_from(Some(before))))
        });
        let (lines, counts) = lines.unwrap_or_default();
        view.changed_at = now;
        view.shown.take();
        if view.source.item_kind() == ItemKind::Instances {
            self.to_count.changed.insert(id.clone());
        }
        self.changes += 1;
        if has_other_unreadable {
            self.unreadable_changed(id);
        }
        let groups = self.groups.as_mut().filter(|_| !counts.is_empty());
        let arrived = groups.map(|groups| groups.note(id, counts, now));
        let lines = lines.into_iter().map(Arc::from);
        let lines: Vec<Arc<str>> = lines.collect();
        let views = &self.views;
        let Some(view) = views.get(id) else {
            return Ok(());
        };
        for (name, trigger) in &view.tasks {
            let Some(entry) = self.tasks.get_mut(name) else {
                continue;
            };
            let runs = match trigger {
                Trigger::Change => true,
                Trigger::OtherNames => has_other_names,
                Trigger::Nothing => false,
            };
            add_later(&mut entry.causes, arrived.as_slice());
            if at_hand.is_some() && runs {
                let origin = Origin::Datacenter(view.source.datacenter());
                entry.changed(now, origin, change, &lines);
            }
            entry.set_complete(is_complete(views, entry), now);
            entry.refuse_without_values();
            self.agenda.note(name, entry);
        }
        Ok(())
    }

    /// When the next task or request is due.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        self.agenda.next()
    }

    /// Takes due tasks and overdue requests.
    pub(crate) fn take_due(&mut self, now: Duration) -> Due {
        let views = &self.views;
        let mut due = Due::default();
        let names: Vec<TaskName> = self.agenda.due(now).cloned().collect();
        for name in names {
            let Some(entry) = self.tasks.get_mut(&name) else {
                continue;
            };
            if let Some(due_at) = entry.due_at().filter(|at| *at <= now)
                && let Ok(input) = complete_input(views, entry)
                && self.wanted_reads.let_freeze(entry, views, (due_at, now))
                && let Some(reason) = entry.take_trigger(now)
            {
                self.changes += 1;
                let cause = entry.take_cause();
                let mut causes = std::mem::take(&mut entry.causes);
                if let EnqueueReason::Change { first: true, .. } = reason {
                    causes.extend(
                        self.groups
                            .iter()
                            .map(|groups| Arc::clone(&groups.comparison)),
                    );
                }
                let version = |id: &ViewId| views.get(id).map_or(0, |view| view.version);
                let unread = entry.reads.frozen(version);
                self.wanted_reads.owe_beginning(entry, views);
                let task = due_task(entry, DueData::Complete(input), reason);
                due.tasks.push(DueTask {
                    cause,
                    causes,
                    unread,
                    ..task
                });
            }
            for requested in entry.take_checks_without_data() {
                let reason = EnqueueReason::Request(requested);
                due.tasks.push(due_task(entry, DueData::NotNeeded, reason));
            }
            if entry.has_requests()
                && entry.is_complete()
                && let Ok(input) = complete_input(views, entry)
            {
                for requested in entry.take_requests() {
                    let data = DueData::Complete(input.clone());
                    let mut task = due_task(entry, data, EnqueueReason::Request(requested));
                    if requested.kind == RunKind::Apply {
                        task.causes.clone_from(&entry.causes);
                    }
                    due.tasks.push(task);
                }
            }
            if entry.has_requests() {
                let refusal = refusal(views, entry);
                entry.refused = refusal.is_some();
                for requested in entry.take_overdue(now) {
                    due.overdue.push(Overdue {
                        task: name.clone(),
                        requested,
                        incomplete: incomplete(views, entry),
                        refusal: refusal.clone(),
                    });
                }
            }
            self.agenda.note(&name, entry);
        }
        due
    }

    /// New settings are in force: the tasks that use these settings run with them, without a buffer period.
    pub(crate) fn settings_changed(
        &mut self,
        now: Duration,
        concerns: impl Fn(&TaskDefinition) -> bool,
    ) {
        for (name, entry) in &mut self.tasks {
            if concerns(&entry.definition) {
                entry.reevaluate(now);
                self.agenda.note(name, entry);
            }
        }
    }

    /// The module of a task was read again. The task is due with the module, unless an apply is requested.
    pub(crate) fn module_changed(&mut self, task: &TaskSpec, is_requested: bool, now: Duration) {
        if let Some(entry) = self.tasks.get_mut(task.name()) {
            entry.take_module(task);
            if !is_requested {
                entry.reevaluate(now);
            }
            self.agenda.note(task.name(), entry);
        }
    }

    /// Gives back a due task whose input could not be frozen; it is due again at `until`.
    pub(crate) fn postpone(&mut self, task: &TaskName, now: Duration, until: Duration) {
        if let Some(entry) = self.tasks.get_mut(task) {
            entry.postpone(now, until);
            self.agenda.note(task, entry);
        }
    }

    /// Gives back the causes of an input that gets no run for now: the next input has their changes, too.
    pub(crate) fn give_back(&mut self, task: &TaskName, mut causes: Vec<Arc<runs::Cause>>) {
        if let Some(entry) = self.tasks.get_mut(task) {
            add_later(&mut causes, &entry.causes);
            entry.causes = causes;
        }
    }

    /// Notes the decision on an input.
    pub(crate) fn decided(&mut self, task: &TaskName, now: Duration, decision: Decision) {
        if let Some(entry) = self.tasks.get_mut(task) {
            entry.decide(Decided { at: now, decision });
            self.changes += 1;
        }
    }

    /// The decision on the newest input of a task.
    pub(crate) fn last_decision(&self, task: &TaskName) -> Option<&Decision> {
        let decided = self.tasks.get(task)?.decided.as_ref()?;
        Some(&decided.decision)
    }
}

fn due_task(entry: &Entry, data: DueData, reason: EnqueueReason) -> DueTask {
    DueTask {
        definition: Arc::clone(&entry.definition),
        data,
        reason,
        changed_at: entry.changed_at(),
        guard: entry.guard,
        engine: entry.engine.clone(),
        cause: None,
        causes: Vec::new(),
        unread: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
