//! The end of an attempt, and what follows it.

use std::time::Duration;

use super::{Plan, RunKind};
use crate::phase::TaskPhase;

/// Attempts of one run before it counts as failed (docs/runs.md#runs-and-attempts).
pub const ATTEMPTS: u32 = 3;

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// Terraform applied the input.
    Applied,
    /// Terraform showed what an apply would change.
    Planned(Plan),
    /// The working directory is made and valid.
    Checked,
    /// Terraform destroyed what the task had made.
    Destroyed,
    /// Terraform, or what goes before it, failed with this error.
    Failed(String),
    /// On the server of the task's workspace, something other than cts has ended the run before it was applied to its
    /// end: who and where. The run ends as if it were cancelled.
    Declined(String),
    /// The worker stopped Terraform because it is shutting down.
    Interrupted,
}

impl AttemptOutcome {
    /// Returns the error of an attempt at a run of this kind. A worker that did something else than requested
    /// has failed.
    pub fn error(&self, kind: RunKind) -> Option<&str> {
        match (self, kind) {
            (Self::Failed(error) | Self::Declined(error), _) => Some(error),
            (_, RunKind::Destroy | RunKind::DestroyPlan) => self.error_of_destroy(kind),
            (Self::Destroyed, _) => Some("the worker destroyed what was to be kept"),
            (Self::Applied, RunKind::Plan) => {
                Some("the worker applied the run, which was only to be planned")
            }
            (Self::Applied, RunKind::Check) => {
                Some("the worker applied the run, which was only to be checked")
            }
            (Self::Planned(_), RunKind::Apply) => Some("the worker only planned the run"),
            (Self::Planned(_), RunKind::Check) => {
                Some("the worker planned the run, which was only to be checked")
            }
            (Self::Checked, RunKind::Apply | RunKind::Plan) => {
                Some("the worker only checked the run")
            }
            (Self::Applied, RunKind::Apply)
            | (Self::Planned(_), RunKind::Plan)
            | (Self::Checked, RunKind::Check)
            | (Self::Interrupted, _) => None,
        }
    }

    /// A worker that got the run from an earlier scheduler knows it as a check.
    fn error_of_destroy(&self, kind: RunKind) -> Option<&'static str> {
        match (self, kind) {
            (Self::Destroyed, RunKind::Destroy)
            | (Self::Planned(_), RunKind::DestroyPlan)
            | (Self::Failed(_) | Self::Declined(_) | Self::Interrupted, _) => None,
            (Self::Destroyed, _) => {
                Some("the worker destroyed what was only to be planned to be destroyed")
            }
            (Self::Applied, _) => Some("the worker applied the run, which was to destroy"),
            (Self::Planned(_), _) => Some("the worker only planned the destruction"),
            (Self::Checked, _) => Some("the worker only checked the run, which was to destroy"),
        }
    }
}

/// Decision after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterAttempt {
    /// The run succeeded; its input is the last applied one; one event.
    Succeed,
    /// The run goes back to the queue for its next attempt, not before this much time has passed.
    Retry(Duration),
    /// The run failed; one event.
    GiveUp {
        /// Queue the same input once more after this time; `None` where a newer one waits already
        /// or it is not wanted any more.
        retry_after: Option<Duration>,
    },
    /// The run goes back to the queue as if this attempt had not been; no event.
    Requeue,
    /// The run ends without an event, because a newer input waits already, its task is being deleted, or it was
    /// cancelled and applies nothing.
    Cancel,
    /// The run goes back to the queue and is not due before its task is deleted once more: a destruction that was
    /// cancelled.
    Suspend,
    /// The run ends, and nothing else changes: no event, no input applied, no failure counted. So ends what
    /// applies nothing, and an apply that was to create its task and failed.
    End {
        /// Whether the run did what it was for; if not, it failed.
        succeeded: bool,
    },
}

/// The surroundings in which an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttemptContext {
    /// Purpose of the run.
    pub kind: RunKind,
    /// Where its task is between creation and deletion.
    pub phase: TaskPhase,
    /// The infrastructure of its task is to be destroyed before the task goes, still.
    pub destroying: bool,
    /// Changes run the task.
    pub enabled: bool,
    /// The run is a requested one with a single attempt, and stands for any change that it took the place of.
    pub no_retry: bool,
    /// This input has had its ordinary attempts since the last change of the task: it was applied, or an
    /// ordinary run failed with it for good.
    pub tried: bool,
    /// Attempts of this run so far, this one included; at least 1.
    pub attempts: u32,
    /// A queued run exists that applies a newer input.
    pub newer_waits: bool,
    /// Failed runs of the task in a row without a newer input or a success between them, this one not
    /// included: a newer input has not failed yet, however often earlier ones did.
    pub earlier_failures: u32,
    /// The task wants slow retries after a final failure.
    pub retry_failed: bool,
    /// The run waits for something outside of cts, so that nothing of its input is applied yet.
    pub waits: bool,
    /// The task was changed or disabled since the run was leased.
    pub withdrawn: bool,
    /// The run is to be stopped on request.
    pub cancelled: bool,
    /// The Terraform state of the task was refused, and nothing decides about it yet.
    pub state_refused: bool,
    /// Random share in `[0, 1)` for the jitter of the wait.
    pub jitter: f64,
}

impl AttemptContext {
    /// Whether a run that is given up now has had all ordinary attempts: its input has been tried.
    pub const fn ends_ordinary_attempts(self) -> bool {
        !self.no_retry && !self.newer_waits && self.attempts >= ATTEMPTS
    }

    /// These surroundings for an apply that has had all its attempts, because a further one would fail in the same way.
    #[must_use]
    pub fn without_attempts(self) -> Self {
        let attempts = match self.kind {
            RunKind::Apply => self.attempts.max(ATTEMPTS),
            _ => self.attempts,
        };
        Self { attempts, ..self }
    }

    /// Whether its run is not worth another attempt: it gives way to a newer input, another declaration or a deletion.
    pub(super) const fn is_pointless(self) -> bool {
        let applies = self.kind.applies();
        applies && (self.newer_waits || self.withdrawn) || matches!(self.phase, TaskPhase::Deleting)
    }

    /// Whether the input of a cancelled run that is given up now waits for a newer one or for a requested run.
    pub const fn withholds(self) -> bool {
        self.cancelled && !self.newer_waits && matches!(self.phase, TaskPhase::Ready)
    }
}

pub(super) fn slow_retry(context: AttemptContext) -> Option<Duration> {
    context
        .retry_failed
        .then(|| failure_delay(context.earlier_failures, context.jitter))
}

/// Wait before the next attempt after `attempts` failed ones: 2^n seconds and up to half as much more
/// (docs/runs.md#runs-and-attempts), so 1-1.5 s and 2-3 s.
pub(super) fn attempt_delay(attempts: u32, jitter: f64) -> Duration {
    with_jitter(
        Duration::from_secs(1 << attempts.saturating_sub(1).min(10)),
        jitter,
    )
}

/// Wait before a failed run's input is tried afresh: a minute, doubling to an hour.
pub(super) fn failure_delay(earlier_failures: u32, jitter: f64) -> Duration {
    with_jitter(
        Duration::from_secs((60 << earlier_failures.min(6)).min(3600)),
        jitter,
    )
}

fn with_jitter(base: Duration, jitter: f64) -> Duration {
    base + base.mul_f64(jitter.clamp(0.0, 1.0) / 2.0)
}
