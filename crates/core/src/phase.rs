//! The life of a task that comes and goes while the program runs
//! (docs/rest.md#creating-a-task and what follows there).
//!
//! A task of the API begins as a *draft*: in the phase [`Creating`](TaskPhase::Creating), while the one run
//! goes on that its creation asks for, and perhaps [`Discarded`](TaskPhase::Discarded) after it. A draft is
//! hidden. This module decides the phase of a task at the end of a run, and whether the task may be changed
//! now.

use serde::{Deserialize, Serialize};

use crate::deletion::Destruction;
use crate::identity::RunId;
use crate::runs::kind::RunStatus;

/// Where a task is between its creation and its deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskPhase {
    /// The run of its creation goes on. The task is hidden, and has no other run.
    Creating,
    /// The task exists for clients.
    #[default]
    Ready,
    /// The task goes as soon as its run has ended; no other run begins but the one that destroys its
    /// infrastructure.
    Deleting,
    /// An inspection that is over, or a creation that has failed: kept until the caller that waits for its run
    /// has read that, and as invisible as one that is being created.
    Discarded,
}

impl TaskPhase {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Creating, Self::Ready, Self::Deleting, Self::Discarded];

    /// The stored spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Ready => "ready",
            Self::Deleting => "deleting",
            Self::Discarded => "discarded",
        }
    }

    /// Whether lists, answers and events show the task.
    pub const fn is_visible(self) -> bool {
        matches!(self, Self::Ready | Self::Deleting)
    }
}

/// Outcome for a task that is being created when its run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Creation {
    /// The task stays if the run succeeds.
    Keep,
    /// The task goes either way: an inspection.
    Discard,
}

impl Creation {
    /// The stored spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Discard => "discard",
        }
    }
}

/// Effect of an attempt's end on its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskAfterRun {
    /// Nothing.
    Stays,
    /// The task enters this phase.
    Enters(TaskPhase),
    /// The task goes, with everything that belongs to it.
    Goes,
    /// This run is queued, which destroys its infrastructure, unless nothing was ever applied: then it goes.
    Destroys(RunId),
}

/// Decides the effect on a task whose only running run has got this status.
///
/// `creation` is set while the task is being created, and `destruction` says what the run has to do with the
/// destruction of its infrastructure.
pub const fn task_after_run(
    phase: TaskPhase,
    creation: Option<Creation>,
    destruction: Destruction,
    status: RunStatus,
) -> TaskAfterRun {
    match phase {
        TaskPhase::Ready | TaskPhase::Discarded => TaskAfterRun::Stays,
        TaskPhase::Deleting => after_deletion(destruction, status),
        TaskPhase::Creating => match (status, creation) {
            (RunStatus::Queued | RunStatus::Running, _) => TaskAfterRun::Stays,
            (RunStatus::Succeeded, Some(Creation::Keep)) => TaskAfterRun::Enters(TaskPhase::Ready),
            _ => TaskAfterRun::Enters(TaskPhase::Discarded),
        },
    }
}

const fn after_deletion(destruction: Destruction, status: RunStatus) -> TaskAfterRun {
    match destruction {
        _ if matches!(status, RunStatus::Running) => TaskAfterRun::Stays,
        Destruction::Run if !matches!(status, RunStatus::Succeeded) => TaskAfterRun::Stays,
        Destruction::Waits(_) if matches!(status, RunStatus::Queued) => TaskAfterRun::Stays,
        Destruction::None | Destruction::Run => TaskAfterRun::Goes,
        Destruction::Waits(run) => TaskAfterRun::Destroys(run),
    }
}

/// Current activity of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskActivity {
    /// Its phase.
    pub phase: TaskPhase,
    /// A run is running, and does not wait for something outside of cts.
    pub running: bool,
    /// That run checks a disabled task, which changes nothing.
    pub checks: bool,
    /// A run is leased and waits for something outside of cts.
    pub waits: bool,
    /// A queued run is due, or between two of its attempts, and does not check a disabled task.
    pub about_to_run: bool,
    /// A request of a run other than the check of a disabled task was not carried out yet.
    pub requested: bool,
}

