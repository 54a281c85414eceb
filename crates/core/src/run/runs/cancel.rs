//! Runs that are cancelled on request (docs/runs.md#cancelling-a-run).
//!
//! A queued run is withdrawn; if it has a remote run, after that has ended. For a running run the worker is ordered
//! to stop: first gently, so that Terraform finishes what it has begun, and by force once the time for that is over.
//! A cancelled run is not retried: its input is *withheld* until a newer input comes or a run is requested. A
//! destruction is suspended instead, because its task can neither stay nor be removed.

use std::fmt;
use std::time::Duration;

use super::{AfterAttempt, AttemptContext, AttemptOutcome, RunKind, RunStatus};
use crate::run::phase::TaskPhase;

/// Time for a gentle stop, after which a stop by force may follow.
pub const CANCEL_GRACE: Duration = Duration::from_secs(30);

/// Method of stopping a leased run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CancelOrder {
    /// Terraform is interrupted once and finishes what it has begun, however long that takes.
    Interrupt,
    /// Terraform is terminated at once and killed soon after. Its state may be lost.
    Force,
}

/// A run to be cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelContext {
    /// Its status.
    pub status: RunStatus,
    /// The run is a destruction that is already suspended.
    pub suspended: bool,
    /// Time since the first order to stop the run, if any.
    pub ordered: Option<Duration>,
    /// Its remote run, or an earlier remote run of its task, may still change something, and no other run follows the
    /// remote run.
    pub open_remote: bool,
}

/// Decision about the request to cancel a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelDecision {
    /// The queued run ends now.
    Withdraw,
    /// The queued run ends once its remote run has ended: it becomes an [ending](super::becomes_ending).
    EndRemote,
    /// The holder of its lease gets this order.
    Order(CancelOrder),
    /// Nothing changes.
    Refuse(CancelRefusal),
}

/// Why a run is not cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelRefusal {
    /// The run has ended with this status.
    Ended(RunStatus),
    /// The run is a suspended destruction.
    Suspended,
    /// The run is being stopped and has this much time left.
    InGrace(Duration),
    /// The run did not stop within its time: force is needed.
    NeedsForce,
}

impl fmt::Display for CancelRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(status) => write!(f, "the run has ended: it is {}", status.as_str()),
            Self::Suspended => f.write_str(
                "the destruction is suspended: deleting the task again goes on with it, or retains what is left",
            ),
            Self::InGrace(left) => write!(
                f,
                "the run is being stopped and has {} s left for that; after this time force is needed",
                left.as_secs().max(1)
            ),
            Self::NeedsForce => write!(
                f,
                "the run did not stop within {} s: only force ends it now, and its state may be lost with that",
                CANCEL_GRACE.as_secs()
            ),
        }
    }
}

/// Decides about a request to cancel a run, by `force` or gently.
pub fn decide_cancel(context: CancelContext, force: bool) -> CancelDecision {
    match (context.status, context.ordered) {
        (RunStatus::Queued, _) if context.suspended => {
            CancelDecision::Refuse(CancelRefusal::Suspended)
        }
        // Force abandons the remote run.
        (RunStatus::Queued, _) if context.open_remote && !force => CancelDecision::EndRemote,
        (RunStatus::Queued, _) => CancelDecision::Withdraw,
        (RunStatus::Running, _) if force => CancelDecision::Order(CancelOrder::Force),
        (RunStatus::Running, None) => CancelDecision::Order(CancelOrder::Interrupt),
        (RunStatus::Running, Some(ago)) => {
            let left = CANCEL_GRACE.saturating_sub(ago);
            CancelDecision::Refuse(if left.is_zero() {
                CancelRefusal::NeedsForce
            } else {
                CancelRefusal::InGrace(left)
            })
        }
        (RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled, _) => {
            CancelDecision::Refuse(CancelRefusal::Ended(context.status))
        }
    }
}

/// Whether an attempt at a cancelled run ended because of the cancellation or failed. An attempt that completed its
/// work despite the order has succeeded.
pub fn ends_cancelled(outcome: &AttemptOutcome, kind: RunKind) -> bool {
    *outcome == AttemptOutcome::Interrupted || outcome.error(kind).is_some()
}

/// Decides what follows an attempt at a run that was cancelled, or ended on its server; `None` if the ordinary rules
/// decide.
pub(super) fn after_cancelled(
    outcome: &AttemptOutcome,
    context: AttemptContext,
) -> Option<AfterAttempt> {
    let is_declined = matches!(outcome, AttemptOutcome::Declined(_));
    if !(context.cancelled || is_declined) || !ends_cancelled(outcome, context.kind) {
        return None;
    }
    // A plan that was declined on the server was not made.
    if is_declined && context.kind.only_plans() {
        return Some(AfterAttempt::End { succeeded: false });
    }
    Some(match (context.kind, context.phase) {
        (RunKind::Destroy, _) if context.destroying => AfterAttempt::Suspend,
        (RunKind::Apply, TaskPhase::Ready | TaskPhase::Deleting) => {
            AfterAttempt::GiveUp { retry_after: None }
        }
        // A task that was never visible has no events, and a run that applies nothing changes nothing.
        (
            RunKind::Apply
            | RunKind::Plan
            | RunKind::Check
            | RunKind::DestroyPlan
            | RunKind::Destroy,
            _,
        ) => AfterAttempt::Cancel,
    })
}
