//! Runs and leases.

use cts_core::runs::{AttemptOutcome, RunStatus};
use cts_core::{LeaseEpoch, RunId};
use cts_proto::run::v1 as proto;

use super::{ConversionError, invalid};

/// A run id from the wire.
pub fn run_id(text: &str) -> Result<RunId, ConversionError> {
    text.parse().map_err(|_not_a_uuid| invalid("run_id", &text))
}

/// A lease epoch from the wire; grants are counted from 1.
pub fn lease_epoch(number: u64) -> Result<LeaseEpoch, ConversionError> {
    if number == 0 {
        return Err(ConversionError::Missing { field: "epoch" });
    }
    Ok(LeaseEpoch::new(number))
}

/// A run's status for the wire.
pub fn status_to_wire(status: RunStatus) -> proto::RunStatus {
    match status {
        RunStatus::Queued => proto::RunStatus::Queued,
        RunStatus::Running => proto::RunStatus::Running,
        RunStatus::Succeeded => proto::RunStatus::Succeeded,
        RunStatus::Failed => proto::RunStatus::Failed,
        RunStatus::Cancelled => proto::RunStatus::Cancelled,
    }
}

/// The end of an attempt for the wire.
pub fn outcome_to_wire(outcome: AttemptOutcome) -> proto::complete_run_request::Outcome {
    use proto::complete_run_request::Outcome;
    match outcome {
        AttemptOutcome::Applied => Outcome::Applied(proto::Applied {}),
        AttemptOutcome::Failed(error) => Outcome::Failed(proto::Failed { error }),
        AttemptOutcome::Interrupted => Outcome::Interrupted(proto::Interrupted {}),
    }
}

/// The end of an attempt from the wire.
pub fn outcome_from_wire(
    outcome: Option<proto::complete_run_request::Outcome>,
) -> Result<AttemptOutcome, ConversionError> {
    use proto::complete_run_request::Outcome;
    match outcome {
        Some(Outcome::Applied(_)) => Ok(AttemptOutcome::Applied),
        Some(Outcome::Failed(failed)) => Ok(AttemptOutcome::Failed(failed.error)),
        Some(Outcome::Interrupted(_)) => Ok(AttemptOutcome::Interrupted),
        None => Err(ConversionError::Missing {
            field: "CompleteRunRequest.outcome",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_survive_the_wire() {
        for outcome in [
            AttemptOutcome::Applied,
            AttemptOutcome::Failed("no".into()),
            AttemptOutcome::Interrupted,
        ] {
            assert_eq!(
                outcome_from_wire(Some(outcome_to_wire(outcome.clone()))),
                Ok(outcome)
            );
        }
        assert!(outcome_from_wire(None).is_err());
    }
}
