//! Requests for reads of views.

use cts_core::ViewId;

/// Requests one new read of each of these views (docs/runs.md#what-a-run-sees).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadRequest {
    pub(crate) views: Vec<ViewId>,
    /// Names the request, and is higher than in all requests before.
    pub(crate) mark: u64,
    /// Further requests are to be expected at this moment, and share the reads.
    pub(crate) gather: bool,
}
