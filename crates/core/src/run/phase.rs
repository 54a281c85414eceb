//! The life of a task that is created and deleted while the program runs (docs/rest.md#creating-a-task and the
//! sections after it).
//!
//! A task of the API begins as a *draft*: in the phase [`Creating`](TaskPhase::Creating) during the one run that its
//! creation requests, and possibly [`Discarded`](TaskPhase::Discarded) afterwards. A draft is hidden. This module
//! decides whether the task may be changed now; `after_run.rs` decides its phase at the end of a run.

use serde::{Deserialize, Serialize};

use crate::spelled;

spelled! {
    /// Phase of a task between its creation and its deletion.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum TaskPhase {
        /// The run that creates the task has not ended. The task is hidden, and has no other run.
        Creating = "creating",
        /// The task is visible to clients.
        #[default]
        Ready = "ready",
        /// The task is removed as soon as its run has ended; no other run begins except the run that destroys its
        /// infrastructure.
        Deleting = "deleting",
        /// An inspection has ended, or a creation has failed. The task is kept until the caller that waits for its run
        /// has read the run, and is as invisible as a task in creation.
        Discarded = "discarded",
    }
}

impl TaskPhase {
    /// Whether lists, answers and events show the task.
    pub const fn is_visible(self) -> bool {
        matches!(self, Self::Ready | Self::Deleting)
    }
}

spelled! {
    /// Outcome for a task that is being created when its run ends.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Creation {
        /// The task stays if the run succeeds.
        Keep = "keep",
        /// The task is discarded in any case: an inspection.
        Discard = "discard",
    }
}

/// Current activity of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskActivity {
    /// Its phase.
    pub phase: TaskPhase,
    /// A run is running, and does not wait for a condition outside of cts.
    pub running: bool,
    /// The running run checks a disabled task, which changes nothing.
    pub checks: bool,
    /// A run is leased and waits for a condition outside of cts.
    pub waits: bool,
    /// A queued run is due, or between two of its attempts, and does not check a disabled task.
    pub about_to_run: bool,
    /// A request for a run was not carried out yet, except for the check of a disabled task.
    pub requested: bool,
}

impl TaskActivity {
    /// Whether the task is *active* (docs/rest.md#while-a-task-runs), so that calls that need an idle task must be
    /// repeated.
    ///
    /// Not active: a failed input that is retried after a minute or an hour, a waiting run, which gives way, and the
    /// check of a disabled task.
    pub const fn is_busy(self) -> bool {
        let Self {
            phase,
            running,
            checks,
            waits: _,
            about_to_run,
            requested,
        } = self;
        running && !checks || about_to_run || requested || !matches!(phase, TaskPhase::Ready)
    }

    /// Whether a worker holds a lease of a run of the task.
    pub const fn is_leased(self) -> bool {
        self.running || self.waits
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn phases_are_spelled_as_they_are_encoded() {
        for phase in TaskPhase::ALL {
            let encoded = serde_json::to_value(phase).unwrap();
            assert_eq!(encoded, phase.as_str());
        }
        let visible = TaskPhase::ALL.map(TaskPhase::is_visible);
        assert_eq!(visible, [false, true, true, false]);
    }

    proptest! {
        /// Each condition makes a task busy independently of all others.
        #[test]
        fn a_task_is_idle_only_if_nothing_at_all_goes_on(
            phase in 0_usize..4, running in any::<bool>(), about_to_run in any::<bool>(),
            requested in any::<bool>(), waits in any::<bool>(), checks in any::<bool>(),
        ) {
            let checks = checks && running;
            let phase = TaskPhase::ALL[phase];
            let activity = TaskActivity { phase, running, checks, waits, about_to_run, requested };
            let idle = TaskActivity {
                phase: TaskPhase::Ready, running: checks, checks, waits, ..TaskActivity::default()
            };
            prop_assert_eq!(activity.is_busy(), activity != idle);
        }
    }
}
