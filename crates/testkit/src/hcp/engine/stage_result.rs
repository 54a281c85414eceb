//! Ends of steps of a run.

use super::super::phase::Phase;

/// Goes on, or ends the run with a status.
pub(super) type Step<T> = Result<T, Phase>;

/// How the plan or the apply ended.
pub(super) struct StageResult {
    pub(super) succeeded: bool,
    /// Whether the plan has changes.
    pub(super) has_changes: bool,
}
