//! Numbers of views, kept by the notes of each task.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use cts_core::TaskName;

use super::known::{KnownTask, KnownView};

/// Numbers of views.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ViewCounts {
    pub(crate) views: usize,
    /// Never read.
    pub(crate) incomplete: usize,
    /// Not readable now.
    pub(crate) unreadable: usize,
    /// Start and reason of the first failure that goes on.
    pub(crate) first: Option<(DateTime<Utc>, String)>,
}

impl ViewCounts {
    /// Counts the views in the notes of tasks, which come by name.
    pub(super) fn of<'a>(tasks: impl Iterator<Item = &'a KnownTask>) -> Self {
        let mut views: HashMap<&str, &KnownView> = HashMap::new();
        for view in tasks.flat_map(|known| &known.views) {
            views.entry(&view.name).or_insert(view);
        }
        let problems = views.values().filter_map(|view| Read::of(view).problem);
        let mut problems: BTreeSet<_> = problems.collect();
        Self {
            views: views.len(),
            incomplete: views.values().filter(|view| !view.complete).count(),
            unreadable: problems.len(),
            first: problems.pop_first(),
        }
    }
}

/// Views of all enabled tasks. Several tasks may watch one view: the notes of the first task count.
#[derive(Debug, Default)]
pub(super) struct Views {
    watched: HashMap<String, BTreeMap<TaskName, Read>>,
    incomplete: usize,
    problems: BTreeSet<(DateTime<Utc>, String)>,
}

/// Facts of the reading of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Read {
    complete: bool,
    /// Start and reason of the failure that goes on.
    problem: Option<(DateTime<Utc>, String)>,
}

impl Read {
    fn of(view: &KnownView) -> Self {
        let problem = view.problem.as_ref();
        Self {
            complete: view.complete,
            problem: problem.map(|it| (it.since, format!("{}: {}", view.name, it.text))),
        }
    }
}

impl Views {
    /// Replaces the notes of a task by newer notes.
    pub(super) fn replace(
        &mut self,
        task: &TaskName,
        old: Option<&KnownTask>,
        new: Option<&KnownTask>,
    ) {
        let views = |known: Option<&KnownTask>| -> BTreeMap<String, Read> {
            let views = known.into_iter().flat_map(|known| &known.views);
            // If a name comes twice, the first entry counts.
            let views = views.rev();
            views
                .map(|view| (view.name.clone(), Read::of(view)))
                .collect()
        };
        let (mut old, new) = (views(old), views(new));
        for (name, read) in new {
            if old.remove(&name).as_ref() != Some(&read) {
                self.change(&name, |watchers| {
                    watchers.insert(task.clone(), read);
                });
            }
        }
        for name in old.keys() {
            self.change(name, |watchers| {
                watchers.remove(task);
            });
        }
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut BTreeMap<TaskName, Read>)) {
        let watchers = self.watched.entry(name.to_owned()).or_default();
        let before = watchers.values().next().cloned();
        change(watchers);
        let after = watchers.values().next().cloned();
        if after.is_none() {
            self.watched.remove(name);
        }
        if before == after {
            return;
        }
        if let Some(Read { complete, problem }) = before {
            self.incomplete -= usize::from(!complete);
            if let Some(problem) = problem {
                self.problems.remove(&problem);
            }
        }
        if let Some(Read { complete, problem }) = after {
            self.incomplete += usize::from(!complete);
            self.problems.extend(problem);
        }
    }

    pub(super) fn counts(&self) -> ViewCounts {
        ViewCounts {
            views: self.watched.len(),
            incomplete: self.incomplete,
            unreadable: self.problems.len(),
            first: self.problems.first().cloned(),
        }
    }
}
