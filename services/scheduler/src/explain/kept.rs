//! Kept states of tasks; a state is rebuilt only if something changed.

mod answers;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;

use chrono::{DateTime, Utc};
use cts_core::runs::RunStatus;
use cts_core::{CurrentState, Incarnation, StateFacts, TaskName, WorkerId};
use cts_proto::task::v1 as proto;
use cts_rpc::convert;
use cts_store::{ShownRun, TaskFacts, TaskState};

use super::current::Facts;
use super::known::{KnownTask, Written};
use super::versions::Versions;
use super::view_counts::Views;

pub(crate) use self::answers::{Part, Summary, named};

/// Facts of the tasks and their runs, as read from the store.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Tasks that may have changed.
    pub(super) changed: Vec<TaskName>,
    /// Facts of the visible tasks among the changed ones.
    pub(super) facts: Vec<NotedFacts>,
    /// Names of all tasks, if some tasks may have been deleted.
    pub(super) present: Option<HashSet<TaskName>>,
    /// All runs that have not ended, the queued ones first.
    pub(super) runs: Vec<ShownRun>,
    /// Facts that concern several tasks.
    pub(super) common: Common,
}

/// Facts that states of several tasks are made of.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Common {
    /// Maps each worker to the name of its machine.
    pub(super) hosts: HashMap<WorkerId, String>,
    /// Why due runs wait, if that is the same for all.
    pub(super) no_worker: Option<String>,
    /// Why destructions cannot continue before an operator acts.
    pub(super) stuck: HashMap<TaskName, String>,
}

/// The facts of a visible task, with the leader's notes read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotedFacts {
    /// With only the newest event.
    state: TaskState,
    deleting: bool,
    known: Option<KnownTask>,
}

impl From<TaskFacts> for NotedFacts {
    fn from(facts: TaskFacts) -> Self {
        let mut state = facts.state;
        state.events.truncate(1);
        state.events.shrink_to_fit();
        // Notes of other versions may be unreadable and are ignored then.
        let written = facts.explanation.as_deref();
        let written: Option<Written> = written.and_then(|text| serde_json::from_str(text).ok());
        Self {
            state,
            deleting: facts.deleting,
            known: written.map(|written| written.known),
        }
    }
}

impl NotedFacts {
    /// The notes whose views are counted.
    fn counted(&self) -> Option<&KnownTask> {
        self.known.as_ref().filter(|_| self.state.enabled)
    }
}

/// A visible task.
#[derive(Debug)]
struct Kept {
    facts: NotedFacts,
    /// The running run, or else the queued run.
    run: Option<ShownRun>,
    state: proto::CurrentState,
    /// Whether the problem of the task is an outage that other tasks share.
    shares_outage: bool,
    /// When the state may change with the time alone.
    wakes: Option<DateTime<Utc>>,
    mark: TaskMark,
}

/// Numbers of the newest changes of a task, which all tasks count together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct TaskMark {
    /// Number of the newest change of the state.
    pub(crate) state: u64,
    /// Number of the newest change of the other facts: events, run and the leader's notes.
    facts: u64,
}

/// The number of the newest change of any task, and the marks of tasks by name.
pub(crate) type Marks = (u64, Vec<(TaskName, TaskMark)>);

/// States of all tasks as they were at one moment.
#[derive(Debug)]
pub(super) struct KeptStates {
    /// All tasks; `None` for tasks that are not visible.
    tasks: BTreeMap<TaskName, Option<Kept>>,
    common: Common,
    views: Views,
    counts: BTreeMap<CurrentState, u32>,
    /// Tasks that need attention, the most important first.
    problems: BTreeSet<(usize, TaskName)>,
    /// Number of tasks whose problem is a common outage.
    in_outage: usize,
    wakes: BTreeSet<(DateTime<Utc>, TaskName)>,
    /// Tasks that have a run.
    open: HashSet<TaskName>,
    deleting: HashSet<TaskName>,
    versions: Versions,
    /// Number of changes of tasks.
    marked: u64,
    at: DateTime<Utc>,
}

impl KeptStates {
    pub(super) fn new(id: Incarnation) -> Self {
        Self {
            tasks: BTreeMap::new(),
            common: Common::default(),
            views: Views::default(),
            counts: BTreeMap::new(),
            problems: BTreeSet::new(),
            in_outage: 0,
            wakes: BTreeSet::new(),
            open: HashSet::new(),
            deleting: HashSet::new(),
            versions: Versions::new(id),
            marked: 0,
            at: DateTime::UNIX_EPOCH,
        }
    }