impl TaskActivity {
    /// Whether the task is *active* (docs/rest.md#while-a-task-runs), so that calls which need it idle
    /// have to be repeated. A failed input that is tried afresh after a minute or an hour does not make it so, nor does
    /// a run that waits, which gives way, or the check of a disabled task.
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

    /// Whether a worker has a lease of one of its runs.
    pub const fn is_leased(self) -> bool {
        self.running || self.waits
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STATUSES: [RunStatus; 5] = [
        RunStatus::Queued,
        RunStatus::Running,
        RunStatus::Succeeded,
        RunStatus::Failed,
        RunStatus::Cancelled,
    ];

    #[test]
    fn a_creation_is_kept_if_its_run_succeeds_and_an_inspection_never() {
        let after = |creation, status| {
            task_after_run(
                TaskPhase::Creating,
                Some(creation),
                Destruction::None,
                status,
            )
        };
        let ready = TaskAfterRun::Enters(TaskPhase::Ready);
        let discarded = TaskAfterRun::Enters(TaskPhase::Discarded);
        let keep = STATUSES.map(|status| after(Creation::Keep, status));
        let stays = TaskAfterRun::Stays;
        assert_eq!(keep, [stays, stays, ready, discarded, discarded]);
        let inspection = STATUSES.map(|status| after(Creation::Discard, status));
        assert_eq!(inspection, [stays, stays, discarded, discarded, discarded]);
    }

    #[test]
    fn a_task_that_is_deleted_goes_when_nothing_of_it_runs() {
        for status in STATUSES {
            let after = task_after_run(TaskPhase::Deleting, None, Destruction::None, status);
            let running = status == RunStatus::Running;
            assert_eq!(after == TaskAfterRun::Goes, !running, "{status:?}");
        }
    }

    #[test]
    fn a_task_whose_infrastructure_is_destroyed_goes_when_that_has_succeeded() {
        let after = |destruction| {
            STATUSES.map(|status| task_after_run(TaskPhase::Deleting, None, destruction, status))
        };
        let run = RunId::from_uuid(uuid::Uuid::from_u128(7));
        let (stays, destroys) = (TaskAfterRun::Stays, TaskAfterRun::Destroys(run));
        let waits = after(Destruction::Waits(run));
        assert_eq!(waits, [stays, stays, destroys, destroys, destroys]);
        let run = after(Destruction::Run);
        assert_eq!(run, [stays, stays, TaskAfterRun::Goes, stays, stays]);
    }

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
        /// However its runs end, a visible task stays visible, and a hidden one stays hidden unless its own
        /// creation has succeeded.
        #[test]
        fn only_a_creation_brings_a_task_to_light(
            phase in 0_usize..4, status in 0_usize..5, keep in any::<bool>(),
            destruction in 0_usize..3,
        ) {
            let (phase, status) = (TaskPhase::ALL[phase], STATUSES[status]);
            let run = RunId::from_uuid(uuid::Uuid::nil());
            let destruction =
                [Destruction::None, Destruction::Waits(run), Destruction::Run][destruction];
            let creation = if keep { Creation::Keep } else { Creation::Discard };
            let creation = (phase == TaskPhase::Creating).then_some(creation);
            match task_after_run(phase, creation, destruction, status) {
                TaskAfterRun::Stays => {}
                TaskAfterRun::Goes | TaskAfterRun::Destroys(_) => {
                    prop_assert_eq!(phase, TaskPhase::Deleting);
                }
                TaskAfterRun::Enters(next) => {
                    prop_assert_eq!(phase, TaskPhase::Creating);
                    prop_assert!(status.is_end());
                    prop_assert_eq!(next.is_visible(), keep && status == RunStatus::Succeeded);
                }
            }
        }

        /// Nothing that makes a task busy is made up for by anything else.
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
