//! Which disabled tasks are ready to be enabled, and which are to be checked (docs/runs.md#disabled-tasks); without
//! IO.

use std::collections::BTreeMap;
use std::sync::Arc;

use cts_core::{
    CheckOutcome, Digest, Requirement, RunId, TaskCheck, TaskDefinition, TaskName, TaskSpec,
};

/// The disabled tasks of a leader.
#[derive(Debug, Default)]
pub(crate) struct DisabledTasks {
    tasks: BTreeMap<TaskName, DisabledTask>,
}

#[derive(Debug)]
struct DisabledTask {
    definition: Arc<TaskDefinition>,
    engine: Requirement,
    /// Key of its check with the settings in force, once it was computed.
    key: Option<Digest>,
    /// Its newest check, as far as is known.
    check: Option<TaskCheck>,
    state: State,
    /// It was enabled before, in this term, so that it counts as ready as it is.
    was_enabled: bool,
    /// The key with which it counts as ready without a check.
    assumed: Option<Digest>,
    /// The outcome is logged.
    tells: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its newest check has not been read.
    Unread,
    /// To be compared with its newest check.
    Known,
    /// A check is requested, queued or running.
    Checked {
        run: RunId,
        /// It was requested in this term, for this.
        own: bool,
    },
    /// Nothing more is done for it, until something changes.
    Ready,
}

/// Since when a task is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// Since the term began.
    Start,
    /// It came, or was changed, later.
    Later,
    /// It was enabled before, in this term.
    Disabled,
}

/// Next step for a task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is to be checked.
    Check(TaskName),
    /// An earlier check had this end, and counts.
    Remembered(TaskName, CheckOutcome),
}

impl DisabledTask {
    fn is_of(&self, task: &TaskSpec) -> bool {
        *self.definition == task.definition && self.engine == task.requirement
    }
}

impl DisabledTasks {
    /// A disabled task is there, or may be another than before.
    pub(crate) fn note(&mut self, task: &TaskSpec, since: Since) {
        let known = self.tasks.get(task.name());
        if known.is_some_and(|known| known.is_of(task)) {
            return;
        }
        let disabled = DisabledTask {
            definition: Arc::new(task.definition.clone()),
            engine: task.requirement.clone(),
            key: None,
            check: None,
            state: State::Unread,
            was_enabled: since == Since::Disabled,
            assumed: None,
            tells: since == Since::Start,
        };
        self.tasks.insert(task.name().clone(), disabled);
    }

    /// No task is disabled.
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Leaves the tasks that are disabled still.
    pub(crate) fn retain(&mut self, is_disabled: impl Fn(&TaskName) -> bool) {
        self.tasks.retain(|name, _task| is_disabled(name));
    }

    /// Other settings are in force.
    pub(crate) fn settings_changed(&mut self) {
        for task in self.tasks.values_mut() {
            task.key = None;
            if task.state == State::Ready {
                task.state = State::Known;
            }
        }
    }

    /// Tasks whose newest checks are to be read.
    pub(crate) fn unread(&self) -> impl Iterator<Item = &TaskName> {
        let unread = self.tasks.iter().filter(|(_name, task)| match task.state {
            State::Unread | State::Checked { .. } => true,
            State::Known | State::Ready => false,
        });
        unread.map(|(name, _task)| name)
    }

    /// Notes the newest check of a task. Returns its outcome if the task waited for it, and it is to be logged.
    pub(crate) fn read(
        &mut self,
        name: &TaskName,
        check: Option<TaskCheck>,
    ) -> Option<CheckOutcome> {
        let task = self.tasks.get_mut(name)?;
        match task.state {
            State::Unread => {
                task.state = State::Known;
                task.check = check;
                None
            }
            State::Checked { run, .. } => {
                let check = check.filter(|check| check.run == run)?;
                let outcome = check.outcome.clone()?;
                task.state = State::Ready;
                task.check = Some(check);
                std::mem::take(&mut task.tells).then_some(outcome)
            }
            State::Known | State::Ready => None,
        }
    }

    /// Checks that are queued or running.
    pub(crate) fn checked(&self) -> Vec<(TaskName, RunId)> {
        let checked = self
            .tasks
            .iter()
            .filter_map(|(name, task)| match task.state {
                State::Checked { run, .. } => Some((name.clone(), run)),
                _ => None,
            });
        checked.collect()
    }

    /// A check is queued.
    pub(crate) fn begun(&mut self, name: &TaskName, run: RunId) {
        if let Some(task) = self.tasks.get_mut(name) {
            task.state = State::Checked { run, own: true };
            task.tells = true;
        }
    }

    /// A check has ended; if its task still waits for an outcome, it was cancelled. In this term that was a person,
    /// otherwise the end of a process.
    pub(crate) fn gone(&mut self, name: &TaskName, run: RunId) {
        if let Some(task) = self.tasks.get_mut(name)
            && let State::Checked {
                run: waits_for,
                own,
            } = task.state
            && waits_for == run
        {
            task.check = None;
            task.assumed = task.key.filter(|_| own);
            task.state = State::Known;
        }
    }

    /// How many tasks are not ready.
    pub(crate) fn left(&self) -> usize {
        let tasks = self.tasks.values();
        tasks.filter(|task| task.state != State::Ready).count()
    }

    /// The next steps, with at most so many checks. `key` tells what the check of a task would have; `None` while the
    /// settings are not known.
    pub(crate) fn next(
        &mut self,
        mut checks: usize,
        key: impl Fn(&Arc<TaskDefinition>, &Requirement) -> Option<Digest>,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        for (name, task) in &mut self.tasks {
            if task.state != State::Known {
                continue;
            }
            if task.key.is_none() {
                task.key = key(&task.definition, &task.engine);
            }
            let Some(key) = task.key else { continue };
            if std::mem::take(&mut task.was_enabled) {
                task.assumed = Some(key);
            }
            let known = task.check.as_ref().filter(|check| check.key == key);
            match known.map(|check| (check.run, check.outcome.clone())) {
                Some((_run, Some(outcome))) => {
                    task.state = State::Ready;
                    if std::mem::take(&mut task.tells) {
                        steps.push(Step::Remembered(name.clone(), outcome));
                    }
                }
                // Its caller, or an earlier leader, has queued it.
                Some((run, None)) => task.state = State::Checked { run, own: false },
                None if task.assumed == Some(key) => task.state = State::Ready,
                None if checks > 0 => {
                    checks -= 1;
                    steps.push(Step::Check(name.clone()));
                }
                None => {}
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests;
