//! What a scheduler is to do with its tasks, and what keeps a mode with one run of each to it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use cts_core::runs::{RunKind, RunKinds};
use cts_core::{RunId, TaskName};
use cts_store::Unchanged;

/// What the scheduler is to do with its tasks (docs/runs.md#passes).
///
/// `Once` and `Inspect` are for a process that has its store for itself. Each enabled task gets one run, as
/// soon as each of its views has a snapshot, and nothing else is leased, whatever earlier processes have
/// left in the queue. A caller that follows runs from before [`Scheduler::run`](crate::Scheduler::run) sees
/// the end of each. Nothing ends by itself then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Run each task, and again whenever something has changed.
    #[default]
    Daemon,
    /// Apply each enabled task once, also where its input is applied already, with one attempt.
    Once,
    /// Plan each enabled task once; nothing is applied.
    Inspect,
}

impl Mode {
    /// Whether each task gets one run and no more.
    pub(crate) const fn is_one_round(self) -> bool {
        matches!(self, Self::Once | Self::Inspect)
    }

    /// What the runs of tasks are for.
    pub(crate) const fn kind(self) -> RunKind {
        match self {
            Self::Daemon | Self::Once => RunKind::Apply,
            Self::Inspect => RunKind::Plan,
        }
    }

    /// Kinds of runs that may be leased.
    pub(crate) const fn kinds(self) -> RunKinds {
        match self {
            Self::Daemon => RunKinds::ALL,
            Self::Once => RunKinds::APPLIES,
            Self::Inspect => RunKinds::PLANS,
        }
    }

    /// What an input means that is applied already, where the mode itself says.
    pub(crate) const fn unchanged(self) -> Option<Unchanged> {
        match self {
            Self::Daemon => None,
            Self::Once | Self::Inspect => Some(Unchanged::Run),
        }
    }
}

/// The runs of the only round. They outlive a term, so that one that has to begin anew, because it does
/// not know what has become of a write, asks for the same runs again, which changes nothing.
#[derive(Debug, Default)]
pub(crate) struct Round(Mutex<BTreeMap<TaskName, RunId>>);

impl Round {
    /// The run of a task: the first time `new`, and the same ever after.
    pub(crate) fn run_of(&self, task: &TaskName, new: RunId) -> RunId {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *runs.entry(task.clone()).or_insert(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_one_run_in_a_round() {
        let id = |number: u32| {
            format!("00000000-0000-7000-8000-{number:012}")
                .parse::<RunId>()
                .unwrap()
        };
        let name = |name: &str| TaskName::new(name).unwrap();
        let round = Round::default();
        assert_eq!(round.run_of(&name("a"), id(1)), id(1));
        assert_eq!(round.run_of(&name("b"), id(2)), id(2));
        assert_eq!(round.run_of(&name("a"), id(3)), id(1));
    }

    #[test]
    fn nothing_but_plans_is_leased_in_an_inspection() {
        assert!(!Mode::Inspect.kinds().has(RunKind::Apply));
        for mode in [Mode::Daemon, Mode::Once, Mode::Inspect] {
            assert!(mode.kinds().has(mode.kind()), "{mode:?}");
        }
    }
}
