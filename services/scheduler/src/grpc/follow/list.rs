//! The list of the states of tasks, in groups.

use std::hash::{BuildHasher as _, RandomState};

use cts_core::TaskName;
use cts_core::callers::FollowKey;

use crate::explain::TaskMark;

/// Tasks in a group.
const GROUP_SIZE: usize = 100;

/// The tasks that a caller may see, in the order of their names.
#[derive(Debug, Default)]
pub(super) struct List {
    /// Number of the newest change of any task.
    pub(super) marked: u64,
    /// Hash of the names with their marks.
    marks: u64,
    /// Hash of the groups.
    hash: u64,
    pub(super) groups: Vec<Group>,
}

/// Tasks that follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Group {
    /// Hash of the names with the numbers of their states.
    pub(super) hash: u64,
    /// Number of the newest change of a state. Without a later one the group has only moved.
    pub(super) newest: u64,
}

impl List {
    pub(super) fn new(marked: u64, tasks: &[(TaskName, TaskMark)], hashing: &RandomState) -> Self {
        let groups = tasks.chunks(GROUP_SIZE).map(|group| {
            let states = group.iter().map(|(name, mark)| (name, mark.state));
            Group {
                newest: group.iter().map(|(_, mark)| mark.state).max().unwrap_or(0),
                hash: hashing.hash_one(states.collect::<Vec<_>>()),
            }
        });
        let groups: Vec<_> = groups.collect();
        Self {
            marked,
            marks: hashing.hash_one(tasks),
            hash: hashing.hash_one(&groups),
            groups,
        }
    }

    /// The hash of the part of the list that a key stands for.
    pub(super) fn hash(&self, key: &FollowKey) -> u64 {
        match key {
            FollowKey::Grid(group) => self.group(*group as usize).hash,
            FollowKey::Causes => self.marks,
            _ => self.hash,
        }
    }

    /// The group of this number; a group after the last task is empty.
    pub(super) fn group(&self, number: usize) -> Group {
        self.groups.get(number).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(names: impl Iterator<Item = usize>) -> Vec<(TaskName, TaskMark)> {
        let named = names.map(|number| format!("t{number:04}").parse().unwrap());
        named.map(|name| (name, TaskMark::default())).collect()
    }

    /// The groups that differ, and whether these have only moved since this number of changes.
    fn changed(before: &List, after: &List, marked: u64) -> Vec<(usize, bool)> {
        let groups = 0..before.groups.len().max(after.groups.len());
        groups
            .filter(|group| before.group(*group).hash != after.group(*group).hash)
            .map(|group| (group, after.group(group).newest <= marked))
            .collect()
    }

    #[test]
    fn a_state_changes_its_group_and_a_task_that_comes_or_goes_moves_those_after_it() {
        let hashing = RandomState::new();
        let list = |tasks: &[(TaskName, TaskMark)]| List::new(7, tasks, &hashing);
        let mut all = tasks(0..250);
        let first = list(&all);
        assert_eq!(first.groups.len(), 3);
        assert_eq!(changed(&first, &list(&all), 7), []);
        all[120].1.state = 8;
        let second = list(&all);
        assert_eq!(changed(&first, &second, 7), [(1, false)]);
        assert_ne!(
            first.hash(&FollowKey::Tasks),
            second.hash(&FollowKey::Tasks)
        );
        let causes = |list: &List| list.hash(&FollowKey::Causes);
        assert_ne!(causes(&first), causes(&second));
        let grid = |list: &List, group| list.hash(&FollowKey::Grid(group));
        assert_eq!(grid(&first, 2), grid(&second, 2));

        let fewer = list(&tasks((0..250).filter(|number| *number != 101)));
        assert_eq!(changed(&first, &fewer, 7), [(1, true), (2, true)]);
        let half = list(&tasks(0..100));
        assert_eq!(changed(&first, &half, 7), [(1, true), (2, true)]);
        assert_eq!(grid(&half, 1), grid(&half, 9), "both are empty");
    }
}