    /// Whether exactly `tasks` tasks are known once the `changed` tasks are added. Fewer tasks exist if some were
    /// deleted.
    pub(super) fn are(&self, tasks: usize, changed: &[TaskName]) -> bool {
        let new = changed
            .iter()
            .filter(|name| !self.tasks.contains_key(*name));
        self.tasks.len() + new.count() == tasks
    }

    /// The tasks after this task by name, at most this number; none after the last task.
    pub(super) fn following(&self, task: Option<&TaskName>, count: usize) -> Vec<TaskName> {
        let after = task.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = self.tasks.range::<TaskName, _>((after, Bound::Unbounded));
        rest.take(count).map(|(name, _)| name.clone()).collect()
    }

    /// The number of known tasks.
    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether a task is being deleted, with or without these facts.
    pub(super) fn are_deleting(&self, facts: &[NotedFacts]) -> bool {
        !self.deleting.is_empty() || facts.iter().any(|facts| facts.deleting)
    }

    /// Takes over the facts, and rebuilds the states that may have changed at the moment `now`.
    pub(super) fn take(&mut self, reading: Reading, now: DateTime<Utc>) {
        let mut dirty: HashSet<TaskName> = HashSet::new();
        for name in reading.changed {
            self.tasks.entry(name.clone()).or_default();
            dirty.insert(name);
        }
        self.take_facts(reading.facts, &mut dirty);
        if let Some(present) = reading.present {
            let gone = self.tasks.keys().filter(|name| !present.contains(*name));
            for name in gone.cloned().collect::<Vec<_>>() {
                self.hide(&name);
                self.tasks.remove(&name);
            }
        }
        self.take_runs(reading.runs, &mut dirty);
        self.take_common(reading.common, &mut dirty);
        if now < self.at {
            // If the clock was set back, past moments may come again.
            dirty.extend(self.tasks.keys().cloned());
        }
        self.at = now;
        while let Some((at, name)) = self.wakes.first()
            && *at <= now
        {
            dirty.insert(name.clone());
            self.wakes.pop_first();
        }
        for name in dirty {
            self.remake(&name);
        }
    }

    /// Replaces the facts of the changed tasks. Changed tasks without facts are not visible any more.
    fn take_facts(&mut self, facts: Vec<NotedFacts>, changed: &mut HashSet<TaskName>) {
        let mut hidden: HashSet<&TaskName> = changed.iter().collect();
        let mut visible = Vec::with_capacity(facts.len());
        for facts in facts {
            hidden.remove(&facts.state.task);
            visible.push(facts);
        }
        let hidden: Vec<TaskName> = hidden.into_iter().cloned().collect();
        for name in hidden {
            self.hide(&name);
        }
        for facts in visible {
            let name = facts.state.task.clone();
            let kept = self.tasks.entry(name.clone()).or_default();
            let old = kept.as_ref().and_then(|kept| kept.facts.counted());
            self.views.replace(&name, old, facts.counted());
            if facts.deleting {
                self.deleting.insert(name.clone());
            } else {
                self.deleting.remove(&name);
            }
            match kept {
                Some(kept) if kept.facts == facts => {}
                Some(kept) => {
                    self.marked += 1;
                    kept.mark.facts = self.marked;
                    kept.facts = facts;
                }
                None => {
                    *kept = Some(Kept {
                        facts,
                        run: None,
                        state: proto::CurrentState::default(),
                        shares_outage: false,
                        wakes: None,
                        mark: TaskMark::default(),
                    });
                }
            }
        }
    }

    /// Removes a task from the shown tasks.
    fn hide(&mut self, name: &TaskName) {
        let Some(kept) = self.tasks.get_mut(name).and_then(Option::take) else {
            return;
        };
        self.views.replace(name, kept.facts.counted(), None);
        self.deleting.remove(name);
        self.open.remove(name);
        if let Some(at) = kept.wakes {
            self.wakes.remove(&(at, name.clone()));
        }
        self.in_outage -= usize::from(kept.shares_outage);
        uncount(&mut self.counts, &mut self.problems, name, &kept.state);
        self.versions.gone(name);
        self.marked += 1;
    }

