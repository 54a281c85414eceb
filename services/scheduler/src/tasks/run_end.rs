//! The end of a requested run.

use cts_core::runs::Plan;

use super::refusal::Refusal;

/// The end of a requested run.
#[derive(Debug)]
pub(super) enum RunEnd {
    /// The run succeeded.
    Succeeded(Option<Plan>),
    /// The run failed, or did not happen.
    Failed(Refusal),
}
