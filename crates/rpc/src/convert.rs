//! Conversions, one file per area: `…_to_wire` away from the domain, `…_from_wire` towards it.
//!
//! They are functions and not `From` implementations because both sides live in other crates.
//!
//! Messages end where a call is made: decisions see the values of `cts-core`. Answers of cts's own endpoints are the
//! exception, because the messages of the scheduler serialise themselves (`cts_proto::json`). Only the wire format of the
//! original has types of its own, in the gateway and in the client.

mod attempts;
mod delta;
mod details;
mod draft;
mod expression;
mod journal;
mod macros;
mod remote;
mod run;
mod state;
mod task;
mod view;
mod worker;

pub use attempts::{attempt_ending_to_wire, current_phase_from_wire, run_phase_to_wire};
pub use cts_proto::time::{
    duration_from_wire, duration_to_wire, timestamp_from_wire, timestamp_to_wire,
};
pub use delta::{append_part, delta_from_wire, delta_to_wire};
pub use details::{bounded_details, edited_details};
pub use draft::{draft_from_wire, draft_to_wire};
pub use journal::{
    journal_entry_from_wire, journal_entry_to_wire, journal_from_wire, journal_to_wire,
};
pub use remote::{
    remote_run_from_wire, remote_run_to_wire, remote_runs_from_wire, remote_runs_to_wire,
};
pub use run::{
    cancel_order_from_wire, cancel_order_to_wire, early_failure_from_wire, early_failure_to_wire,
    kind_of_lease, kind_to_wire, kinds_from_wire, known_kinds, lease_epoch, lost_lease_from_wire,
    lost_lease_to_wire, outcome_from_wire, outcome_to_wire, plan_to_wire, run_id, status_to_wire,
    timeouts_from_wire, timeouts_to_wire, wait_end_from_wire, wait_end_to_wire,
};
pub use state::{
    known_state_from_wire, known_state_to_wire, state_decision_from_wire, state_decision_to_wire,
    state_record_to_wire, state_report_from_wire, state_report_to_wire, terraform_state_from_wire,
    terraform_state_to_wire,
};
pub use task::{
    blocked_to_wire, current_state_from_wire, current_state_to_wire, loss_from_wire, phase_to_wire,
    task_from_spec, task_status_from_wire, task_status_to_wire,
};
pub use view::{subscribe_to_wire, views_from_wire};
pub use worker::{
    capabilities_from_wire, capabilities_to_wire, registration_from_wire, worker_from_wire,
    worker_to_wire,
};

/// A message cannot become a domain value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConversionError {
    /// A required field is absent.
    #[error("the field {field} is missing")]
    Missing {
        /// Name of the field, with the message in front.
        field: &'static str,
    },
    /// A field has a value that its type allows and its meaning does not.
    #[error("the field {field} cannot be {value:?}")]
    Invalid {
        /// Name of the field, with the message in front.
        field: &'static str,
        /// The value.
        value: String,
    },
}

impl From<ConversionError> for tonic::Status {
    fn from(error: ConversionError) -> Self {
        Self::invalid_argument(error.to_string())
    }
}

fn invalid(field: &'static str, value: &dyn ToString) -> ConversionError {
    ConversionError::Invalid {
        field,
        value: value.to_string(),
    }
}
