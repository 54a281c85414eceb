//! The phase of a task at the end of a run (docs/rest.md#creating-a-task).

use crate::run::phase::{Creation, TaskPhase};
use crate::run::runs::kind::RunStatus;
use crate::task::deletion::Destruction;
use crate::words::identity::RunId;

/// Effect of an attempt's end on its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskAfterRun {
    /// The task does not change.
    Stays,
    /// The task enters this phase.
    Enters(TaskPhase),
    /// The task is removed, with all its data.
    Goes,
    /// This run is queued, which destroys the task's infrastructure. If nothing was ever applied, the task is
    /// removed.
    Destroys(RunId),
}

/// Decides the effect on a task whose only running run has reached this status.
///
/// `creation` is set while the task is being created; `destruction` is the relation of the run to the destruction of
/// the task's infrastructure.
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
    }
}
