//! Decides which disabled tasks are ready to be enabled, and which tasks to check (docs/runs.md#disabled-tasks);
//! without IO.

use std::collections::BTreeMap;
use std::sync::Arc;

use cts_core::{
    CheckOutcome, Digest, Requirement, RunId, TaskCheck, TaskDefinition, TaskName, TaskSpec,
};

/// The disabled tasks of a leader.
#[derive(Debug, Default)]
pub(crate) struct DisabledTasks {
    tasks: BTreeMap<TaskName, DisabledTask>,
    /// A check that no longer gives way has ended; the next check of that kind waits for a moment without due runs.
    rests: bool,
}

#[derive(Debug)]
struct DisabledTask {
    definition: Arc<TaskDefinition>,
    engine: Requirement,
    /// Key of the task's check with the settings in force, once computed.
    key: Option<Digest>,
    /// Newest known check of the task.
    check: Option<TaskCheck>,
    state: State,
    /// The task was enabled earlier in this term, so that it counts as ready without a check.
    was_enabled: bool,
    /// The key with which the task counts as ready without a check.
    assumed: Option<Digest>,
    /// Whether the outcome is logged.
    tells: bool,
    /// How often the check of the task has given way to another run.
    interruptions: u32,
}

/// Number of times that a check gives way to due runs; after that it runs to its end.
const INTERRUPTIONS: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The newest check of the task has not been read.
    Unread,
    /// The task is compared with its newest check.
    Known,
    /// A check is requested, queued or running.
    Checked {
        run: RunId,
        /// The check was requested in this term, by this leader.
        own: bool,
        /// The check is about to give way to another run.
        gives_way: bool,
    },
    /// Nothing is left to do for the task until something changes.
    Ready,
}

/// Since when a task is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// Since the term began.
    Start,
    /// The task was added or changed later in the term.
    Later,
    /// The task was enabled earlier in this term.
    Disabled,
}

/// Room for checks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    /// How many more checks may begin.
    pub(crate) checks: usize,
    /// No run is due that waits for a slot.
    pub(crate) calm: bool,
}

/// Next step for a task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The task is to be checked.
    Check(TaskName),
    /// The task has this outcome from an earlier check, which counts.
    Remembered(TaskName, CheckOutcome),
}

impl DisabledTask {
    /// Whether the check of the task gives way to runs that are due.
    const fn yields(&self) -> bool {
        self.interruptions < INTERRUPTIONS
    }

    fn is_of(&self, task: &TaskSpec) -> bool {
        *self.definition == task.definition && self.engine == task.requirement
    }
}

impl DisabledTasks {
    /// Adds a disabled task, or takes over its changes.
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
            interruptions: 0,
        };
        self.tasks.insert(task.name().clone(), disabled);
    }

    /// No task is disabled.
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Keeps only the tasks that are still disabled.
    pub(crate) fn retain(&mut self, is_disabled: impl Fn(&TaskName) -> bool) {
        self.tasks.retain(|name, _task| is_disabled(name));
    }

    /// The settings in force have changed.
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

    /// Notes the newest check of a task. Returns the outcome if the task waited for it and it is to be logged.
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
                self.rests |= !task.yields();
                task.interruptions = 0;
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

    /// Queued or running checks that give way to due runs, except checks that already do.
    pub(crate) fn yielding(&self) -> Vec<(TaskName, RunId)> {
        let yielding = self.tasks.iter().filter(|(_name, task)| task.yields());
        let yielding = yielding.filter_map(|(name, task)| match task.state {
            State::Checked {
                run,
                gives_way: false,
                ..
            } => Some((name.clone(), run)),
            _ => None,
        });
        yielding.collect()
    }

    /// How many running checks are about to give way.
    pub(crate) fn giving_way(&self) -> usize {
        let tasks = self.tasks.values().map(|task| task.state);
        tasks
            .filter(|state| {
                matches!(
                    state,
                    State::Checked {
                        gives_way: true,
                        ..
                    }
                )
            })
            .count()
    }

    /// A check gives way to a run that is due. A check that had not begun is removed at once, which is no interruption.
    pub(crate) fn gives_way(&mut self, name: &TaskName, run: RunId, had_begun: bool) {
        let Some(task) = self.tasks.get_mut(name) else {
            return;
        };
        match &mut task.state {
            State::Checked {
                run: of, gives_way, ..
            } if *of == run && had_begun => *gives_way = true,
            State::Checked { run: of, .. } if *of == run => {
                task.state = State::Known;
                task.check = None;
            }
            _ => {}
        }
    }

    /// A check is queued.
    pub(crate) fn begun(&mut self, name: &TaskName, run: RunId) {
        if let Some(task) = self.tasks.get_mut(name) {
            task.state = State::Checked {
                run,
                own: true,
                gives_way: false,
            };
            task.tells = true;
        }
    }

    /// A check has ended; if its task still waits for an outcome, the check was cancelled. If the check was requested
    /// in this term, a user cancelled it, unless it gave way to another run; otherwise a process ended.
    pub(crate) fn gone(&mut self, name: &TaskName, run: RunId) {
        if let Some(task) = self.tasks.get_mut(name)
            && let State::Checked {
                run: waits_for,
                own,
                gives_way,
            } = task.state
            && waits_for == run
        {
            task.check = None;
            if gives_way {
                task.interruptions += 1;
            } else {
                self.rests |= !task.yields();
                task.assumed = task.key.filter(|_| own);
            }
            task.state = State::Known;
        }
    }

    /// How many tasks are not ready.
    pub(crate) fn left(&self) -> usize {
        let tasks = self.tasks.values();
        tasks.filter(|task| task.state != State::Ready).count()
    }

    /// Returns the next steps, with at most as many checks as `checks`. `key` returns the key that the check of a task
    /// would have; `None` while the settings are unknown.
    ///
    /// At most one check that no longer gives way runs at a time, and begins only after a moment without due runs since
    /// the last such check. So a run waits for at most one of these checks.
    pub(crate) fn next(
        &mut self,
        Room { mut checks, calm }: Room,
        key: impl Fn(&Arc<TaskDefinition>, &Requirement) -> Option<Digest>,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        let is_insisting =
            |task: &DisabledTask| !task.yields() && matches!(task.state, State::Checked { .. });
        let mut may_insist = calm && !self.rests && !self.tasks.values().any(is_insisting);
        self.rests &= !calm;
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
                // The caller of the check, or an earlier leader, has queued it.
                Some((run, None)) => {
                    task.state = State::Checked {
                        run,
                        own: false,
                        gives_way: false,
                    };
                }
                None if task.assumed == Some(key) => task.state = State::Ready,
                None if checks > 0 && (task.yields() || may_insist) => {
                    may_insist &= task.yields();
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
