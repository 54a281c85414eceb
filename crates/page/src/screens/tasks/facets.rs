//! Counts of tasks by state, which choose states.

use std::collections::BTreeMap;

use cts_core::CurrentState;
use cts_proto::overview::state_of_grid;

use crate::state::State;

/// A state with the number of its tasks.
pub(super) struct Facet {
    pub(super) state: State,
    pub(super) count: usize,
    /// Whether the list is that of this state, among others.
    pub(super) chosen: bool,
    /// The states of the list with this state, or without it if it is chosen.
    pub(super) states: String,
}

/// The states that a task has, and those that are chosen, problems first.
pub(super) fn facets(grid: &str, chosen: &str) -> Vec<Facet> {
    let chosen: Vec<&str> = chosen
        .split(',')
        .filter(|state| !state.is_empty())
        .collect();
    let mut counts = BTreeMap::<char, usize>::new();
    for task in grid.chars() {
        *counts.entry(task).or_default() += 1;
    }
    let facets = CurrentState::ALL.map(|state| {
        let name = state.as_str();
        let others = chosen.iter().copied().filter(|other| *other != name);
        let is_chosen = chosen.contains(&name);
        let states: Vec<&str> = others.chain((!is_chosen).then_some(name)).collect();
        let tasks = counts
            .iter()
            .filter(|(task, _)| state_of_grid(**task) == name);
        Facet {
            state: State(name.to_owned()),
            count: tasks.map(|(_, count)| count).sum(),
            chosen: is_chosen,
            states: states.join(","),
        }
    });
    let is_shown = |facet: &Facet| facet.count > 0 || facet.chosen;
    facets.into_iter().filter(is_shown).collect()
}
