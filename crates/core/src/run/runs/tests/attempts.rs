//! Decisions after the end of an attempt.

use std::time::Duration;

use proptest::prelude::*;

use super::super::*;
use super::{context, outcomes};

#[test]
fn three_attempts_with_growing_waits() {
    let failed = AttemptOutcome::Failed("no".into());
    let seconds = Duration::from_secs;
    assert_eq!(
        after_attempt(&failed, context(1, false)),
        AfterAttempt::Retry(seconds(1))
    );
    let widest = AttemptContext {
        jitter: 1.0,
        ..context(2, false)
    };
    assert_eq!(
        after_attempt(&failed, widest),
        AfterAttempt::Retry(seconds(3))
    );
    assert_eq!(
        after_attempt(&failed, context(3, false)),
        AfterAttempt::GiveUp {
            retry_after: Some(seconds(60))
        }
    );
}

#[test]
fn slow_retries_grow_to_an_hour_and_can_be_off() {
    let failed = AttemptOutcome::Failed("no".into());
    let waits: Vec<_> = (0..9)
        .map(|earlier_failures| {
            let context = AttemptContext {
                earlier_failures,
                ..context(ATTEMPTS, false)
            };
            match after_attempt(&failed, context) {
                AfterAttempt::GiveUp {
                    retry_after: Some(wait),
                } => wait.as_secs(),
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_eq!(waits, [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
    let off = AttemptContext {
        retry_failed: false,
        ..context(ATTEMPTS, false)
    };
    assert_eq!(
        after_attempt(&failed, off),
        AfterAttempt::GiveUp { retry_after: None }
    );
}

#[test]
fn a_newer_input_ends_the_attempts_of_the_older() {
    let failed = AttemptOutcome::Failed("no".into());
    assert_eq!(
        after_attempt(&failed, context(1, true)),
        AfterAttempt::GiveUp { retry_after: None }
    );
    assert_eq!(
        after_attempt(&AttemptOutcome::Interrupted, context(1, true)),
        AfterAttempt::Cancel
    );
    assert_eq!(
        after_attempt(&AttemptOutcome::Interrupted, context(1, false)),
        AfterAttempt::Requeue
    );
}

#[test]
fn a_requested_run_that_is_cut_off_has_its_attempt_again() {
    let requested = AttemptContext {
        no_retry: true,
        ..context(1, false)
    };
    assert_eq!(
        after_attempt(&AttemptOutcome::Interrupted, requested),
        AfterAttempt::Requeue
    );
    assert_eq!(
        after_attempt(&AttemptOutcome::Applied, requested),
        AfterAttempt::Succeed
    );
}

#[test]
fn a_worker_that_did_something_else_has_failed() {
    let applies = outcomes().map(|outcome| outcome.error(RunKind::Apply).is_some());
    assert_eq!(applies, [false, true, true, true, false]);
    let plans = outcomes().map(|outcome| outcome.error(RunKind::Plan).is_some());
    assert_eq!(plans, [true, false, true, true, false]);
    let checks = outcomes().map(|outcome| outcome.error(RunKind::Check).is_some());
    assert_eq!(checks, [true, true, false, true, false]);
}

#[test]
fn only_an_apply_settles_and_what_applies_nothing_just_ends() {
    for outcome in outcomes() {
        let applied = after_attempt(&outcome, context(1, false));
        let is_applied = outcome == AttemptOutcome::Applied;
        assert_eq!(applied == AfterAttempt::Succeed, is_applied, "{outcome:?}");
        assert!(!matches!(applied, AfterAttempt::End { .. }));
        for kind in [RunKind::Plan, RunKind::Check] {
            let around = AttemptContext {
                kind,
                ..context(1, false)
            };
            let after = after_attempt(&outcome, around);
            let expected = match &outcome {
                AttemptOutcome::Interrupted => AfterAttempt::Requeue,
                outcome => AfterAttempt::End {
                    succeeded: outcome.error(kind).is_none(),
                },
            };
            assert_eq!(after, expected, "{kind:?} {outcome:?}");
        }
    }
}

#[test]
fn a_creation_that_fails_leaves_no_event() {
    let creating = AttemptContext {
        phase: TaskPhase::Creating,
        ..context(1, false)
    };
    let after = outcomes().map(|outcome| after_attempt(&outcome, creating));
    let failed = AfterAttempt::End { succeeded: false };
    let expected = [
        AfterAttempt::Succeed,
        failed,
        failed,
        failed,
        AfterAttempt::Requeue,
    ];
    assert_eq!(after, expected);
}

#[test]
fn a_task_that_is_deleted_has_no_further_attempt() {
    for kind in RunKind::ENQUEUED {
        for outcome in outcomes() {
            let deleting = AttemptContext {
                kind,
                phase: TaskPhase::Deleting,
                ..context(1, false)
            };
            let after = after_attempt(&outcome, deleting);
            let goes_on = matches!(
                after,
                AfterAttempt::Retry(_)
                    | AfterAttempt::Requeue
                    | AfterAttempt::GiveUp {
                        retry_after: Some(_)
                    }
            );
            assert!(!goes_on, "{kind:?} {outcome:?}: {after:?}");
        }
    }
}

#[test]
fn a_failed_requested_run_leaves_the_ordinary_attempts_that_its_input_has_not_had() {
    let failed = AttemptOutcome::Failed("no".into());
    let requested = AttemptContext {
        no_retry: true,
        ..context(1, false)
    };
    let follows = |context| match after_attempt(&failed, context) {
        AfterAttempt::GiveUp { retry_after } => retry_after.map(|wait| wait.as_secs()),
        other => panic!("{other:?}"),
    };
    for retry_failed in [false, true] {
        let around = AttemptContext {
            retry_failed,
            ..requested
        };
        assert_eq!(follows(around), Some(1), "it may stand for a change");
        let tried = AttemptContext {
            tried: true,
            ..around
        };
        assert_eq!(follows(tried), retry_failed.then_some(60));
        for (enabled, newer_waits) in [(false, false), (true, true), (false, true)] {
            let nothing = AttemptContext {
                enabled,
                newer_waits,
                ..around
            };
            assert_eq!(follows(nothing), None, "{enabled} {newer_waits}");
        }
        let merged = AttemptContext {
            no_retry: false,
            ..around
        };
        assert_eq!(
            after_attempt(&failed, merged),
            AfterAttempt::Retry(Duration::from_secs(1)),
            "a change has taken it over"
        );
    }
}

#[test]
fn a_lost_lease_counts_and_delays_the_later_attempts() {
    for kind in RunKind::ENQUEUED {
        for no_retry in [false, true] {
            let after = |attempts| {
                let context = AttemptContext {
                    kind,
                    no_retry,
                    ..context(attempts, false)
                };
                after_lost_lease(true, context)
            };
            assert_eq!(after(1), AfterAttempt::Retry(Duration::ZERO));
            assert_eq!(after(2), AfterAttempt::Retry(Duration::from_secs(1)));
            let end = match kind {
                RunKind::Apply => AfterAttempt::GiveUp {
                    retry_after: Some(Duration::from_secs(if no_retry { 1 } else { 60 })),
                },
                _ => AfterAttempt::End { succeeded: false },
            };
            assert_eq!(after(ATTEMPTS), end, "{kind:?} {no_retry}");
        }
    }
}

#[test]
fn a_lease_that_nobody_could_renew_does_not_count() {
    for attempts in [1, ATTEMPTS, 9] {
        for kind in RunKind::ENQUEUED {
            let context = AttemptContext {
                kind,
                ..context(attempts, false)
            };
            assert_eq!(after_lost_lease(false, context), AfterAttempt::Requeue);
        }
    }
}

#[test]
fn a_lost_lease_ends_a_run_that_nobody_needs_any_more() {
    for renewable in [false, true] {
        let newer = after_lost_lease(renewable, context(1, true));
        assert_eq!(newer, AfterAttempt::Cancel);
        let plan = AttemptContext {
            kind: RunKind::Plan,
            ..context(1, true)
        };
        assert_ne!(after_lost_lease(renewable, plan), AfterAttempt::Cancel);
        for kind in RunKind::ENQUEUED {
            let deleting = AttemptContext {
                kind,
                phase: TaskPhase::Deleting,
                ..context(ATTEMPTS, false)
            };
            let after = after_lost_lease(renewable, deleting);
            assert_eq!(after, AfterAttempt::Cancel);
        }
    }
}

#[test]
fn a_creation_whose_workers_are_lost_fails_without_an_event() {
    let creating = AttemptContext {
        phase: TaskPhase::Creating,
        no_retry: true,
        ..context(ATTEMPTS, false)
    };
    let after = after_lost_lease(true, creating);
    assert_eq!(after, AfterAttempt::End { succeeded: false });
}

proptest! {
    /// In every context, a run that applies nothing ends in the same way.
    #[test]
    fn end_of_a_run_that_applies_nothing_ignores_its_context(
        which in 0_usize..5, no_retry in any::<bool>(), attempts in 1_u32..9,
        newer_waits in any::<bool>(), earlier_failures in 0_u32..9, retry_failed in any::<bool>(),
        jitter in 0.0_f64..1.0, check in any::<bool>(),
    ) {
        let outcome = &outcomes()[which];
        let kind = if check { RunKind::Check } else { RunKind::Plan };
        let alone = AttemptContext { kind, ..context(1, false) };
        let around = AttemptContext {
            no_retry,
            attempts,
            newer_waits,
            earlier_failures,
            retry_failed,
            jitter,
            ..alone
        };
        prop_assert_eq!(after_attempt(outcome, around), after_attempt(outcome, alone));
    }
}
