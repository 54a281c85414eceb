//! The rules of runs: whether a frozen input needs one, and what follows a finished attempt.
//!
//! A run *applies* its input, or only *plans* what an apply would do, or only *checks* whether one could be made.
//!
//! At most one run of a task is *running*, of whatever kind, because all kinds work in the task's directory. At
//! most one run that applies is *queued*; a newer input replaces the queued one. In addition a task remembers
//! its *last applied* input: the one of its last apply, if that succeeded. From the moment a run is leased to
//! apply its input the task has no such input, because Terraform may have changed anything, until a run
//! succeeds again. So "equal to what is applied" can always be answered, also after a crash at any point.
//!
//! Plans and checks are independent of all that; the rules for plans here hold for checks, too. Each is
//! requested by a caller that waits for its answer: any number of them may be queued, none is merged with
//! another or with an apply, skipped or cancelled because of one. A plan changes nothing in reality, so the
//! task's last applied input, its failures, its events and its queued run stay as they are, whatever becomes of
//! the plan. A plan that is interrupted or loses its worker is made again; one that fails has failed.
//!
//! A run is *requested* if the API has asked for it by its id, and a caller waits for the end of this very run:
//! it is never merged with another or skipped, and an apply takes the place of a queued one. It passes the shrink
//! limit and a cancelled input, unless it only [accompanies](Occasion) something. A requested run goes on if its
//! task is disabled, and is not tried again itself (`no_retry`), unless a change takes it over.
//! No change may get lost in it: if a requested apply of an enabled task fails, an ordinary run of its input
//! follows. That one comes soon, and whatever the task's settings for retries, unless the input has been
//! *tried*: it was applied, or has failed in an ordinary run for good, and no change came since. Then the
//! failure is one more of a tried input, with a slow retry if the task wants those.
//!
//! The infrastructure of a task that is being deleted may be *destroyed* before the task goes: one run more,
//! with the input of its newest run that applied, or may have, and without any other run at the same time. This
//! run is tried until it succeeds. Its effect can be planned before, as a plan of that input.
//!
//! A lease that is lost counts as an attempt, of every kind of run: see [`after_lost_lease`].
//!
//! A run may be *cancelled* on request: see [`decide_cancel`]. A run that ends while its remote run goes on becomes an
//! *ending* first: see [`becomes_ending`].
//!
//! An attempt that fails before Terraform has started, because of the machine of its worker, does not count: see
//! [`is_given_back`].
//!
//! A run may *wait* for something outside of cts before it applies: see [`wait_end`].

mod after_attempt;
mod attempt;
mod attempt_record;
mod brief_error;
mod cancel;
mod destroy;
mod details;
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
pub use self::attempt_record::{
    ATTEMPTS_RECORDED, AttemptEnding, AttemptRecord, keep_attempt, newest_attempts,
};
pub use self::brief_error::{brief_error, brief_newest_error};
pub use self::cancel::{
    CANCEL_GRACE, CancelContext, CancelDecision, CancelOrder, CancelRefusal, decide_cancel,
    ends_cancelled,
};
pub use self::details::{
    CHANGES_KEPT, DIAGNOSTICS_KEPT, Diagnostic, OUTPUTS_KEPT, OutputValue, PhaseTimes,
    ResourceAction, ResourceChange, ResourceCounts, RunDetails, RunFindings, RunOutput, RunSummary,
    Severity,
};
pub use self::early_failure::{
    ELSEWHERE_FOR, EarlyFailure, GIVEN_BACK_AT_MOST, can_be_of_machine, is_given_back,
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
use crate::digest::Digest;
use crate::phase::TaskPhase;

/// The queued run that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuedApply {
    /// Its input.
    pub input: Digest,
    /// Whether it is a requested one with a single attempt.
    pub no_retry: bool,
}

/// Known runs of one task when a new input is frozen to be applied; neither plans nor checks count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskRuns {
    /// The queued run.
    pub queued: Option<QueuedApply>,
    /// Input of the run that is applying.
    pub running: Option<Digest>,
    /// The task was declared otherwise since that run was leased, so it has no further attempt and stands for no input.
    pub withdrawn: bool,
    /// Input that is applied, if nothing may have changed since.
    pub last_applied: Option<Digest>,
    /// Input of a run that was cancelled, and that waits for a newer one or for a requested run.
    pub withheld: Option<Digest>,
    /// An apply that accompanies something was held, and is not requested any more: the next one is made, whatever is
    /// applied.
    pub owes: bool,
}

