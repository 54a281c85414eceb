//! Terraform states: the state that a task records as its own, and the reports of workers.

use cts_core::TaskName;
use cts_core::state::{
    Keep, KnownState, StateAt, StateConflict, StateDecision, StateRecord, StateReport,
    TerraformState,
};
use cts_proto::run::v1 as proto;
use cts_proto::task::v1 as task;

use super::macros::same_words;
use super::{ConversionError, invalid, timestamp_to_wire};

/// A state for the wire.
pub fn terraform_state_to_wire(state: TerraformState) -> proto::TerraformState {
    proto::TerraformState {
        lineage: state.lineage,
        serial: state.serial,
        resources: state.resources,
    }
}

/// A state from the wire.
pub fn terraform_state_from_wire(
    state: proto::TerraformState,
) -> Result<TerraformState, ConversionError> {
    let known = TerraformState::new(state.lineage, state.serial);
    let known = known.map_err(|error| invalid("TerraformState.lineage", &error))?;
    Ok(TerraformState {
        resources: state.resources,
        ..known
    })
}

same_words!(
    Keep,
    StateKeep,
    known_keep_to_wire,
    known_keep_from_wire { Old, New }
);

/// A decision for the wire.
fn keep_to_wire(keep: Option<Keep>) -> proto::StateKeep {
    keep.map(known_keep_to_wire).unwrap_or_default()
}

/// Converts a decision from the wire. An unknown decision is an error: neither state may be taken by mistake.
fn keep_from_wire(keep: i32) -> Result<Option<Keep>, ConversionError> {
    let known = proto::StateKeep::try_from(keep).map(known_keep_from_wire);
    known.map_err(|_unknown| invalid("StateKeep", &keep))
}

/// Converts the record that a task keeps of its state for the wire.
pub fn known_state_to_wire(record: &StateRecord) -> proto::KnownState {
    let known = record.known.as_ref();
    proto::KnownState {
        lineage: known.map_or_else(String::new, |known| known.lineage.clone()),
        serial: known.map_or(0, |known| known.serial),
        moves: record.moves,
        moved_serial: known.and_then(|known| known.moved),
        keep: keep_to_wire(record.keep).into(),
        from: record.from.clone().map_or_else(String::new, Into::into),
    }
}

/// Converts the record that a task keeps of its state from the wire, without conflict and time. A scheduler
/// that sends none keeps nothing.
pub fn known_state_from_wire(
    state: Option<proto::KnownState>,
) -> Result<Option<StateRecord>, ConversionError> {
    let Some(state) = state else { return Ok(None) };
    let known = (!state.lineage.is_empty()).then_some(KnownState {
        lineage: state.lineage,
        serial: state.serial,
        moved: state.moved_serial,
    });
    let from = (!state.from.is_empty()).then(|| TaskName::new(state.from));
    let from = from.transpose();
    Ok(Some(StateRecord {
        known,
        moves: state.moves,
        keep: keep_from_wire(state.keep)?,
        from: from.map_err(|error| invalid("KnownState.from", &error))?,
        conflict: None,
        recorded_at: None,
    }))
}

/// Converts the whole record that a task keeps of its state for the wire.
pub fn state_record_to_wire(record: StateRecord) -> task::KnownTerraformState {
    let known = Some(known_state_to_wire(&record));
    let (conflict, conflict_at) = record.conflict.unzip();
    task::KnownTerraformState {
        known,
        recorded_at: record.recorded_at.map(timestamp_to_wire),
        conflict: conflict.map(conflict_to_wire),
        conflict_at: conflict_at.map(timestamp_to_wire),
    }
}

/// Converts the decision of an operator for the wire.
pub fn state_decision_to_wire(
    decision: StateDecision,
) -> task::decide_terraform_state_request::Decision {
    use task::decide_terraform_state_request::Decision;
    match decision {
        StateDecision::Keep(keep) => Decision::Keep(keep_to_wire(Some(keep)).into()),
        StateDecision::From(earlier) => Decision::From(earlier.into()),
    }
}

/// Converts the decision of an operator from the wire.
pub fn state_decision_from_wire(
    decision: Option<task::decide_terraform_state_request::Decision>,
) -> Result<StateDecision, ConversionError> {
    use task::decide_terraform_state_request::Decision;
    const FIELD: &str = "DecideTerraformStateRequest.decision";
    let missing = ConversionError::Missing { field: FIELD };
    match decision {
        Some(Decision::Keep(keep)) => {
            let keep = keep_from_wire(keep)?;
            keep.map(StateDecision::Keep).ok_or(missing)
        }
        Some(Decision::From(earlier)) => {
            let earlier = TaskName::new(earlier).map_err(|error| invalid(FIELD, &error))?;
            Ok(StateDecision::From(earlier))
        }
        None => Err(missing),
    }
}

