//! The rules of runs: whether a frozen input needs one, and what follows a finished attempt.
//!
//! A run *applies* its input, or only *plans* what an apply would do, or only *checks* whether a plan could be made.
//!
//! At most one run of a task is *running*, of any kind, because all kinds work in the task's directory. At most one
//! applying run is *queued*; a newer input replaces its input. In addition, a task remembers its *last applied*
//! input: the input of its last apply, if that succeeded. From the lease of an applying run until a run succeeds
//! again, the task has no last applied input, because Terraform may have changed anything. So "equal to the applied
//! input" can always be answered, even after a crash at any point.
//!
//! Plans and checks are independent of these rules; the rules for plans here also hold for checks. A caller requests
//! each plan and waits for its answer: any number of plans may be queued. A plan is never merged with another run,
//! never skipped, and never cancelled because of another run. A plan changes nothing in reality, so the task's last
//! applied input, its failures, its events and its queued run stay as they are, whatever becomes of the plan. A plan
//! that is interrupted or loses its worker is repeated; a failed plan stays failed.
//!
//! A run is *requested* if the API requested it by its id and a caller waits for the end of this very run: it is
//! never merged with another run or skipped, and a requested apply replaces a queued apply. It passes the shrink
//! limit and a cancelled input, unless it only [accompanies](Occasion) a change. A requested run goes on if its task
//! is disabled, and is not retried itself (`no_retry`), unless a change takes it over. No change may get lost in it:
//! if a requested apply of an enabled task fails, an ordinary run of its input follows. That run comes soon, whatever
//! the task's settings for retries, unless the input has been *tried*: it was applied, or has finally failed in an
//! ordinary run, and no change came since. Then the failure is a further failure of a tried input, with a slow retry
//! if the task has slow retries.
//!
//! The infrastructure of a task in deletion may be *destroyed* before the task is removed: by one more run, with the
//! input of its newest run that applied or may have applied, and without any other run at the same time. This run is
//! retried until it succeeds. Its effect can be planned before, as a plan of that input.
//!
//! A lost lease counts as an attempt, for every kind of run: see [`after_lost_lease`].
//!
//! A run may be *cancelled* on request: see [`decide_cancel`]. A run that ends while its remote run goes on first
//! becomes an *ending*: see [`becomes_ending`].
//!
//! An attempt that fails before Terraform has started, because of the machine of its worker, does not count: see
//! [`is_given_back`].
//!
//! A run may *wait* for a condition outside of cts before it applies: see [`wait_end`].

mod after_attempt;
mod attempt;
mod attempt_ending;
mod brief_error;
mod cancel;
mod cause;
mod destroy;
mod early_failure;
mod ending;
mod errors;
mod first_sentence;
mod folded_error;
pub(crate) mod kind;
mod occasion;
mod plan;
mod run_cause;
mod run_phase;
mod wait;

pub use self::after_attempt::{after_attempt, after_lost_lease};
pub use self::attempt::{ATTEMPTS, AfterAttempt, AttemptContext, AttemptOutcome};
pub use self::attempt_ending::AttemptEnding;
pub use self::brief_error::{brief_error, brief_newest_error};
pub use self::cancel::{
    CANCEL_GRACE, CancelContext, CancelDecision, CancelOrder, CancelRefusal, decide_cancel,
    ends_cancelled,
};
pub use self::cause::{CAUSES_OF_RUN, Cause, add_causes};
pub use self::early_failure::{
    ELSEWHERE_FOR, EarlierAttempt, EarlyFailure, GIVEN_BACK_AT_MOST, can_be_of_machine,
    is_given_back,
};
pub use self::ending::{ENDING_RETRY, becomes_ending};
pub use self::errors::{CANCELLED, ERROR_BYTES, ERRORS_BYTES, failure_text, keep_error, shortened};
pub use self::first_sentence::first_sentence;
pub use self::folded_error::folded_error;
pub use self::kind::{RunKind, RunKinds, RunStatus};
pub use self::occasion::{Accompanied, Occasion};
pub use self::plan::{PLAN_BYTES, Plan, SKIPPED_INSPECTION};
pub use self::run_cause::{CHANGES_NOTED, RunCause};
pub use self::run_phase::{CurrentPhase, RunPhase};
pub use self::wait::{Resumed, WaitContext, WaitEnd, wait_end};
use crate::run::phase::TaskPhase;
use crate::words::digest::Digest;

/// Maximum number of outputs of one run.
pub const OUTPUTS_KEPT: usize = 32;

/// The queued run that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuedApply {
    /// Its input.
    pub input: Digest,
    /// Whether this is a requested run with a single attempt.
    pub no_retry: bool,
    /// Whether the brake of the fleet holds it.
    pub braked: bool,
}

/// Known runs of a task when a new input is frozen to be applied, without plans and checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskRuns {
    /// The queued run.
    pub queued: Option<QueuedApply>,
    /// Input of the run that is applying.
    pub running: Option<Digest>,
    /// The declaration of the task changed since that run was leased, so the run has no further attempt, and its
    /// input and the last applied input do not count as applied.
    pub withdrawn: bool,
    /// Applied input, if nothing may have changed since.
    pub last_applied: Option<Digest>,
    /// Input of a cancelled run, which waits for a newer input or for a requested run.
    pub withheld: Option<Digest>,
    /// A person has rejected the effect of that input, so every run is withheld.
    pub rejected: bool,
    /// An accompanying apply was blocked and is no longer requested: the next apply is made even if its input is
    /// applied.
    pub owes: bool,
}

