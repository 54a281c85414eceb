//! Settings of the watcher.

/// Settings of the watcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Views beyond this number are warned about: each holds a connection, and Consul allows a client
    /// 200 of them by default (docs/runs.md#views-and-blocking-queries).
    pub views_before_warning: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            views_before_warning: 128,
        }
    }
}
