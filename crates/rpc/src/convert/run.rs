//! Runs and leases.

use cts_core::runs::{
    AttemptOutcome, CancelOrder, EarlyFailure, Plan, RunKind, RunKinds, RunStatus, WaitEnd,
};
use cts_core::{LeaseEpoch, LostLease, RunId, TaskTimeouts, WorkerId};
use cts_proto::run::v1 as proto;

use super::macros::same_words;
use super::{
    ConversionError, duration_from_wire, duration_to_wire, invalid, timestamp_from_wire,
    timestamp_to_wire,
};

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

same_words!(RunKind, RunKind, pub kind_to_wire, kind_from_wire { Apply, Plan, Check, Destroy, DestroyPlan });
same_words!(
    CancelOrder,
    CancelOrder,
    order_to_wire,
    order_from_wire { Interrupt, Force }
);
same_words!(WaitEnd, WaitEnd, pub wait_end_to_wire, known_wait_end { NewerInput, TaskChanged, TaskDeleted, CheckQueued });

/// Returns the purpose of a leased run. A scheduler that sends no kind supports only applies; an unknown kind is an
/// error, because nothing may be applied by mistake.
pub fn kind_of_lease(lease: &proto::Lease) -> Result<RunKind, ConversionError> {
    match proto::RunKind::try_from(lease.kind) {
        Ok(kind) => Ok(kind_from_wire(kind).unwrap_or(RunKind::Apply)),
        Err(_unknown) => Err(invalid("Lease.kind", &lease.kind)),
    }
}

/// The order to stop, for the wire.
pub fn cancel_order_to_wire(order: Option<CancelOrder>) -> proto::CancelOrder {
    order.map(order_to_wire).unwrap_or_default()
}

/// Returns the order to stop, if any. An unknown order counts as the gentle order.
pub fn cancel_order_from_wire(order: i32) -> Option<CancelOrder> {
    let order = proto::CancelOrder::try_from(order);
    order.map_or(Some(CancelOrder::Interrupt), order_from_wire)
}

/// Converts the timeouts of a task for the wire.
pub fn timeouts_to_wire(timeouts: TaskTimeouts) -> Option<proto::StepTimeouts> {
    (!timeouts.is_empty()).then(|| proto::StepTimeouts {
        init: timeouts.init.map(duration_to_wire),
        plan: timeouts.plan.map(duration_to_wire),
        apply: timeouts.apply.map(duration_to_wire),
    })
}

/// Converts the timeouts of a task from the wire.
pub fn timeouts_from_wire(timeouts: Option<&proto::StepTimeouts>) -> TaskTimeouts {
    let Some(timeouts) = timeouts else {
        return TaskTimeouts::default();
    };
    let limit = |limit: &Option<_>| limit.as_ref().map(|limit| duration_from_wire(Some(limit)));
    TaskTimeouts {
        init: limit(&timeouts.init),
        plan: limit(&timeouts.plan),
        apply: limit(&timeouts.apply),
    }
}

/// A lost lease for the wire.
pub fn lost_lease_to_wire(lease: &LostLease) -> proto::LostLease {
    proto::LostLease {
        worker_id: lease.worker.to_string(),
        started_at: Some(timestamp_to_wire(lease.started_at)),
        lost_at: Some(timestamp_to_wire(lease.lost_at)),
    }
}

/// A lost lease from the wire.
pub fn lost_lease_from_wire(lease: proto::LostLease) -> Result<LostLease, ConversionError> {
    let time = |at: Option<prost_types::Timestamp>, field| {
        timestamp_from_wire(at.as_ref()).ok_or(ConversionError::Missing { field })
    };
    Ok(LostLease {
        worker: WorkerId::new(lease.worker_id),
        started_at: time(lease.started_at, "LostLease.started_at")?,
        lost_at: time(lease.lost_at, "LostLease.lost_at")?,
    })
}

/// The kinds of runs that a worker of this version supports, for the wire.
pub fn known_kinds() -> Vec<i32> {
    RunKind::ALL.map(|kind| kind_to_wire(kind).into()).into()
}

/// Converts the kinds of runs that a worker supports from the wire; a worker that names no kind supports applies.
pub fn kinds_from_wire(request: &proto::AcquireRunRequest) -> RunKinds {
    let named = |kind| request.kinds().any(|named| named == kind);
    RunKinds {
        applies: request.kinds.is_empty() || named(proto::RunKind::Apply),
        plans: named(proto::RunKind::Plan),
        checks: named(proto::RunKind::Check),
        destroys: named(proto::RunKind::Destroy),
        destroy_plans: named(proto::RunKind::DestroyPlan),
    }
}

/// A plan for the wire.
pub fn plan_to_wire(plan: Plan) -> proto::Planned {
    proto::Planned {
        text: plan.text,
        changes_present: plan.changes_present,
        remote_url: plan.remote_url.unwrap_or_default(),
        ..proto::Planned::default()
    }
}

