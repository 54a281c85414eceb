//! Runs that wait for something outside of cts.

use proptest::prelude::*;

use super::super::*;
use super::{context, outcomes};

const APPROVED: WaitContext = WaitContext {
    kind: RunKind::Apply,
    phase: TaskPhase::Ready,
    enabled: true,
    requested: false,
    newer_waits: false,
    withdrawn: false,
    look_waits: false,
};

fn waiting() -> AttemptContext {
    AttemptContext {
        waits: true,
        ..context(1, false)
    }
}

#[test]
fn wait_ends_when_its_task_wants_something_else() {
    assert_eq!(wait_end(APPROVED), None);
    let deleting = WaitContext {
        phase: TaskPhase::Deleting,
        newer_waits: true,
        ..APPROVED
    };
    let newer = WaitContext {
        newer_waits: true,
        withdrawn: true,
        ..APPROVED
    };
    let withdrawn = WaitContext {
        withdrawn: true,
        look_waits: true,
        ..APPROVED
    };
    let disabled = WaitContext {
        enabled: false,
        ..APPROVED
    };
    let requested = WaitContext {
        requested: true,
        ..disabled
    };
    let checked = WaitContext {
        look_waits: true,
        ..APPROVED
    };
    let ends = [deleting, newer, withdrawn, disabled, requested, checked].map(wait_end);
    let expected = [
        Some(WaitEnd::TaskDeleted),
        Some(WaitEnd::NewerInput),
        Some(WaitEnd::TaskChanged),
        Some(WaitEnd::TaskChanged),
        None,
        Some(WaitEnd::CheckQueued),
    ];
    assert_eq!(ends, expected);
}

#[test]
fn a_worker_that_drains_or_is_lost_leaves_the_wait_to_another() {
    let interrupted = AttemptOutcome::Interrupted;
    assert_eq!(
        after_attempt(&interrupted, waiting()),
        AfterAttempt::Requeue
    );
    for renewable in [false, true] {
        for attempts in 1..=ATTEMPTS {
            let context = AttemptContext {
                attempts,
                ..waiting()
            };
            let after = after_lost_lease(renewable, context);
            assert_eq!(after, AfterAttempt::Requeue);
        }
    }
}

#[test]
fn a_wait_in_vain_is_a_failure_that_nothing_follows() {
    let refused = AttemptOutcome::Failed("refused".into());
    assert_eq!(
        after_attempt(&refused, waiting()),
        AfterAttempt::GiveUp { retry_after: None }
    );
    let creating = AttemptContext {
        phase: TaskPhase::Creating,
        ..waiting()
    };
    assert_eq!(
        after_attempt(&refused, creating),
        AfterAttempt::End { succeeded: false }
    );
}

proptest! {
    /// A run whose wait is over is cancelled without an event, whatever its outcome, and nothing is lost: with a
    /// newer input, or if nothing is left to apply.
    #[test]
    fn a_wait_that_is_over_leaves_no_trace(
        newer_waits in any::<bool>(), withdrawn in any::<bool>(), deleting in any::<bool>(),
        renewable in any::<bool>(), failed in any::<bool>(),
    ) {
        prop_assume!(newer_waits || withdrawn || deleting);
        let phase = if deleting { TaskPhase::Deleting } else { TaskPhase::Ready };
        let context = AttemptContext { phase, newer_waits, withdrawn, ..waiting() };
        let outcome = if failed {
            AttemptOutcome::Failed("no".into())
        } else {
            AttemptOutcome::Interrupted
        };
        prop_assert_eq!(after_attempt(&outcome, context), AfterAttempt::Cancel);
        prop_assert_eq!(after_lost_lease(renewable, context), AfterAttempt::Cancel);
    }

    /// A withdrawn run that is already applying goes on, and has no further attempt.
    #[test]
    fn run_withdrawn_at_work_is_not_tried_again(
        outcome in 0_usize..5, attempts in 1_u32..4, newer in any::<bool>(), renewable in any::<bool>(),
    ) {
        let outcome = &outcomes()[outcome];
        let before = context(attempts, newer);
        let withdrawn = AttemptContext { withdrawn: true, ..before };
        let after = after_attempt(outcome, withdrawn);
        match outcome {
            AttemptOutcome::Applied => prop_assert_eq!(after, AfterAttempt::Succeed),
            AttemptOutcome::Interrupted => prop_assert_eq!(after, AfterAttempt::Cancel),
            _ => prop_assert_eq!(after, AfterAttempt::GiveUp { retry_after: None }),
        }
        prop_assert_eq!(after_lost_lease(renewable, withdrawn), AfterAttempt::Cancel);
    }
}
