//! Decides what follows an attempt to destroy a task's infrastructure.
//!
//! A destruction is never given up automatically: the task stays until the destruction has succeeded, or until the
//! API is requested to keep the rest of the infrastructure. So an attempt that fails, or whose lease is lost, is
//! followed by a further attempt, at first with the delays of any run and then slowly, whatever the task's settings
//! for retries.

use std::time::Duration;

use super::attempt::{
    ATTEMPTS, AfterAttempt, AttemptContext, AttemptOutcome, attempt_delay, failure_delay,
};

pub(super) fn after_destroy(outcome: &AttemptOutcome, context: AttemptContext) -> AfterAttempt {
    let failed = outcome.error(context.kind).is_some();
    match outcome {
        AttemptOutcome::Interrupted if context.destroying => AfterAttempt::Requeue,
        AttemptOutcome::Interrupted => AfterAttempt::Cancel,
        _ if failed && context.destroying => AfterAttempt::Retry(delay(context)),
        _ => AfterAttempt::End { succeeded: !failed },
    }
}

pub(super) fn after_lost_destroy(renewable: bool, context: AttemptContext) -> AfterAttempt {
    if !context.destroying {
        AfterAttempt::Cancel
    } else if renewable {
        // As for any run, the first lost lease causes no delay.
        AfterAttempt::Retry(match context.attempts {
            0 | 1 => Duration::ZERO,
            _ => delay(context),
        })
    } else {
        AfterAttempt::Requeue
    }
}

fn delay(context: AttemptContext) -> Duration {
    match context.attempts.checked_sub(ATTEMPTS) {
        None => attempt_delay(context.attempts, context.jitter),
        Some(earlier_failures) => failure_delay(earlier_failures, context.jitter),
    }
}
