//! How views are followed.

use std::time::Duration;

/// How views are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchOptions {
    /// How long a view without subscribers is followed: a scheduler that has lost its stream comes back sooner.
    pub linger: Duration,
    /// Items that vanish from a view when Consul begins to filter its answers by the rights of the token stay in the
    /// view until Consul shows these items, or stops filtering.
    pub hold_filtered: bool,
}

impl Default for WatchOptions {
    /// 10 s, and nothing stays.
    fn default() -> Self {
        Self {
            linger: Duration::from_secs(10),
            hold_filtered: false,
        }
    }
}
