//! The end of a requested run.

use cts_core::RunId;
use cts_proto::run::v1::Planned;

use super::refusal::TaskRefusal;

/// The end of a requested run, as far as its caller waits for it.
#[derive(Debug)]
pub(super) enum RunEnd {
    /// The run succeeded.
    Succeeded(Option<Planned>),
    /// A guard holds the run, for this reason; the task owes it.
    Held(String),
    /// The run waits for the consent of a person.
    Waits(RunId),
    /// The run failed, or did not happen.
    Failed(TaskRefusal),
}
