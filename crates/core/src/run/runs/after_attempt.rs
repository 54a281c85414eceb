//! The decision that follows an attempt.

use std::time::Duration;

use super::RunKind;
use super::attempt::{
    ATTEMPTS, AfterAttempt, AttemptContext, AttemptOutcome, attempt_delay, slow_retry,
};
use super::cancel::after_cancelled;
use super::destroy::{after_destroy, after_lost_destroy};
use super::wait::after_wait;
use crate::run::phase::TaskPhase;

/// Decides what follows an attempt.
///
/// A task in deletion has no further attempt, so that it can be removed now.
pub fn after_attempt(outcome: &AttemptOutcome, context: AttemptContext) -> AfterAttempt {
    if let Some(after) = after_cancelled(outcome, context) {
        return after;
    }
    if context.kind == RunKind::Destroy {
        return after_destroy(outcome, context);
    }
    if let Some(after) = after_wait(outcome, context) {
        return after;
    }
    if *outcome == AttemptOutcome::Interrupted {
        return if context.is_pointless() {
            AfterAttempt::Cancel
        } else {
            AfterAttempt::Requeue
        };
    }
    let failed = outcome.error(context.kind).is_some();
    match context.kind {
        RunKind::Apply if failed => after_failed_apply(context),
        RunKind::Apply => AfterAttempt::Succeed,
        RunKind::Plan | RunKind::Check | RunKind::DestroyPlan | RunKind::Destroy => {
            AfterAttempt::End { succeeded: !failed }
        }
    }
}

/// Decides what follows an attempt whose lease has expired, so that its outcome is not known.
///
/// The attempt counts like a failed attempt, even for a requested run, because the input may kill its workers, and
/// such an input must not kill all of them. The first lost lease of a run causes no delay, later losses delay it like
/// failures. A lease that no scheduler could renew (`renewable` is false) is no evidence about the input: the attempt
/// does not count. An attempt whose run waited does not count either, because it has applied nothing.
pub fn after_lost_lease(renewable: bool, context: AttemptContext) -> AfterAttempt {
    if let Some(after) = after_cancelled(&AttemptOutcome::Interrupted, context) {
        return after;
    }
    if context.kind == RunKind::Destroy {
        return after_lost_destroy(renewable, context);
    }
    if let Some(after) = after_wait(&AttemptOutcome::Interrupted, context) {
        return after;
    }
    if context.is_pointless() {
        AfterAttempt::Cancel
    } else if !renewable {
        AfterAttempt::Requeue
    } else if context.attempts < ATTEMPTS {
        AfterAttempt::Retry(match context.attempts {
            0 | 1 => Duration::ZERO,
            lost => attempt_delay(lost - 1, context.jitter),
        })
    } else {
        match context.kind {
            RunKind::Apply => after_failed_apply(context),
            RunKind::Plan | RunKind::Check | RunKind::DestroyPlan | RunKind::Destroy => {
                AfterAttempt::End { succeeded: false }
            }
        }
    }
}

/// Decides after a failed attempt to apply.
///
/// No attempt follows if a newer input waits, which must be applied instead, if the task's declaration has changed,
/// or while its Terraform state is refused: a decision about the state runs the task.
fn after_failed_apply(context: AttemptContext) -> AfterAttempt {
    match context.phase {
        // A task that was never visible has no events.
        TaskPhase::Creating | TaskPhase::Discarded => {
            return AfterAttempt::End { succeeded: false };
        }
        TaskPhase::Deleting => return AfterAttempt::GiveUp { retry_after: None },
        TaskPhase::Ready => {}
    }
    if context.newer_waits || context.withdrawn || context.state_refused {
        AfterAttempt::GiveUp { retry_after: None }
    } else if context.no_retry {
        AfterAttempt::GiveUp {
            retry_after: after_failed_request(context),
        }
    } else if context.attempts < ATTEMPTS {
        AfterAttempt::Retry(attempt_delay(context.attempts, context.jitter))
    } else {
        AfterAttempt::GiveUp {
            retry_after: slow_retry(context),
        }
    }
}

/// Returns when an ordinary run tries the input of a failed requested run, if at all.
///
/// Since the lease the task has no last applied input, and a change that was queued before or came during the run has
/// no separate run. So the input soon gets the ordinary attempts that it has not had, whatever the task's settings
/// for retries; if it has had them, this failure is a further failure.
fn after_failed_request(context: AttemptContext) -> Option<Duration> {
    if !context.enabled {
        None
    } else if context.tried {
        slow_retry(context)
    } else {
        Some(attempt_delay(1, context.jitter))
    }
}
