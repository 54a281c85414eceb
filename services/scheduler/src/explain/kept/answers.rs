//! Answers that are made of kept states, about all tasks or about the tasks that a caller may see.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use cts_core::callers::TaskPatterns;
use cts_core::runs::RunStatus;
use cts_core::{CurrentState, TaskName, WorkerId};
use cts_proto::overview::grid_character;
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::TaskOrder;
use cts_rpc::convert;
use cts_store::QueueDepth;

use super::{Kept, KeptStates, Marks, NotedFacts, rank};
use crate::explain::approval::awaits_consent;
use crate::explain::view_counts::ViewCounts;

/// Most tasks of a page.
const PAGE: usize = 200;

/// States of tasks in numbers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) counts: Vec<(CurrentState, u32)>,
    pub(crate) views: ViewCounts,
    /// Tasks that do not see changes because of an outage. They are not among the problems.
    pub(crate) in_outage: usize,
    /// Tasks that need attention, the most important first.
    pub(crate) problems: Vec<(TaskName, proto::CurrentState)>,
    /// The number of all problems of tasks.
    pub(crate) problem_count: usize,
}

/// Some tasks in numbers.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) summary: Summary,
    /// By the states of the tasks: a run that is queued behind a running run of its task does not count.
    pub(crate) depth: QueueDepth,
    /// Number of their runs by worker.
    pub(crate) running: HashMap<WorkerId, u32>,
}

/// A state with its task, for the wire.
pub(crate) fn named(name: &TaskName, state: &proto::CurrentState) -> proto::NamedState {
    proto::NamedState {
        task_name: name.to_string(),
        state: Some(state.clone()),
    }
}

impl KeptStates {
    /// All visible tasks in numbers, with at most `most` problems.
    pub(in crate::explain) fn summary(&self, most: usize) -> Summary {
        let counts = self.counts.iter();
        Summary {
            counts: counts.map(|(state, count)| (*state, *count)).collect(),
            views: self.views.counts(),
            in_outage: self.in_outage,
            problems: self.problems(self.problems.iter().take(most)),
            problem_count: self.problems.len(),
        }
    }

    /// These tasks in numbers, with at most `most` problems.
    pub(in crate::explain) fn part(&self, tasks: &TaskPatterns, most: usize) -> Part {
        let mut counts = BTreeMap::new();
        let mut in_outage = 0;
        let mut depth = QueueDepth::default();
        let mut running: HashMap<WorkerId, u32> = HashMap::new();
        for (_, kept) in self.among(tasks) {
            let state = convert::current_state_from_wire(kept.state.name());
            if let Some(state) = state {
                *counts.entry(state).or_default() += 1;
            }
            in_outage += usize::from(kept.shares_outage);
            let Some(run) = &kept.run else { continue };
            if let Some(worker) = &run.worker {
                *running.entry(worker.clone()).or_default() += 1;
            }
            depth.running += u64::from(state == Some(CurrentState::Running));
            if awaits_consent(run) {
                depth.awaiting += 1;
            } else if run.status == RunStatus::Queued {
                depth.queued += 1;
                if state == Some(CurrentState::Queued) {
                    depth.ready += 1;
                    let due_for = (self.at - run.due_at).to_std().ok();
                    depth.oldest_ready = depth.oldest_ready.max(due_for);
                }
            }
        }
        let facts = self.among(tasks).map(|(_, kept)| &kept.facts);
        let mut problems: Vec<_> = self.problems.iter().collect();
        problems.retain(|(_, name)| tasks.matches(name.as_str()));
        let summary = Summary {
            counts: counts.into_iter().collect(),
            views: ViewCounts::of(facts.filter_map(NotedFacts::counted)),
            in_outage,
            problem_count: problems.len(),
            problems: self.problems(problems.into_iter().take(most)),
        };
        Part {
            summary,
            depth,
            running,
        }
    }

    fn problems<'a>(
        &self,
        names: impl Iterator<Item = &'a (usize, TaskName)>,
    ) -> Vec<(TaskName, proto::CurrentState)> {
        let states = names.filter_map(|(_, name)| Some((name, self.state(name)?)));
        states
            .map(|(name, state)| (name.clone(), state.clone()))
            .collect()
    }

    /// A page of the states of these tasks.
    pub(in crate::explain) fn page(
        &self,
        request: &proto::ListTaskPageRequest,
        tasks: &TaskPatterns,
    ) -> proto::ListTaskPageResponse {
        let search = request.search.to_lowercase();
        let is_found =
            |name: &TaskName| search.is_empty() || name.as_str().to_lowercase().contains(&search);
        let is_state = |state| request.states.is_empty() || request.states.contains(&state);
        let mut all: Vec<_> = self
            .among(tasks)
            .map(|(name, kept)| (name, &kept.state))
            .filter(|(name, state)| is_state(state.name) && is_found(name))
            .collect();
        // Sorts are stable, so that equal tasks stay in the order of their names.
        match request.order() {
            TaskOrder::Unspecified => {}
            TaskOrder::State => all.sort_by_key(|(_, state)| {
                convert::current_state_from_wire(state.name()).map_or(usize::MAX, rank)
            }),
            TaskOrder::Since => all.sort_by_key(|(_, state)| {
                Reverse(state.since.as_ref().map(|at| (at.seconds, at.nanos)))
            }),
        }
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let (total, pages) = (number(all.len()), number(all.len().div_ceil(PAGE)));
        let earlier = (request.page.max(1) as usize - 1).saturating_mul(PAGE);
        let page = all.into_iter().skip(earlier).take(PAGE);
        proto::ListTaskPageResponse {
            states: page.map(|(name, state)| named(name, state)).collect(),
            total,
            pages,
        }
    }

    /// One character for the state of each of these tasks, by name.
    pub(in crate::explain) fn grid(&self, tasks: &TaskPatterns) -> String {
        let states = self.among(tasks).map(|(_, kept)| kept.state.name());
        states.map(grid_character).collect()
    }

    /// The marks of these tasks, unless this number is that of the newest change.
    pub(in crate::explain) fn marks(&self, tasks: &TaskPatterns, known: u64) -> Option<Marks> {
        let marks = self.among(tasks);
        let marks = marks.map(|(name, kept)| (name.clone(), kept.mark));
        (self.marked != known).then(|| (self.marked, marks.collect()))
    }

    /// The visible tasks among these, by name.
    fn among(&self, tasks: &TaskPatterns) -> impl Iterator<Item = (&TaskName, &Kept)> {
        let all = self.tasks.iter();
        let visible = all.filter_map(|(name, kept)| Some((name, kept.as_ref()?)));
        visible.filter(move |(name, _)| tasks.matches(name.as_str()))
    }
}