/// An input that is to be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedApply {
    /// The input.
    pub input: Digest,
    /// Whether an input that is applied or being applied needs no run.
    pub skip_unchanged: bool,
    /// Whether a caller waits for this very run, which then has one attempt and is made even if its input is applied.
    pub requested: bool,
    /// Whether a requested run only accompanies a change, so that the shrink limit and a withheld input block it.
    pub accompanies: bool,
    /// Whether the input loses more instances than the task may lose (docs/runs.md#the-guard-against-lost-instances).
    pub loses_much: bool,
}

/// State of the request for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestState {
    /// Not requested: a trigger.
    None,
    /// A caller waits for this very run, which is not queued yet.
    Open,
    /// The run was requested and refused.
    Refused,
    /// The run was requested and is already queued.
    Queued,
}

/// Whether the task may have the run at all. A requested run does not need an enabled task.
pub const fn may_enqueue(
    phase: TaskPhase,
    enabled: bool,
    kind: RunKind,
    request: RequestState,
) -> bool {
    match request {
        RequestState::None => matches!(phase, TaskPhase::Ready) && (enabled || !kind.applies()),
        RequestState::Open => matches!(phase, TaskPhase::Ready | TaskPhase::Creating),
        RequestState::Refused => false,
        RequestState::Queued => true,
    }
}

/// Decision about a new input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnqueueDecision {
    /// Queue a run.
    Enqueue,
    /// Put the new input into the queued run, give the run all its attempts, including retries, and make it due now.
    Replace,
    /// Cancel the queued run and queue the requested run, which has a different id and does not continue earlier
    /// attempts.
    Supersede,
    /// Keep the queued run, which already has this input.
    Keep,
    /// Without a run: the input is applied, or is being applied.
    Skip {
        /// A queued run with a different input has become pointless.
        cancel_queued: bool,
    },
    /// Without a run for now: services have lost more instances than the task may lose. A queued run stays.
    Block,
    /// Without a run: the last run of this input was cancelled, and nothing has changed since.
    Withhold,
}

/// Decides whether an input needs a run that applies it.
///
/// A change that comes while a requested run is queued takes that run over and gives it all attempts, so that the
/// change is not lost (P3).
pub fn decide_enqueue(runs: TaskRuns, wanted: WantedApply) -> EnqueueDecision {
    let own_run = match runs.queued {
        None => EnqueueDecision::Enqueue,
        Some(_) if wanted.requested => EnqueueDecision::Supersede,
        Some(_) => EnqueueDecision::Replace,
    };
    let withheld = runs.queued.is_none() && runs.withheld == Some(wanted.input);
    if withheld && runs.rejected {
        return EnqueueDecision::Withhold;
    }
    if wanted.requested && !wanted.accompanies {
        return own_run;
    }
    // The lease of a run does not pay what the task owes, but its apply will.
    let is_at_work = !runs.withdrawn && runs.running == Some(wanted.input);
    let is_due = wanted.requested || runs.owes && !is_at_work;
    let current = runs.running.or(runs.last_applied);
    let unchanged = !runs.withdrawn && current == Some(wanted.input);
    if wanted.skip_unchanged && !is_due && unchanged {
        return EnqueueDecision::Skip {
            // A caller waits for a requested run, which is useful even if its input is applied.
            cancel_queued: runs
                .queued
                .is_some_and(|queued| !queued.no_retry || queued.input != wanted.input),
        };
    }
    if (wanted.skip_unchanged || is_due) && withheld {
        return EnqueueDecision::Withhold;
    }
    match runs.queued {
        // The shrink limit has already let the queued run through. The brake has not, if it holds the run.
        Some(queued)
            if queued.input == wanted.input && (!queued.no_retry || is_due && unchanged) =>
        {
            if !wanted.requested {
                EnqueueDecision::Keep
            } else if queued.braked && wanted.loses_much {
                EnqueueDecision::Block
            } else {
                EnqueueDecision::Supersede
            }
        }
        _ if wanted.loses_much => EnqueueDecision::Block,
        _ => own_run,
    }
}

/// Whether the earlier attempts of the wanted input no longer count from this decision on, because something has
/// changed since. Only an input that was `tried` has such attempts.
pub fn forgets_attempts(
    tried: Option<Digest>,
    runs: TaskRuns,
    wanted: WantedApply,
    decision: EnqueueDecision,
) -> bool {
    if tried != Some(wanted.input) {
        return false;
    }
    let held = matches!(decision, EnqueueDecision::Block | EnqueueDecision::Withhold);
    if wanted.requested && !held {
        // A different input was to be applied since then, and this run may replace that run.
        let queued = runs.queued.map(|queued| queued.input);
        return [queued, runs.running]
            .into_iter()
            .flatten()
            .any(|input| input != wanted.input);
    }
    match decision {
        EnqueueDecision::Enqueue | EnqueueDecision::Replace | EnqueueDecision::Supersede => true,
        // The running run has the wanted input, and may be a requested run.
        EnqueueDecision::Skip { .. } => runs.running == Some(wanted.input),
        EnqueueDecision::Keep | EnqueueDecision::Block | EnqueueDecision::Withhold => false,
    }
}

/// Whether a queued run survives the start of an embedded process, which ends all waiting callers.
///
/// A requested apply of an enabled task survives as an ordinary run, because it may stand for a change. A destruction
/// survives too.
pub const fn continues_as_change(kind: RunKind, no_retry: bool, enabled: bool) -> bool {
    matches!(kind, RunKind::Destroy) || kind.applies() && (!no_retry || enabled)
}

#[cfg(test)]
mod tests;
