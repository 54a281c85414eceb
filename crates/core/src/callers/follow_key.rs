//! Answers whose versions a caller follows (docs/rest.md#versions-to-follow).

use std::fmt;

use crate::words::identity::{RunId, TaskName};

/// An answer whose version a caller follows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FollowKey {
    /// The condition of everything.
    Overview,
    /// The list of the states of all tasks.
    Tasks,
    /// A group of 100 tasks of that list, in the order of their names; the first group is 0.
    Grid(u32),
    /// A task, with its status, its state and its explanation.
    Task(TaskName),
    /// A run.
    Run(RunId),
    /// The list of consents.
    Approvals,
    /// The workers.
    Workers,
    /// The causes of runs.
    Causes,
}

impl fmt::Display for FollowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overview => f.write_str("overview"),
            Self::Tasks => f.write_str("tasks"),
            Self::Grid(group) => write!(f, "grid:{group}"),
            Self::Task(name) => write!(f, "task:{name}"),
            Self::Run(id) => write!(f, "run:{id}"),
            Self::Approvals => f.write_str("approvals"),
            Self::Workers => f.write_str("workers"),
            Self::Causes => f.write_str("causes"),
        }
    }
}

impl FollowKey {
    /// Reads 1 to 64 keys; `None` if they are not known.
    pub fn list<'a>(texts: impl Iterator<Item = &'a str>) -> Option<Vec<Self>> {
        let keys = texts.map(Self::read).collect::<Option<Vec<_>>>();
        keys.filter(|keys| (1..=64).contains(&keys.len()))
    }

    fn read(text: &str) -> Option<Self> {
        use FollowKey::{Approvals, Causes, Grid, Overview, Run, Task, Tasks, Workers};
        let words = [Overview, Tasks, Approvals, Workers, Causes];
        let key = match text.split_once(':') {
            Some(("grid", group)) => group.parse().ok().map(Grid),
            Some(("task", name)) => name.parse().ok().map(Task),
            Some(("run", id)) => id.parse().ok().map(Run),
            _ => words.into_iter().find(|word| word.to_string() == text),
        };
        // Versions come with the text of the caller: only one form of a number or an id is accepted.
        key.filter(|key| key.to_string() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "0197a000-0000-7000-8000-000000000001";

    #[test]
    fn keys_are_read_as_they_are_written() {
        let run = format!("run:{RUN}");
        let texts = [
            "overview",
            "tasks",
            "grid:0",
            "grid:4294967295",
            "task:web-1",
            "task:été",
            &run,
            "approvals",
            "workers",
            "causes",
        ];
        for text in texts {
            assert_eq!(FollowKey::read(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn reads_a_list_of_at_most_64_keys() {
        let list = |keys: &[&str]| FollowKey::list(keys.iter().copied());
        assert_eq!(
            list(&["tasks", "grid:3"]),
            Some(vec![FollowKey::Tasks, FollowKey::Grid(3)])
        );
        assert_eq!(list(&["tasks"; 64]).unwrap().len(), 64);
        assert_eq!(list(&["tasks"; 65]), None);
        assert_eq!(list(&["tasks", "none"]), None);
        assert_eq!(list(&[]), None);
    }

    #[test]
    fn refuses_other_texts_and_other_forms() {
        let texts = [
            "",
            "Overview",
            " tasks",
            "grid",
            "grid:",
            "grid:01",
            "grid:+1",
            "grid:-1",
            "grid:4294967296",
            "task:",
            "task:a b",
            "task:1",
            "run:",
            "run:x",
            "run:0197A000-0000-7000-8000-000000000001",
            "run:0197a000000070008000000000000001",
            "events",
            "overview:1",
        ];
        for text in texts {
            assert_eq!(FollowKey::read(text), None, "{text}");
        }
    }
}
