//! Decisions on inputs.

use std::time::Duration;

use cts_core::RunId;

/// A decision on an input, and its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) at: Duration,
    pub(crate) decision: Decision,
}

/// A decision on an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    Queued(RunId),
    /// The input went into the run that was queued already.
    Merged(RunId),
    /// The input is already applied.
    Unchanged,
    /// A guard holds it back, for this reason.
    Held(String),
    /// Its run was cancelled.
    Withheld,
    /// Freezing the input failed, with this error.
    Failed(String),
}
