//! Runs that wait, between their plan and their apply, for a condition outside of cts: an approval, or a position in
//! a remote queue.
//!
//! The worker keeps the lease, so that no other worker starts on the task, but the run takes no slot and belongs to
//! no concurrency group, and the time of the wait is not limited. Nothing of its input is applied yet. So newer work
//! of its task comes first: the run gives way to a newer input, to a changed declaration, to the disabling or
//! deletion of the task, to its checks and plans, and to a worker that drains. An attempt that ended while the run
//! waited does not count.
//!
//! A run whose remote run waits for a person keeps its concurrency group: its server applies when the person
//! confirms, independently of cts.
//!
//! The end of a wait is derived from the queue and the task, so no statement that ends a wait can be forgotten. Waits
//! are numbered, so a late call cannot suspend a run that continues.

use std::fmt;

use super::{AfterAttempt, AttemptContext, AttemptOutcome, RunKind};
use crate::run::phase::TaskPhase;

/// Reason why a run must stop waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WaitEnd {
    /// A run with a newer input, or a requested run, is queued.
    NewerInput,
    /// Its task was changed or disabled.
    TaskChanged,
    /// Its task is being deleted.
    TaskDeleted,
    /// A check or a plan of its task is queued, which changes nothing. The waiting run goes back to the queue, after
    /// that run.
    CheckQueued,
}

impl WaitEnd {
    /// Returns whether nothing is left to apply.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::CheckQueued)
    }
}

impl fmt::Display for WaitEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NewerInput => "a newer run of its task is queued",
            Self::TaskChanged => "its task was changed or disabled",
            Self::TaskDeleted => "its task is being deleted",
            Self::CheckQueued => "its task is to be checked or planned first",
        })
    }
}

/// Facts that decide whether a run may keep waiting, and whether it may apply afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitContext {
    /// Purpose of the run.
    pub kind: RunKind,
    /// Phase of its task between creation and deletion.
    pub phase: TaskPhase,
    /// Changes run the task.
    pub enabled: bool,
    /// The run was requested, so it does not need an enabled task.
    pub requested: bool,
    /// A queued run exists that applies a newer input.
    pub newer_waits: bool,
    /// The task was changed or disabled since the run was leased.
    pub withdrawn: bool,
    /// A check or a plan of the task is queued.
    pub look_waits: bool,
}

/// Whether a run that waits is to give up.
pub const fn wait_end(context: WaitContext) -> Option<WaitEnd> {
    if matches!(context.phase, TaskPhase::Deleting) {
        Some(WaitEnd::TaskDeleted)
    } else if context.kind.applies() && context.newer_waits {
        Some(WaitEnd::NewerInput)
    } else if context.withdrawn || !(context.enabled || context.requested) {
        Some(WaitEnd::TaskChanged)
    } else if context.look_waits {
        Some(WaitEnd::CheckQueued)
    } else {
        None
    }
}

/// Decision about the end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumed {
    /// The run applies from now on.
    GoesOn,
    /// A run of a different task in its concurrency group is applying: the run keeps waiting.
    GroupBusy,
    /// Nothing is left to apply.
    Ended(WaitEnd),
}

impl AttemptContext {
    /// Returns the facts that decide whether the run is still wanted. A queued check or plan does not count.
    pub const fn wait(self) -> WaitContext {
        WaitContext {
            kind: self.kind,
            phase: self.phase,
            enabled: self.enabled,
            requested: self.no_retry,
            newer_waits: self.newer_waits,
            withdrawn: self.withdrawn,
            look_waits: false,
        }
    }
}

/// Decides what follows an attempt that ended while its run waited; `None` if the ordinary rules decide.
///
/// If the attempt was interrupted, because its worker drains, or its lease was lost, the run waits on a different
/// worker. If it failed, the wait was in vain, because the approval was refused or has lapsed: the run is not retried
/// until something changes.
pub(super) fn after_wait(
    outcome: &AttemptOutcome,
    context: AttemptContext,
) -> Option<AfterAttempt> {
    if !context.waits {
        return None;
    }
    let is_over = wait_end(context.wait()).is_some_and(WaitEnd::is_final);
    match outcome {
        AttemptOutcome::Interrupted | AttemptOutcome::Failed(_) if is_over => {
            Some(AfterAttempt::Cancel)
        }
        AttemptOutcome::Interrupted => Some(AfterAttempt::Requeue),
        AttemptOutcome::Failed(_)
            if context.kind.applies() && matches!(context.phase, TaskPhase::Ready) =>
        {
            Some(AfterAttempt::GiveUp { retry_after: None })
        }
        AttemptOutcome::Failed(_)
        | AttemptOutcome::Declined(_)
        | AttemptOutcome::Applied
        | AttemptOutcome::Planned(_)
        | AttemptOutcome::Checked
        | AttemptOutcome::Destroyed => None,
    }
}