/// A plan from the wire, shortened if it is too long.
fn plan_from_wire(plan: proto::Planned) -> Plan {
    Plan::new(plan.changes_present, plan.text)
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

/// Converts the reason why a run is to wait no longer from the wire; `None` if the run may wait. An unknown reason ends
/// the wait, too.
pub fn wait_end_from_wire(end: i32) -> Option<WaitEnd> {
    let end = proto::WaitEnd::try_from(end);
    end.map_or(Some(WaitEnd::TaskChanged), known_wait_end)
}

/// The end of an attempt for the wire.
pub fn outcome_to_wire(outcome: AttemptOutcome) -> proto::complete_run_request::Outcome {
    use proto::complete_run_request::Outcome;
    match outcome {
        AttemptOutcome::Applied => Outcome::Applied(proto::Applied {}),
        AttemptOutcome::Planned(plan) => Outcome::Planned(plan_to_wire(plan)),
        AttemptOutcome::Checked => Outcome::Checked(proto::Checked {}),
        AttemptOutcome::Destroyed => Outcome::Destroyed(proto::Destroyed {}),
        AttemptOutcome::Failed(error) => Outcome::Failed(proto::Failed {
            error,
            is_final: false,
            is_declined: false,
            early_failure: proto::EarlyFailure::Unspecified.into(),
        }),
        AttemptOutcome::Declined(error) => Outcome::Failed(proto::Failed {
            error,
            is_final: true,
            is_declined: true,
            early_failure: proto::EarlyFailure::Unspecified.into(),
        }),
        AttemptOutcome::Interrupted => Outcome::Interrupted(proto::Interrupted {}),
    }
}

/// The side that is at fault for the wire.
pub fn early_failure_to_wire(failure: Option<EarlyFailure>) -> proto::EarlyFailure {
    match failure {
        None => proto::EarlyFailure::Unspecified,
        Some(EarlyFailure::Run) => proto::EarlyFailure::Run,
        Some(EarlyFailure::Machine) => proto::EarlyFailure::Machine,
    }
}

/// Converts the side that is at fault from the wire. If only a later version defines the side, the run is at fault.
pub fn early_failure_from_wire(failure: i32) -> Option<EarlyFailure> {
    match proto::EarlyFailure::try_from(failure) {
        Ok(proto::EarlyFailure::Unspecified) => None,
        Ok(proto::EarlyFailure::Machine) => Some(EarlyFailure::Machine),
        Ok(proto::EarlyFailure::Run) | Err(_) => Some(EarlyFailure::Run),
    }
}

/// The end of an attempt from the wire.
pub fn outcome_from_wire(
    outcome: Option<proto::complete_run_request::Outcome>,
) -> Result<AttemptOutcome, ConversionError> {
    use proto::complete_run_request::Outcome;
    match outcome {
        Some(Outcome::Applied(_)) => Ok(AttemptOutcome::Applied),
        Some(Outcome::Planned(plan)) => Ok(AttemptOutcome::Planned(plan_from_wire(plan))),
        Some(Outcome::Checked(_)) => Ok(AttemptOutcome::Checked),
        Some(Outcome::Destroyed(_)) => Ok(AttemptOutcome::Destroyed),
        Some(Outcome::Failed(failed)) if failed.is_declined => {
            Ok(AttemptOutcome::Declined(failed.error))
        }
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
            AttemptOutcome::Planned(Plan::new(true, "Plan: 1 to add".into())),
            AttemptOutcome::Planned(Plan::new(false, String::new())),
            AttemptOutcome::Checked,
            AttemptOutcome::Destroyed,
            AttemptOutcome::Failed("no".into()),
            AttemptOutcome::Declined("discarded".into()),
            AttemptOutcome::Interrupted,
        ] {
            assert_eq!(
                outcome_from_wire(Some(outcome_to_wire(outcome.clone()))),
                Ok(outcome)
            );
        }
        assert!(outcome_from_wire(None).is_err());
        for failure in [None, Some(EarlyFailure::Run), Some(EarlyFailure::Machine)] {
            let wire = early_failure_to_wire(failure).into();
            assert_eq!(early_failure_from_wire(wire), failure);
        }
        let newer = early_failure_from_wire(77);
        assert_eq!(newer, Some(EarlyFailure::Run), "a newer one");
    }

    #[test]
    fn a_worker_says_which_kinds_it_knows() {
        let kinds = |kinds| {
            kinds_from_wire(&proto::AcquireRunRequest {
                kinds,
                ..Default::default()
            })
        };
        let applies = RunKinds::APPLIES;
        assert_eq!(kinds(known_kinds()), RunKinds::ALL);
        assert_eq!(kinds(vec![]), applies, "an older one");
        assert_eq!(kinds(vec![1, 77]), applies, "a newer one");
        assert_eq!(kinds(vec![2]), RunKinds::PLANS);
        let neither = kinds(vec![77]);
        assert!(!RunKind::ALL.iter().any(|kind| neither.has(*kind)));
    }

    #[test]
    fn unknown_kind_of_a_lease_is_not_guessed() {
        for kind in RunKind::ALL {
            let lease = proto::Lease {
                kind: kind_to_wire(kind).into(),
                ..Default::default()
            };
            assert_eq!(kind_of_lease(&lease), Ok(kind));
        }
        let of = |kind| {
            kind_of_lease(&proto::Lease {
                kind,
                ..Default::default()
            })
        };
        assert_eq!(of(0), Ok(RunKind::Apply), "unspecified");
        assert!(of(77).is_err(), "a newer one");
    }
}
