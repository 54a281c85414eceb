//! Groups of the grid.

use std::collections::BTreeMap;

use cts_proto::overview::state_of_grid;

use crate::state::State;

/// Tasks of a group.
pub(super) const TASKS: usize = 100;

/// A group: tasks that follow each other by name.
pub(super) struct Group {
    /// Places of its first and its last task, from 1.
    pub(super) first: usize,
    pub(super) last: usize,
    /// Names of the states of its tasks, in the order of the names of the tasks.
    pub(super) squares: Vec<String>,
    /// How many tasks are in each state, without successful ones.
    pub(super) counts: Vec<(State, usize)>,
}

impl Group {
    /// The group with this number; `None` without a task in it.
    pub(super) fn of(grid: &str, number: usize) -> Option<Self> {
        let tasks = grid.as_bytes().chunks(TASKS).nth(number)?.iter();
        let squares: Vec<_> = tasks.map(|task| state_of_grid(char::from(*task))).collect();
        let mut counts = BTreeMap::<&str, usize>::new();
        for name in squares.iter().filter(|name| *name != "successful") {
            *counts.entry(name).or_default() += 1;
        }
        let counts = counts.into_iter();
        let counts = counts.map(|(name, count)| (State(name.to_owned()), count));
        Some(Self {
            first: number * TASKS + 1,
            last: number * TASKS + squares.len(),
            counts: counts.collect(),
            squares,
        })
    }
}
