//! The end of an attempt.

use cts_core::runs::{AttemptOutcome, EarlyFailure};
use cts_core::state::TerraformState;
use cts_proto::run::v1::RunDetails;

/// The report of an attempt.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) outcome: AttemptOutcome,
    /// Whether a further attempt would fail in the same way.
    pub(crate) is_final: bool,
    /// The side at fault, if the attempt failed before Terraform started.
    pub(crate) early_failure: Option<EarlyFailure>,
    /// Details of the attempt, if its secrets were known.
    pub(crate) details: Option<RunDetails>,
    /// The state of the task, if Terraform may have changed it.
    pub(crate) state: Option<TerraformState>,
}
