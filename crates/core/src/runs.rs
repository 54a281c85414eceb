//! The rules of runs: whether a frozen input needs one, and what follows a finished attempt.
//!
//! Of one task at most one run is *running* and at most one is *queued*; a newer input replaces the
//! queued one. Beside them a task remembers the input it is *settled* on: the one of its last run, if
//! that was applied. From the moment a run is leased nothing is settled, because Terraform may have
//! changed anything, until a run is applied again. So "equal to what is applied" can always be
//! answered, also after a crash at any point.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::input::Digest;

/// Attempts of one run before it counts as failed (spec/runtime-tasks.md 3.4).
pub const ATTEMPTS: u32 = 3;

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Waits for a worker, or for the time of its next attempt.
    Queued,
    /// Leased by a worker.
    Running,
    /// Applied.
    Succeeded,
    /// Every attempt failed.
    Failed,
    /// Ended without a result of its own, because a newer input took its place.
    Cancelled,
}

impl RunStatus {
    /// The stored and shown spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What is known of the runs of one task when a new input is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskRuns {
    /// Input of the queued run.
    pub queued: Option<Digest>,
    /// Input of the running run.
    pub running: Option<Digest>,
    /// Input that is applied, if nothing may have changed since.
    pub settled: Option<Digest>,
}

/// What to do with a new input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnqueueDecision {
    /// Queue a run.
    Enqueue,
    /// Put the new input into the queued run and make it due now.
    Replace,
    /// The queued run has this input already.
    Keep,
    /// No run: the input is applied, or is being applied.
    Skip {
        /// A queued run with another input has become pointless.
        cancel_queued: bool,
    },
}

/// Decides whether `input` needs a run.
pub fn decide_enqueue(runs: TaskRuns, input: Digest, skip_unchanged: bool) -> EnqueueDecision {
    let current = runs.running.or(runs.settled);
    if skip_unchanged && current == Some(input) {
        return EnqueueDecision::Skip {
            cancel_queued: runs.queued.is_some(),
        };
    }
    match runs.queued {
        None => EnqueueDecision::Enqueue,
        Some(queued) if queued == input => EnqueueDecision::Keep,
        Some(_) => EnqueueDecision::Replace,
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// Terraform applied the input.
    Applied,
    /// Terraform, or what goes before it, failed with this error.
    Failed(String),
    /// The worker stopped Terraform because it is shutting down.
    Interrupted,
}

/// What follows an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterAttempt {
    /// The run succeeded; its input is settled; one event.
    Settle,
    /// The run goes back to the queue for its next attempt, not before this much time has passed.
    Retry(Duration),
    /// The run failed; one event.
    GiveUp {
        /// Queue the same input once more after this time; `None` where a newer one waits already
        /// or the task does not want it.
        retry_after: Option<Duration>,
    },
    /// The run goes back to the queue as if this attempt had not been; no event.
    Requeue,
    /// The run ends without an event, because a newer input waits already.
    Cancel,
}

/// The surroundings in which an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttemptContext {
    /// Attempts of this run so far, this one included; at least 1.
    pub attempts: u32,
    /// A queued run with a newer input exists.
    pub newer_waits: bool,
    /// Failed runs of the task in a row without a newer input or a success between them, this one not
    /// included: a newer input has not failed yet, however often earlier ones did.
    pub earlier_failures: u32,
    /// The task wants slow retries after a final failure.
    pub retry_failed: bool,
    /// Random share in `[0, 1)` for the jitter of the wait.
    pub jitter: f64,
}

/// Decides what follows an attempt. A failing attempt is not repeated when a newer input waits: that
/// one is what must be applied.
pub fn after_attempt(outcome: &AttemptOutcome, context: AttemptContext) -> AfterAttempt {
    match outcome {
        AttemptOutcome::Applied => AfterAttempt::Settle,
        AttemptOutcome::Interrupted if context.newer_waits => AfterAttempt::Cancel,
        AttemptOutcome::Interrupted => AfterAttempt::Requeue,
        AttemptOutcome::Failed(_) if context.newer_waits => {
            AfterAttempt::GiveUp { retry_after: None }
        }
        AttemptOutcome::Failed(_) if context.attempts < ATTEMPTS => {
            AfterAttempt::Retry(attempt_delay(context.attempts, context.jitter))
        }
        AttemptOutcome::Failed(_) => AfterAttempt::GiveUp {
            retry_after: context
                .retry_failed
                .then(|| failure_delay(context.earlier_failures, context.jitter)),
        },
    }
}

/// Wait before the next attempt after `attempts` failed ones: 2^n seconds and up to half as much more
/// (spec/runtime-watch.md 1.5), so 1-1.5 s and 2-3 s.
fn attempt_delay(attempts: u32, jitter: f64) -> Duration {
    with_jitter(
        Duration::from_secs(1 << attempts.saturating_sub(1).min(10)),
        jitter,
    )
}

/// Wait before a failed run's input is tried afresh: a minute, doubling to an hour.
fn failure_delay(earlier_failures: u32, jitter: f64) -> Duration {
    with_jitter(
        Duration::from_secs((60 << earlier_failures.min(6)).min(3600)),
        jitter,
    )
}

fn with_jitter(base: Duration, jitter: f64) -> Duration {
    base + base.mul_f64(jitter.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests;
