//! Records of attempts.

use cts_core::runs::{AttemptEnding, AttemptRecord, CurrentPhase, PhaseTimes, RunPhase};
use cts_proto::run::v1 as proto;

use super::details::phases_to_wire;
use super::macros::same_words;
use super::{duration_from_wire, duration_to_wire, timestamp_to_wire};

same_words!(RunPhase, RunPhase, pub run_phase_to_wire, run_phase_from_wire { Render, Init, Validate, Plan, Apply });

/// How an attempt ended, for the wire.
const fn ending_to_wire(ending: AttemptEnding) -> proto::AttemptEnding {
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

/// The record of an attempt for the wire.
pub fn attempt_to_wire(record: AttemptRecord) -> proto::AttemptRecord {
    let phases = record.phases;
    proto::AttemptRecord {
        number: record.number,
        worker: record.worker.name().to_owned(),
        worker_id: record.worker.to_string(),
        ending: ending_to_wire(record.ending).into(),
        leased_at: record.leased_at.map(timestamp_to_wire),
        renewed_at: Some(timestamp_to_wire(record.renewed_at)),
        ended_at: record.ended_at.map(timestamp_to_wire),
        phases: (phases != PhaseTimes::default()).then(|| phases_to_wire(phases)),
        error: record.error,
        worker_version: record.worker_version,
        phase: record
            .phase
            .map(run_phase_to_wire)
            .unwrap_or_default()
            .into(),
        retry_after: record.retry_after.map(duration_to_wire),
    }
}

/// Converts the phase of a renewal from the wire; `None` for a phase that only a later version defines.
pub fn current_phase_from_wire(request: &proto::RenewRunRequest) -> Option<CurrentPhase> {
    Some(CurrentPhase {
        phase: run_phase_from_wire(request.phase())?,
        lasted: duration_from_wire(request.phase_for.as_ref()),
    })
}
