//! The end of an attempt, and the decision that follows.

use std::time::Duration;

use super::{Plan, RunKind};
use crate::run::phase::TaskPhase;

/// Attempts of one run before it counts as failed (docs/runs.md#runs-and-attempts).
pub const ATTEMPTS: u32 = 3;

/// Outcome of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// Terraform applied the input.
    Applied,
    /// Terraform showed what an apply would change.
    Planned(Plan),
    /// The working directory was created and is valid.
    Checked,
    /// Terraform destroyed the task's resources.
    Destroyed,
    /// Terraform, or a step before it, failed with this error.
    Failed(String),
    /// The remote run was ended on the server, not by cts, before it was completely applied; the text says by which
    /// user and where. The run ends as if it were cancelled.
    Declined(String),
    /// The worker stopped Terraform because it is shutting down.
    Interrupted,
}

impl AttemptOutcome {
    /// The name of the outcome in journals, spans and metrics.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Planned(_) => "planned",
            Self::Checked => "checked",
            Self::Destroyed => "destroyed",
            Self::Failed(_) => "failed",
            Self::Declined(_) => "declined",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns the error of an attempt at a run of this kind. An attempt that did something else than requested has
    /// failed.
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

    /// A worker that got the run from an earlier scheduler treats it as a check.
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
    /// The run goes back to the queue for its next attempt, at the earliest after this time.
    Retry(Duration),
    /// The run failed; one event.
    GiveUp {
        /// Queue the same input once more after this time; `None` if a newer input already waits or this input is not
        /// wanted any more.
        retry_after: Option<Duration>,
    },
    /// The run goes back to the queue as if this attempt had not happened; no event.
    Requeue,
    /// The run ends without an event, because a newer input already waits, its task is being deleted, or it was
    /// cancelled and applies nothing.
    Cancel,
    /// The run, a cancelled destruction, goes back to the queue and is due only after its task is deleted again.
    Suspend,
    /// The run ends, and nothing else changes: no event, no input applied, no failure counted. For runs that apply
    /// nothing, and for a failed apply that was to create its task.
    End {
        /// Whether the run reached its purpose; otherwise it failed.
        succeeded: bool,
    },
}

/// The circumstances in which an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttemptContext {
    /// Purpose of the run.
    pub kind: RunKind,
    /// Phase of its task between creation and deletion.
    pub phase: TaskPhase,
    /// The infrastructure of its task is still to be destroyed before the task is removed.
    pub destroying: bool,
    /// Changes run the task.
    pub enabled: bool,
    /// The run is a requested run with a single attempt, and includes any change that it replaced.
    pub no_retry: bool,
    /// This input has had its ordinary attempts since the last change of the task: it was applied, or an ordinary run
    /// finally failed with it.
    pub tried: bool,
    /// Attempts of this run so far, including this one; at least 1.
    pub attempts: u32,
    /// A queued run exists that applies a newer input.
    pub newer_waits: bool,
    /// Consecutive failed runs of the task, without a newer input or a success between them and without this run: a
    /// newer input has not failed yet, even if earlier inputs failed often.
    pub earlier_failures: u32,
    /// The task has slow retries after a final failure.
    pub retry_failed: bool,
    /// The run waits for a condition outside of cts, so that nothing of its input is applied yet.
    pub waits: bool,
    /// The task was changed or disabled since the run was leased.
    pub withdrawn: bool,
    /// The run was requested to stop.
    pub cancelled: bool,
    /// The Terraform state of the task was refused, and no decision about it exists yet.
    pub state_refused: bool,
    /// Random number in `[0, 1)` that varies the wait.
    pub jitter: f64,
}

impl AttemptContext {
    /// Whether a run that is given up now has used all ordinary attempts: its input has been tried.
    pub const fn ends_ordinary_attempts(self) -> bool {
        !self.no_retry && !self.newer_waits && self.attempts >= ATTEMPTS
    }

    /// The context for an apply without further attempts, because a further attempt would fail in the same way.
    #[must_use]
    pub fn without_attempts(self) -> Self {
        let attempts = match self.kind {
            RunKind::Apply => self.attempts.max(ATTEMPTS),
            _ => self.attempts,
        };
        Self { attempts, ..self }
    }

    /// Whether its run needs no further attempt: it gives way to a newer input, a changed declaration or a deletion.
    pub(super) const fn is_pointless(self) -> bool {
        let applies = self.kind.applies();
        applies && (self.newer_waits || self.withdrawn) || matches!(self.phase, TaskPhase::Deleting)
    }

    /// Whether the input of a cancelled run that is given up now waits for a newer input or for a requested run.
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

/// Wait before a failed run's input is retried: a minute, doubling to an hour.
pub(super) fn failure_delay(earlier_failures: u32, jitter: f64) -> Duration {
    with_jitter(
        Duration::from_secs((60 << earlier_failures.min(6)).min(3600)),
        jitter,
    )
}

fn with_jitter(base: Duration, jitter: f64) -> Duration {
    base + base.mul_f64(jitter.clamp(0.0, 1.0) / 2.0)
}
