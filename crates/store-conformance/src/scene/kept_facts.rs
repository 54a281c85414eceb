//! Facts that a caller keeps by what has changed.

use std::collections::{BTreeMap, BTreeSet};

use cts_core::TaskName;
use cts_store::{Store, TaskFacts};

/// The facts that a caller keeps.
#[derive(Debug, Default)]
pub(crate) struct KeptFacts {
    position: Option<String>,
    /// Names of all tasks.
    names: BTreeSet<TaskName>,
    facts: BTreeMap<TaskName, TaskFacts>,
}

impl KeptFacts {
    /// Reads what has changed, and compares all that is kept with what the store has. Returns the changed tasks.
    pub(crate) async fn follow(&mut self, store: &dyn Store) -> BTreeSet<TaskName> {
        let changed = store.changed_tasks(self.position.as_deref()).await;
        let changed = changed.expect("changes can be read");
        let all = store.changed_tasks(None).await;
        let all = all.expect("changes can be read");
        let names: BTreeSet<TaskName> = all.names.into_iter().collect();
        assert_eq!(names.len(), all.tasks);
        self.names.extend(changed.names.iter().cloned());
        if self.names.len() != changed.tasks {
            assert!(self.names.len() > changed.tasks, "some were deleted");
            self.names.retain(|name| names.contains(name));
        }
        assert_eq!(self.names, names);
        self.facts.retain(|name, _| names.contains(name));
        for name in &changed.names {
            self.facts.remove(name);
        }
        let facts = store.task_facts(&changed.names).await;
        let facts = facts.expect("facts can be read").into_iter();
        self.facts
            .extend(facts.map(|facts| (facts.state.task.clone(), facts)));
        let states = store.task_states(None).await.expect("states can be read");
        let kept: Vec<_> = self
            .facts
            .values()
            .map(|facts| facts.state.clone())
            .collect();
        assert_eq!(kept, states);
        let visible: Vec<TaskName> = self.facts.keys().cloned().collect();
        let made = store.task_facts(&visible).await;
        let kept: Vec<TaskFacts> = self.facts.values().cloned().collect();
        assert_eq!(kept, made.expect("facts can be read"));
        self.position = Some(changed.position);
        changed.names.into_iter().collect()
    }

    /// Reads everything with the next change.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}
