//! Decisions after an attempt to destroy.

use std::time::Duration;

use super::super::*;
use super::{context, outcomes, plan};

fn destroying(attempts: u32) -> AttemptContext {
    AttemptContext {
        kind: RunKind::Destroy,
        phase: TaskPhase::Deleting,
        destroying: true,
        ..context(attempts, false)
    }
}

fn given_up(attempts: u32) -> AttemptContext {
    AttemptContext {
        destroying: false,
        ..destroying(attempts)
    }
}

#[test]
fn only_a_destruction_ends_it_and_everything_else_is_tried_again_for_ever() {
    let done = after_attempt(&AttemptOutcome::Destroyed, destroying(1));
    assert_eq!(done, AfterAttempt::End { succeeded: true });
    for outcome in outcomes() {
        let after = after_attempt(&outcome, destroying(1));
        let expected = match outcome {
            AttemptOutcome::Interrupted => AfterAttempt::Requeue,
            _ => AfterAttempt::Retry(Duration::from_secs(1)),
        };
        assert_eq!(after, expected, "{outcome:?}");
    }
}

#[test]
fn failed_destroys_ignore_task_settings_and_wait_up_to_an_hour() {
    let failed = AttemptOutcome::Failed("no".into());
    let waits: Vec<_> = (1..12)
        .map(|attempts| {
            let context = AttemptContext {
                retry_failed: false,
                enabled: false,
                ..destroying(attempts)
            };
            match after_attempt(&failed, context) {
                AfterAttempt::Retry(wait) => wait.as_secs(),
                other => panic!("{other:?}"),
            }
        })
        .collect();
    let expected = [1, 2, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600];
    assert_eq!(waits, expected);
    let most = after_attempt(&failed, destroying(u32::MAX));
    assert_eq!(most, AfterAttempt::Retry(Duration::from_hours(1)));
}

#[test]
fn a_lost_lease_is_an_attempt_that_failed() {
    let after = |attempts| after_lost_lease(true, destroying(attempts));
    assert_eq!(after(1), AfterAttempt::Retry(Duration::ZERO));
    assert_eq!(after(2), AfterAttempt::Retry(Duration::from_secs(2)));
    assert_eq!(after(9), AfterAttempt::Retry(Duration::from_hours(1)));
    let unrenewable = after_lost_lease(false, destroying(9));
    assert_eq!(unrenewable, AfterAttempt::Requeue);
}

#[test]
fn abandoned_destroy_has_no_further_attempt() {
    for outcome in outcomes() {
        let expected = match outcome {
            AttemptOutcome::Interrupted => AfterAttempt::Cancel,
            _ => AfterAttempt::End { succeeded: false },
        };
        assert_eq!(after_attempt(&outcome, given_up(1)), expected);
    }
    for renewable in [false, true] {
        let after = after_lost_lease(renewable, given_up(1));
        assert_eq!(after, AfterAttempt::Cancel);
    }
}

#[test]
fn run_of_a_task_being_destroyed_has_no_further_attempt() {
    for kind in RunKind::ENQUEUED {
        let waited_for = AttemptContext {
            kind,
            ..destroying(1)
        };
        let lost = after_lost_lease(true, waited_for);
        assert_eq!(lost, AfterAttempt::Cancel);
        let interrupted = after_attempt(&AttemptOutcome::Interrupted, waited_for);
        assert_eq!(interrupted, AfterAttempt::Cancel);
    }
}

#[test]
fn a_plan_of_it_is_a_plan_and_never_anything_that_was_done() {
    let planned = AttemptContext {
        kind: RunKind::DestroyPlan,
        ..context(1, false)
    };
    let after = after_attempt(&plan(), planned);
    assert_eq!(after, AfterAttempt::End { succeeded: true });
    let others = [AttemptOutcome::Destroyed, AttemptOutcome::Applied];
    // An earlier scheduler leases the run as a check.
    for other in [AttemptOutcome::Checked].into_iter().chain(others) {
        let after = after_attempt(&other, planned);
        assert_eq!(after, AfterAttempt::End { succeeded: false }, "{other:?}");
    }
    for kind in RunKind::ENQUEUED {
        assert!(AttemptOutcome::Destroyed.error(kind).is_some());
    }
}