/// An input that is to be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedApply {
    /// The input.
    pub input: Digest,
    /// Whether an input that is applied, or is being applied, needs no run.
    pub skip_unchanged: bool,
    /// Whether a caller waits for this very run, which has one attempt then and is made whatever is applied.
    pub requested: bool,
    /// Whether a requested run only accompanies something, so that it passes no guard.
    pub accompanies: bool,
    /// Whether it takes more from what is applied than the task may lose (docs/runs.md#the-guard-against-lost-instances).
    pub loses_much: bool,
}

/// State of the request for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestState {
    /// Without a request: the run follows from a trigger.
    None,
    /// A caller waits for this very run, which is not queued yet.
    Open,
    /// The run was requested and refused.
    Refused,
    /// The run was requested, and is queued already.
    Queued,
}

/// Whether the task may have the run at all. If the run was requested, it does not matter whether changes run the task.
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
    /// Put the new input into the queued run, which is tried again from now on if it fails, and make it due now
    /// with all its attempts.
    Replace,
    /// Cancel the queued run and queue another: a requested run has its own id and does not go on with earlier
    /// attempts.
    Supersede,
    /// The queued run has this input already.
    Keep,
    /// No run: the input is applied, or is being applied.
    Skip {
        /// A queued run with another input has become pointless.
        cancel_queued: bool,
    },
    /// No run for now: services have lost more instances than the task may lose. A queued run stays.
    Block,
    /// No run: the last one of this input was cancelled, and nothing has changed since.
    Withhold,
}

/// Decides whether an input needs a run that applies it.
///
/// A change that comes while a requested run is queued takes it over, and gets all its attempts, so that it is not
/// lost (P3).
pub fn decide_enqueue(runs: TaskRuns, wanted: WantedApply) -> EnqueueDecision {
    let own_run = match runs.queued {
        None => EnqueueDecision::Enqueue,
        Some(_) if wanted.requested => EnqueueDecision::Supersede,
        Some(_) => EnqueueDecision::Replace,
    };
    if wanted.requested && !wanted.accompanies {
        return own_run;
    }
    let is_due = wanted.requested || runs.owes;
    let current = runs.running.or(runs.last_applied);
    let unchanged = !runs.withdrawn && current == Some(wanted.input);
    if wanted.skip_unchanged && !is_due && unchanged {
        return EnqueueDecision::Skip {
            // A caller waits for a requested run, which is not pointless because its input is applied.
            cancel_queued: runs
                .queued
                .is_some_and(|queued| !queued.no_retry || queued.input != wanted.input),
        };
    }
    let withheld = runs.queued.is_none() && runs.withheld == Some(wanted.input);
    if (wanted.skip_unchanged || is_due) && withheld {
        return EnqueueDecision::Withhold;
    }
    match runs.queued {
        // The queued run was let through.
        Some(queued)
            if queued.input == wanted.input && (!queued.no_retry || is_due && unchanged) =>
        {
            if wanted.requested {
                EnqueueDecision::Supersede
            } else {
                EnqueueDecision::Keep
            }
        }
        _ if wanted.loses_much => EnqueueDecision::Block,
        _ => own_run,
    }
}

/// Whether the ordinary attempts that the wanted input has had, if it is the one that was `tried`, do not count any
/// more from this decision on, because something has changed since.
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
        // Another input was to be applied since then, and this run may take its place.
        let queued = runs.queued.map(|queued| queued.input);
        return [queued, runs.running]
            .into_iter()
            .flatten()
            .any(|input| input != wanted.input);
    }
    match decision {
        EnqueueDecision::Enqueue | EnqueueDecision::Replace | EnqueueDecision::Supersede => true,
        // The running run stands for it, and may be a requested one.
        EnqueueDecision::Skip { .. } => runs.running == Some(wanted.input),
        EnqueueDecision::Keep | EnqueueDecision::Block | EnqueueDecision::Withhold => false,
    }
}

/// Whether a queued run outlives the death of everything that waits: the start of an embedded process.
///
/// A requested apply of an enabled task does, as an ordinary run, because it may stand for a change, and so does what
/// destroys.
pub const fn continues_as_change(kind: RunKind, no_retry: bool, enabled: bool) -> bool {
    matches!(kind, RunKind::Destroy) || kind.applies() && (!no_retry || enabled)
}

#[cfg(test)]
mod tests;
