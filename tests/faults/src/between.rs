//! When something has happened, as far as it is known.

use tokio::time::Instant;

/// A time in which something has happened at a moment that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Between(pub(crate) Instant, pub(crate) Instant);

impl Between {
    /// Whether it may have happened in another such time.
    pub(crate) fn may_be_in(self, other: Self) -> bool {
        self.1 >= other.0 && self.0 <= other.1
    }
}