fn conflict_to_wire(conflict: StateConflict) -> proto::StateConflict {
    let at = |at: StateAt| proto::StateAt {
        backend: at.backend,
        workspace: at.workspace,
        state: at.state.map(terraform_state_to_wire),
    };
    proto::StateConflict {
        reason: conflict.reason,
        old: conflict.old.map(at),
        new: conflict.new.map(at),
    }
}

/// A conflict from the wire, of bounded size.
fn conflict_from_wire(conflict: proto::StateConflict) -> Result<StateConflict, ConversionError> {
    let at = |at: Option<proto::StateAt>| {
        let Some(at) = at else { return Ok(None) };
        Ok(Some(StateAt {
            backend: at.backend,
            workspace: at.workspace,
            state: at.state.map(terraform_state_from_wire).transpose()?,
        }))
    };
    let conflict = StateConflict {
        reason: conflict.reason,
        old: at(conflict.old)?,
        new: at(conflict.new)?,
    };
    Ok(conflict.bounded())
}

/// A report for the wire.
pub fn state_report_to_wire(report: StateReport) -> proto::record_state_request::Report {
    use proto::record_state_request::Report;
    match report {
        StateReport::Accepted(state) => Report::Accepted(proto::StateAccepted {
            state: state.map(terraform_state_to_wire),
        }),
        StateReport::Moved(state) => Report::Moved(terraform_state_to_wire(state)),
        StateReport::Refused(conflict) => Report::Conflict(conflict_to_wire(conflict)),
    }
}

/// A report from the wire.
pub fn state_report_from_wire(
    report: Option<proto::record_state_request::Report>,
) -> Result<StateReport, ConversionError> {
    use proto::record_state_request::Report;
    match report {
        Some(Report::Accepted(accepted)) => {
            let state = accepted.state.map(terraform_state_from_wire);
            Ok(StateReport::Accepted(state.transpose()?))
        }
        Some(Report::Moved(state)) => Ok(StateReport::Moved(terraform_state_from_wire(state)?)),
        Some(Report::Conflict(conflict)) => Ok(StateReport::Refused(conflict_from_wire(conflict)?)),
        None => Err(ConversionError::Missing {
            field: "RecordStateRequest.report",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(serial: u64) -> TerraformState {
        TerraformState {
            resources: Some(3),
            ..TerraformState::new("a-lineage", serial).unwrap()
        }
    }

    #[test]
    fn reports_survive_the_wire() {
        let at = |state| {
            Some(StateAt {
                backend: "consul".into(),
                workspace: "web".into(),
                state,
            })
        };
        for report in [
            StateReport::Accepted(None),
            StateReport::Accepted(Some(state(0))),
            StateReport::Moved(state(7)),
            StateReport::Refused(StateConflict {
                reason: "both".into(),
                old: at(None),
                new: at(Some(state(2))),
            }),
            StateReport::Refused(StateConflict {
                reason: String::new(),
                old: None,
                new: None,
            }),
        ] {
            let wire = state_report_to_wire(report.clone());
            assert_eq!(state_report_from_wire(Some(wire)), Ok(report));
        }
        assert!(state_report_from_wire(None).is_err());
    }

    #[test]
    fn state_record_of_a_task_survives_the_wire() {
        let known = |moved| KnownState {
            lineage: "a-lineage".into(),
            serial: 4,
            moved,
        };
        for record in [
            StateRecord::default(),
            StateRecord {
                moves: 3,
                keep: Some(Keep::New),
                ..StateRecord::default()
            },
            StateRecord {
                known: Some(known(None)),
                from: Some(TaskName::new("earlier").unwrap()),
                ..StateRecord::default()
            },
            StateRecord {
                known: Some(known(Some(0))),
                moves: 1,
                keep: Some(Keep::Old),
                ..StateRecord::default()
            },
        ] {
            let wire = known_state_to_wire(&record);
            assert_eq!(known_state_from_wire(Some(wire)), Ok(Some(record)));
        }
        assert_eq!(known_state_from_wire(None), Ok(None), "an older scheduler");
    }

    #[test]
    fn decisions_that_are_not_known_are_no_decisions() {
        assert!(keep_from_wire(77).is_err());
    }

    #[test]
    fn a_state_without_a_lineage_is_refused() {
        assert!(terraform_state_from_wire(proto::TerraformState::default()).is_err());
        let long = proto::TerraformState {
            lineage: "x".repeat(256),
            ..Default::default()
        };
        assert!(terraform_state_from_wire(long).is_err());
    }
}