    fn take_runs(&mut self, runs: Vec<ShownRun>, dirty: &mut HashSet<TaskName>) {
        let mut ended = std::mem::take(&mut self.open);
        // A running run replaces a queued run of its task.
        let runs = runs.into_iter().map(|run| (run.task.clone(), run));
        for (name, run) in runs.collect::<HashMap<_, _>>() {
            let Some(Some(kept)) = self.tasks.get_mut(&name) else {
                continue;
            };
            ended.remove(&name);
            if kept.run.as_ref() != Some(&run) {
                kept.run = Some(run);
                self.marked += 1;
                kept.mark.facts = self.marked;
                dirty.insert(name.clone());
            }
            self.open.insert(name);
        }
        for name in ended {
            if let Some(Some(kept)) = self.tasks.get_mut(&name) {
                kept.run = None;
                self.marked += 1;
                kept.mark.facts = self.marked;
                dirty.insert(name);
            }
        }
    }

    fn take_common(&mut self, common: Common, dirty: &mut HashSet<TaskName>) {
        if common.no_worker != self.common.no_worker || common.hosts != self.common.hosts {
            dirty.extend(self.open.iter().cloned());
        }
        if common.stuck != self.common.stuck {
            let stuck = common.stuck.keys().chain(self.common.stuck.keys());
            dirty.extend(stuck.cloned());
        }
        self.common = common;
    }

    fn remake(&mut self, name: &TaskName) {
        let Some(Some(kept)) = self.tasks.get_mut(name) else {
            return;
        };
        let facts = Facts {
            state: &kept.facts.state,
            deleting: kept.facts.deleting,
            stuck: self.common.stuck.get(name).map(String::as_str),
            run: kept.run.as_ref(),
            known: kept.facts.known.as_ref(),
            no_worker: self.common.no_worker.as_deref(),
        };
        let state = facts.current(&self.common.hosts, self.at);
        let due = kept.run.as_ref();
        let due = due.filter(|run| run.status == RunStatus::Queued);
        let buffered = facts.known.and_then(|known| known.buffered_until);
        let waits_since = facts.known.and_then(|known| known.waits_since);
        let blind = waits_since.and_then(StateFacts::blind_at);
        let wakes = due.map(|run| run.due_at).into_iter();
        let wakes = wakes.chain(buffered).chain(blind);
        let wakes = wakes.filter(|at| *at > self.at).min();
        if let Some(at) = kept.wakes {
            self.wakes.remove(&(at, name.clone()));
        }
        kept.wakes = wakes;
        self.wakes.extend(wakes.map(|at| (at, name.clone())));
        let shares_outage = state.name() == proto::CurrentStateName::Blind && facts.shares_outage();
        if state == kept.state && shares_outage == kept.shares_outage {
            return;
        }
        uncount(&mut self.counts, &mut self.problems, name, &kept.state);
        self.in_outage += usize::from(shares_outage);
        self.in_outage -= usize::from(kept.shares_outage);
        kept.shares_outage = shares_outage;
        if let Some(state) = convert::current_state_from_wire(state.name()) {
            *self.counts.entry(state).or_default() += 1;
            if state.is_problem() && !shares_outage {
                self.problems.insert((rank(state), name.clone()));
            }
        }
        kept.state = state;
        self.versions.changed(name);
        self.marked += 1;
        kept.mark.state = self.marked;
    }

    /// The state of a visible task.
    pub(super) fn state(&self, name: &TaskName) -> Option<&proto::CurrentState> {
        let kept = self.tasks.get(name)?.as_ref()?;
        Some(&kept.state)
    }

    /// All visible tasks, by name.
    pub(super) fn states(&self) -> impl Iterator<Item = (&TaskName, &proto::CurrentState)> {
        let tasks = self.tasks.iter();
        tasks.filter_map(|(name, kept)| Some((name, &kept.as_ref()?.state)))
    }

    pub(super) fn versions(&self) -> &Versions {
        &self.versions
    }

    /// The mark of a visible task.
    pub(super) fn mark(&self, name: &TaskName) -> Option<TaskMark> {
        Some(self.tasks.get(name)?.as_ref()?.mark)
    }
}

/// Takes a task out of the numbers of states and the problems.
fn uncount(
    counts: &mut BTreeMap<CurrentState, u32>,
    problems: &mut BTreeSet<(usize, TaskName)>,
    name: &TaskName,
    state: &proto::CurrentState,
) {
    let Some(state) = convert::current_state_from_wire(state.name()) else {
        return;
    };
    if let Some(count) = counts.get_mut(&state) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&state);
        }
    }
    if state.is_problem() {
        problems.remove(&(rank(state), name.clone()));
    }
}

fn rank(state: CurrentState) -> usize {
    let place = CurrentState::ALL.iter().position(|known| *known == state);
    place.unwrap_or(CurrentState::ALL.len())
}

#[cfg(test)]
mod tests;
