//! Views whose instances the leader counts again.

use std::collections::BTreeSet;

use cts_core::ViewId;

/// Views whose numbers are to be read again.
#[derive(Debug, Default)]
pub(super) struct ToCount {
    /// Views with another snapshot.
    pub(super) changed: BTreeSet<ViewId>,
    /// Tasks use other views, or other tasks are enabled.
    pub(super) uses: bool,
}
