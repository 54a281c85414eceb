//! The state of every task, as far as the answers of the API show it.
//!
//! A confirmed write makes one state certain. A write without an answer, or with an answer that promises
//! nothing, leaves two states possible: the one before and the one after. Such a task is left alone until it is
//! quiet; then it must be in one of the possible states, and is certain again.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::conditions::{Kind, Watched};
use crate::plan::{Declaration, Plan};

/// How a task may stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    /// The task does not exist.
    Absent,
    /// The task exists.
    Present(Declared),
}

/// The declaration of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Services that it watches, by number, sorted.
    pub services: Vec<usize>,
    /// Whether it runs.
    pub enabled: bool,
    /// The moment from which it must follow the catalog.
    pub follows: Follows,
}

/// The moment from which an enabled task must have applied the state of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    /// Now.
    Surely,
    /// From the next change of its services on; the task may have applied something before.
    FromNextChange,
}

/// A write to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// `POST`.
    Create {
        /// Services that it will watch.
        services: Vec<usize>,
        /// Whether it will run.
        enabled: bool,
        /// `run=now`.
        now: bool,
    },
    /// `PUT` with any revision.
    Replace {
        /// Services that it will watch.
        services: Vec<usize>,
        /// Whether it runs, as before.
        enabled: bool,
        /// `run=now`.
        now: bool,
    },
    /// `PATCH`.
    Switch {
        /// On or off.
        on: bool,
        /// `run=now`.
        now: bool,
    },
    /// `DELETE`.
    Delete,
}

/// The outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The write is done.
    Confirmed,
    /// Nothing was changed.
    Refused,
    /// The write may be done, or be done later.
    Unknown,
}

/// The states that each task may have.
#[derive(Debug, Clone, Default)]
pub struct Book {
    tasks: BTreeMap<usize, Vec<TaskState>>,
    /// Tasks that only the files change.
    of_files: BTreeSet<usize>,
}

impl Book {
    /// The tasks of the plan's configuration.
    pub fn new(plan: &Plan) -> Self {
        let state = |number: usize| match plan.tasks.get(number) {
            None => TaskState::Absent,
            Some(services) => TaskState::Present(Declared {
                services: services.clone(),
                enabled: !plan.disabled.contains(&number),
                follows: Follows::Surely,
            }),
        };
        let numbers = 0..plan.all_tasks();
        Self {
            tasks: numbers
                .map(|number| (number, vec![state(number)]))
                .collect(),
            of_files: (0..plan.all_tasks())
                .filter(|&number| plan.is_of_files(number))
                .collect(),
        }
    }

    /// How a task stands; `None` while that is in doubt.
    pub fn certain(&self, task: usize) -> Option<&TaskState> {
        match self.tasks.get(&task).map(Vec::as_slice) {
            Some([state]) => Some(state),
            _ => None,
        }
    }

    /// Notes the outcome of a write to a task that is not in doubt.
    pub fn note(&mut self, task: usize, order: &Order, outcome: Outcome) {
        let Some(states) = self.tasks.get_mut(&task) else {
            return;
        };
        let Some(before) = states.first().cloned() else {
            return;
        };
        let after = after(&before, order);
        match outcome {
            Outcome::Confirmed => *states = vec![after],
            Outcome::Refused => {}
            // A withdrawn creation also removes a task that existed in between.
            Outcome::Unknown if after == before => {}
            Outcome::Unknown => states.push(after),
        }
    }

    /// Compares a task with the API's answer (`None`: the task does not exist), which is its state from now on
    /// if it is possible.
    pub fn settle(&mut self, task: usize, shown: Option<&Shown>) -> Result<(), String> {
        let Some(states) = self.tasks.get_mut(&task) else {
            return Ok(());
        };
        let fits = |state: &&TaskState| match (state, shown) {
            (TaskState::Absent, None) => true,
            (TaskState::Present(declared), Some(shown)) => {
                let same = match &shown.services {
                    Watched::These(services) => declared.services == *services,
                    Watched::All => true,
                };
                same && declared.enabled == shown.enabled
            }
            _ => false,
        };
        let mut possible = states.iter().filter(fits).cloned();
        let Some(mut state) = possible.next() else {
            return Err(format!("{shown:?} is shown, possible is {states:?}"));
        };
        // A promise of only one of several possible states does not count.
        if let TaskState::Present(declared) = &mut state
            && (states.len() > 1 || possible.next().is_some())
        {
            declared.follows = Follows::FromNextChange;
        }
        *states = vec![state];
        Ok(())
    }

