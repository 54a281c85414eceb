//! States that changed since an earlier answer.

use std::collections::{BTreeMap, HashMap};

use cts_core::{Incarnation, TaskName};

/// Most deleted tasks that are remembered; callers with an older version get all states.
const GONE_KEPT: usize = 1000;

/// Changes of states, counted. Each set of kept states has its own count.
#[derive(Debug)]
pub(super) struct Versions {
    of: Incarnation,
    newest: u64,
    /// The newest change of each task, and the other way round.
    changes: BTreeMap<u64, TaskName>,
    of_task: HashMap<TaskName, u64>,
    gone: BTreeMap<u64, TaskName>,
    /// Callers with an earlier version may have missed that a task is gone.
    oldest: u64,
}

impl Versions {
    pub(super) fn new(of: Incarnation) -> Self {
        Self {
            of,
            newest: 0,
            changes: BTreeMap::new(),
            of_task: HashMap::new(),
            gone: BTreeMap::new(),
            oldest: 0,
        }
    }

    pub(super) fn changed(&mut self, task: &TaskName) {
        self.newest += 1;
        self.changes.insert(self.newest, task.clone());
        if let Some(before) = self.of_task.insert(task.clone(), self.newest) {
            self.changes.remove(&before);
        }
    }

    pub(super) fn gone(&mut self, task: &TaskName) {
        let Some(before) = self.of_task.remove(task) else {
            return;
        };
        self.changes.remove(&before);
        self.newest += 1;
        self.gone.insert(self.newest, task.clone());
        if self.gone.len() > GONE_KEPT
            && let Some((oldest, _)) = self.gone.pop_first()
        {
            self.oldest = oldest;
        }
    }

    /// The version of all that is known, for callers.
    pub(super) fn newest(&self) -> String {
        format!("{}.{}", self.of, self.newest)
    }

    /// The version among these that an answer can follow, as this counts, with its text.
    pub(super) fn known<'a>(&self, versions: &'a [String]) -> Option<(u64, &'a str)> {
        let known = versions.iter().filter_map(|text| {
            let (of, number) = text.split_once('.')?;
            let number: u64 = number.parse().ok()?;
            let is_own = of == self.of.to_string();
            let is_known = is_own && (self.oldest..=self.newest).contains(&number);
            is_known.then_some((number, text.as_str()))
        });
        known.max()
    }

    /// Tasks whose states have changed since then.
    pub(super) fn changed_after(&self, version: u64) -> impl Iterator<Item = &TaskName> {
        self.changes.range(version + 1..).map(|(_, task)| task)
    }

    /// Tasks that are gone since then, and not there again.
    pub(super) fn gone_after(&self, version: u64) -> impl Iterator<Item = &TaskName> {
        let gone = self.gone.range(version + 1..).map(|(_, task)| task);
        gone.filter(|task| !self.of_task.contains_key(*task))
    }
}
