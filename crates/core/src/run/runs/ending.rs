//! Runs that end while their remote run may still change something (docs/hcp-terraform.md#the-end-of-a-remote-run).
//!
//! A cancelled or withdrawn run ends only after its remote run has ended. Until then it is an *ending*: a running run
//! without a holder. A worker with the remote driver leases it to discard, cancel or await the remote run. Such a
//! lease takes no concurrency group and is not an attempt.

use std::time::Duration;

use super::{AfterAttempt, AttemptContext, AttemptOutcome};
use crate::run::phase::TaskPhase;

/// Time between a failed lease of an ending and the next lease.
pub const ENDING_RETRY: Duration = Duration::from_secs(30);

/// Decides whether a run with an open remote run becomes an ending instead of the ordinary decision, and after which
/// time it may be leased again. `None` if the run ends or goes on.
///
/// A queued run with a newer input ends the remote run before it requests its own; so does the next run after a
/// changed declaration of the task, which may have a different driver now. Force (`by_force`) abandons the remote
/// run.
pub fn becomes_ending(
    after: AfterAttempt,
    outcome: &AttemptOutcome,
    context: AttemptContext,
    by_force: bool,
) -> Option<Duration> {
    let deleting = matches!(context.phase, TaskPhase::Deleting);
    let redeclared = context.withdrawn && context.enabled && !context.cancelled && !deleting;
    let ends = match after {
        AfterAttempt::Cancel | AfterAttempt::Suspend => !redeclared,
        AfterAttempt::GiveUp { .. } | AfterAttempt::End { succeeded: false } => {
            context.cancelled || deleting || context.withdrawn && !redeclared
        }
        AfterAttempt::Succeed
        | AfterAttempt::Retry(_)
        | AfterAttempt::Requeue
        | AfterAttempt::End { succeeded: true } => false,
    };
    if !ends || by_force || context.newer_waits || !context.kind.changes_resources() {
        return None;
    }
    Some(if outcome.error(context.kind).is_some() {
        ENDING_RETRY
    } else {
        Duration::ZERO
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::runs::RunKind;

    fn context(kind: RunKind) -> AttemptContext {
        AttemptContext {
            kind,
            phase: TaskPhase::Ready,
            destroying: false,
            enabled: true,
            no_retry: false,
            tried: false,
            attempts: 1,
            newer_waits: false,
            earlier_failures: 0,
            retry_failed: true,
            waits: false,
            withdrawn: false,
            cancelled: true,
            state_refused: false,
            jitter: 0.0,
        }
    }

    const GIVEN_UP: AfterAttempt = AfterAttempt::GiveUp { retry_after: None };

    fn after(after: AfterAttempt, context: AttemptContext) -> Option<Duration> {
        becomes_ending(after, &AttemptOutcome::Interrupted, context, false)
    }

    #[test]
    fn a_run_that_would_end_for_a_request_waits_for_its_remote_run() {
        for kind in [RunKind::Apply, RunKind::Destroy] {
            for end in [GIVEN_UP, AfterAttempt::Cancel, AfterAttempt::Suspend] {
                assert_eq!(after(end, context(kind)), Some(Duration::ZERO));
            }
        }
        let failed = AttemptOutcome::Failed("the server: 401".to_owned());
        let again = becomes_ending(GIVEN_UP, &failed, context(RunKind::Apply), false);
        assert_eq!(again, Some(ENDING_RETRY));
    }

    #[test]
    fn failures_successes_plans_and_runs_of_an_older_declaration_end_as_ever() {
        let apply = context(RunKind::Apply);
        for end in [AfterAttempt::Succeed, AfterAttempt::Requeue] {
            assert_eq!(after(end, apply), None);
        }
        let failed = AttemptContext {
            cancelled: false,
            ..apply
        };
        assert_eq!(after(GIVEN_UP, failed), None);
        let replaced = AttemptContext {
            newer_waits: true,
            ..apply
        };
        assert_eq!(after(AfterAttempt::Cancel, replaced), None);
        let redeclared = AttemptContext {
            withdrawn: true,
            ..failed
        };
        let disabled = AttemptContext {
            enabled: false,
            ..redeclared
        };
        for end in [AfterAttempt::Cancel, GIVEN_UP] {
            assert_eq!(after(end, redeclared), None);
            assert_eq!(after(end, disabled), Some(Duration::ZERO));
        }
        for kind in [RunKind::Plan, RunKind::Check, RunKind::DestroyPlan] {
            assert_eq!(after(AfterAttempt::Cancel, context(kind)), None);
        }
    }

    #[test]
    fn force_gives_the_remote_run_up() {
        let interrupted = AttemptOutcome::Interrupted;
        let apply = context(RunKind::Apply);
        assert_eq!(becomes_ending(GIVEN_UP, &interrupted, apply, true), None);
    }
}
