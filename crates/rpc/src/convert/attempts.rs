//! Attempts.

use cts_core::runs::{AttemptEnding, CurrentPhase, RunPhase};
use cts_proto::run::v1 as proto;

use super::duration_from_wire;
use super::macros::same_words;

same_words!(RunPhase, RunPhase, pub run_phase_to_wire, run_phase_from_wire { Render, Init, Validate, Plan, Apply });

/// How an attempt ended, for the wire.
pub const fn attempt_ending_to_wire(ending: AttemptEnding) -> proto::AttemptEnding {
    match ending {
        AttemptEnding::Running => proto::AttemptEnding::Running,
        AttemptEnding::Succeeded => proto::AttemptEnding::Succeeded,
        AttemptEnding::Failed => proto::AttemptEnding::Failed,
        AttemptEnding::Cancelled => proto::AttemptEnding::Cancelled,
        AttemptEnding::Replaced => proto::AttemptEnding::Replaced,
        AttemptEnding::Released => proto::AttemptEnding::Released,
        AttemptEnding::LeaseLost => proto::AttemptEnding::LeaseLost,
        AttemptEnding::CutOff => proto::AttemptEnding::CutOff,
        AttemptEnding::Unknown => proto::AttemptEnding::Unspecified,
    }
}

/// Converts the phase of a renewal from the wire; `None` for a phase that only a later version defines.
pub fn current_phase_from_wire(request: &proto::RenewRunRequest) -> Option<CurrentPhase> {
    Some(CurrentPhase {
        phase: run_phase_from_wire(request.phase())?,
        lasted: duration_from_wire(request.phase_for.as_ref()),
    })
}