    /// A later change of every service makes all tasks follow the catalog.
    pub fn everything_changed(&mut self) {
        for state in self.tasks.values_mut().flatten() {
            if let TaskState::Present(declared) = state {
                declared.follows = Follows::Surely;
            }
        }
    }

    /// A run of the task is cancelled: its input waits for the next change.
    pub fn cancelled(&mut self, task: usize) {
        for state in self.tasks.get_mut(&task).into_iter().flatten() {
            if let TaskState::Present(declared) = state {
                declared.follows = Follows::FromNextChange;
            }
        }
    }

    /// All tasks that are certain to be there, by number.
    pub fn present(&self) -> impl Iterator<Item = (usize, &Declared)> {
        self.tasks
            .iter()
            .filter_map(|(&number, states)| match states.as_slice() {
                [TaskState::Present(declared)] => Some((number, declared)),
                _ => None,
            })
    }

    /// Numbers of all tasks that may exist.
    pub fn numbers(&self) -> impl Iterator<Item = usize> {
        self.tasks.keys().copied()
    }

    /// Whether only the files change a task.
    pub fn is_of_files(&self, task: usize) -> bool {
        self.of_files.contains(&task)
    }

    /// The files of this version are in force.
    pub fn declare(&mut self, plan: &Plan, version: u64) {
        for &number in &self.of_files {
            let state = match plan.declared(number, version) {
                None => TaskState::Absent,
                Some(Declaration { services, enabled }) => TaskState::Present(Declared {
                    services,
                    enabled,
                    follows: Follows::Surely,
                }),
            };
            self.tasks.insert(number, vec![state]);
        }
    }

    /// Makes a confirmed write uncertain, with `before` as the state before it: a failover may have lost it.
    pub fn doubt(&mut self, task: usize, before: TaskState) {
        if let Some(states) = self.tasks.get_mut(&task)
            && !states.contains(&before)
        {
            states.push(before);
        }
    }
}

/// A task as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    services: Watched,
    enabled: bool,
}

impl Shown {
    /// Reads the answer of `GET /v1/tasks/{name}`.
    pub fn read(answer: &Value) -> Option<Self> {
        let task = &answer["task"];
        Some(Self {
            services: Kind::services(task)?,
            enabled: task["enabled"].as_bool()?,
        })
    }
}

fn after(before: &TaskState, order: &Order) -> TaskState {
    let follows = |now: bool| {
        if now {
            Follows::Surely
        } else {
            Follows::FromNextChange
        }
    };
    match (order, before) {
        (
            Order::Create {
                services,
                enabled,
                now,
            },
            _,
        )
        | (
            Order::Replace {
                services,
                enabled,
                now,
            },
            TaskState::Present(_),
        ) => TaskState::Present(Declared {
            services: services.clone(),
            enabled: *enabled,
            follows: follows(*now && *enabled),
        }),
        (Order::Delete, _) | (_, TaskState::Absent) => TaskState::Absent,
        (Order::Switch { on, now }, TaskState::Present(task)) => {
            let follows = match (task.enabled, on) {
                // At most a run happens to it.
                (true, true) => match (task.follows, now) {
                    (_, true) => Follows::Surely,
                    (before, false) => before,
                },
                (false, true) => follows(*now),
                // Changes while the task is disabled do not run it afterwards.
                (_, false) => Follows::FromNextChange,
            };
            TaskState::Present(Declared {
                enabled: *on,
                follows,
                ..task.clone()
            })
        }
    }
}

#[cfg(test)]
mod tests;
