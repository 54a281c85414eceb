//! Updates of views.

use std::time::Duration;

use cts_core::{ViewDelta, ViewId};

/// Something became known of views.
#[derive(Debug)]
pub(crate) enum WatchEvent {
    /// A view changed, or can be read again.
    Delta(ViewId, ViewDelta),
    /// A view was read, and the read began after the request with this mark. The content that the read found was sent
    /// before.
    Read(ViewId, u64),
    /// These views cannot be read on request: they have no watcher.
    NotReadable(Vec<ViewId>),
    /// Changes of these views are not seen now; their snapshots stay in force.
    Failure(Vec<ViewId>, WatchError),
}

/// Reason why changes of views are not seen. Times are counted from the moment at which the reason becomes known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WatchError {
    /// The reason in one line.
    pub(crate) text: String,
    /// Consul has refused to answer.
    pub(crate) refused: bool,
    /// Whether all views of the same Consul or watcher have this error.
    pub(crate) outage: bool,
    /// How long that has been so.
    pub(crate) lasts: Duration,
    /// Time until the next try, where it is known.
    pub(crate) retry_after: Option<Duration>,
    /// Time since Consul answered last, where it is known.
    pub(crate) since_answer: Option<Duration>,
}

impl WatchError {
    /// A reason that begins now, and that no watcher has reported.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            refused: false,
            outage: true,
            lasts: Duration::ZERO,
            retry_after: None,
            since_answer: None,
        }
    }
}
