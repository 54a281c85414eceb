//! The writes that the end of an attempt needs, and its result.

use std::time::Duration;

use cts_core::runs::{Plan, RunKind, RunStatus, failure_text};
use cts_core::{CheckOutcome, Digest, TaskAfterRun, TaskName};

use super::attempt_record::AttemptRecord;
use crate::event::Event;
use crate::model::{Completed, Completion, FailedAttempts};

/// Changes that the end of an attempt makes to its run and its task.
#[derive(Debug)]
pub struct AttemptEnd<'c> {
    /// The completion that ended the attempt.
    pub completion: &'c Completion,
    /// The task.
    pub task: TaskName,
    /// Kind of the run.
    pub kind: RunKind,
    /// The run applies, and somebody has cancelled it.
    pub cancelled: bool,
    /// Its input.
    pub input: Digest,
    /// Number of the attempt.
    pub attempt: u32,
    /// The attempt failed because of its worker's machine and does not count.
    pub given_back: bool,
    /// Errors of the run's attempts, oldest first.
    pub errors: Vec<String>,
    /// Records of the run's attempts, oldest first; the newest record is of this attempt.
    pub records: Vec<AttemptRecord>,
    /// New status of the run.
    pub status: RunStatus,
    /// Further writes to the run and to its task.
    pub writes: AttemptWrites<'c>,
    /// Change of the task.
    pub task_after: TaskAfterRun,
}

/// Writes at the end of an attempt.
#[derive(Debug)]
pub enum AttemptWrites<'c> {
    /// The input is applied and tried, and has not failed.
    Succeed(Event),
    /// The run has failed.
    GiveUp {
        /// Its event.
        event: Event,
        /// The input has used its ordinary attempts.
        tried: bool,
        /// The input was cancelled, and waits for a newer input or for a requested run.
        withheld: bool,
        /// Time until a new run tries the input again; with it, the failure counts.
        retry_after: Option<Duration>,
    },
    /// The run goes back to the queue.
    PutBack {
        /// Number of attempts that count.
        attempts: u32,
        /// Time until it is due.
        wait: Duration,
        /// Prefers another worker, if a suitable worker exists.
        elsewhere: bool,
    },
    /// The run goes back to the queue and is due only after its task is deleted again, which shows that its
    /// destruction is suspended. Once due, the run starts with all its attempts.
    Suspend,
    /// The run becomes an ending, which may be leased after this time.
    EndRemote {
        /// Time until it is due.
        wait: Duration,
    },
    /// The run ends, without an effect on its input.
    Close {
        /// The plan, if the run made one.
        plan: Option<&'c Plan>,
    },
}

impl AttemptEnd<'_> {
    /// The outcome to note with the task, if this was a check that has ended and was not cancelled.
    pub fn check_outcome(&self) -> Option<CheckOutcome> {
        match (self.kind, self.status) {
            (RunKind::Check, RunStatus::Succeeded) => Some(CheckOutcome::Passed),
            (RunKind::Check, RunStatus::Failed) => {
                let error = self.errors.last().cloned();
                Some(CheckOutcome::Failed(error.unwrap_or_default()))
            }
            _ => None,
        }
    }

    /// The result. `next_due` is the time until the task's next queued run is due; `looked` is set if the
    /// reevaluation of the shrink limit changed its decision.
    pub fn answer(self, next_due: Option<Duration>, looked: bool) -> Completed {
        Completed {
            task: self.task,
            kind: self.kind,
            status: self.status,
            event: match self.writes {
                AttemptWrites::Succeed(event) | AttemptWrites::GiveUp { event, .. } => Some(event),
                AttemptWrites::PutBack { .. }
                | AttemptWrites::Suspend
                | AttemptWrites::EndRemote { .. }
                | AttemptWrites::Close { .. } => None,
            },
            attempt: self.attempt,
            given_back: self.given_back,
            failure: (self.status != RunStatus::Succeeded).then(|| FailedAttempts {
                attempt: self.attempt,
                error: failure_text(&self.errors, self.attempt),
            }),
            next_due,
            tasks_changed: looked || self.task_after != TaskAfterRun::Stays,
        }
    }
}
