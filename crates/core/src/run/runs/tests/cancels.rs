//! Runs that are cancelled.

use std::time::Duration;

use super::super::*;
use super::{context, input, outcomes, runs, wanted};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn asked(status: RunStatus, ordered: Option<u64>, force: bool) -> CancelDecision {
    let context = CancelContext {
        status,
        suspended: false,
        ordered: ordered.map(seconds),
        open_remote: false,
    };
    decide_cancel(context, force)
}

#[test]
fn the_first_order_is_gentle_and_only_force_makes_it_harder() {
    use CancelDecision::{Order, Refuse, Withdraw};
    use RunStatus::{Queued, Running};
    let cases = [
        (asked(Queued, None, false), Withdraw),
        (asked(Queued, None, true), Withdraw),
        (asked(Running, None, false), Order(CancelOrder::Interrupt)),
        (asked(Running, None, true), Order(CancelOrder::Force)),
        (
            asked(Running, Some(0), false),
            Refuse(CancelRefusal::InGrace(seconds(30))),
        ),
        (
            asked(Running, Some(29), false),
            Refuse(CancelRefusal::InGrace(seconds(1))),
        ),
        (
            asked(Running, Some(30), false),
            Refuse(CancelRefusal::NeedsForce),
        ),
        (asked(Running, Some(1), true), Order(CancelOrder::Force)),
    ];
    for (decision, expected) in cases {
        assert_eq!(decision, expected);
    }
    for ended in [
        RunStatus::Succeeded,
        RunStatus::Failed,
        RunStatus::Cancelled,
    ] {
        let refused = Refuse(CancelRefusal::Ended(ended));
        assert_eq!(asked(ended, Some(1), true), refused);
    }
    let suspended = CancelContext {
        status: Queued,
        suspended: true,
        ordered: None,
        open_remote: false,
    };
    assert_eq!(
        decide_cancel(suspended, true),
        Refuse(CancelRefusal::Suspended)
    );
    let open_remote = CancelContext {
        suspended: false,
        open_remote: true,
        ..suspended
    };
    assert_eq!(decide_cancel(open_remote, false), CancelDecision::EndRemote);
    assert_eq!(decide_cancel(open_remote, true), Withdraw);
}

#[test]
fn no_attempt_follows_one_that_was_cancelled() {
    for kind in RunKind::ALL {
        for phase in TaskPhase::ALL {
            for newer_waits in [false, true] {
                let context = AttemptContext {
                    kind,
                    phase,
                    destroying: kind == RunKind::Destroy,
                    cancelled: true,
                    ..context(1, newer_waits)
                };
                let mut ends = vec![after_lost_lease(true, context)];
                ends.extend(
                    outcomes()
                        .iter()
                        .map(|outcome| after_attempt(outcome, context)),
                );
                for after in ends {
                    let again = matches!(
                        after,
                        AfterAttempt::Retry(_)
                            | AfterAttempt::Requeue
                            | AfterAttempt::GiveUp {
                                retry_after: Some(_)
                            }
                    );
                    assert!(!again, "{kind:?} {phase:?}: {after:?}");
                    assert_eq!(after == AfterAttempt::Suspend, kind == RunKind::Destroy);
                }
            }
        }
    }
}

#[test]
fn a_cancelled_apply_fails_and_one_that_is_done_has_succeeded() {
    let cancelled = AttemptContext {
        cancelled: true,
        ..context(1, false)
    };
    assert!(cancelled.withholds());
    let after = |outcome| after_attempt(&outcome, cancelled);
    let given_up = AfterAttempt::GiveUp { retry_after: None };
    assert_eq!(after(AttemptOutcome::Interrupted), given_up);
    assert_eq!(after(AttemptOutcome::Failed("halted".into())), given_up);
    assert_eq!(after(AttemptOutcome::Applied), AfterAttempt::Succeed);
    let newer = AttemptContext {
        newer_waits: true,
        ..cancelled
    };
    assert!(!newer.withholds());
}

#[test]
fn a_run_that_was_ended_on_its_server_is_not_tried_again() {
    let declined = AttemptOutcome::Declined("discarded".into());
    let after = |kind, destroying| {
        let context = AttemptContext {
            kind,
            destroying,
            ..context(1, false)
        };
        after_attempt(&declined, context)
    };
    let given_up = AfterAttempt::GiveUp { retry_after: None };
    assert_eq!(after(RunKind::Apply, false), given_up);
    assert_eq!(after(RunKind::Destroy, true), AfterAttempt::Suspend);
    for plan in [RunKind::Plan, RunKind::DestroyPlan] {
        let failed = AfterAttempt::End { succeeded: false };
        assert_eq!(after(plan, false), failed);
    }
}

#[test]
fn cancelled_input_is_withheld_until_something_else_is_wanted() {
    let state = TaskRuns {
        withheld: Some(input(1)),
        ..runs(None, None, None)
    };
    assert_eq!(decide_enqueue(state, wanted(1)), EnqueueDecision::Withhold);
    assert_eq!(decide_enqueue(state, wanted(2)), EnqueueDecision::Enqueue);
    let requested = WantedApply {
        requested: true,
        ..wanted(1)
    };
    assert_eq!(decide_enqueue(state, requested), EnqueueDecision::Enqueue);
    let always = WantedApply {
        skip_unchanged: false,
        ..wanted(1)
    };
    assert_eq!(decide_enqueue(state, always), EnqueueDecision::Enqueue);
}
