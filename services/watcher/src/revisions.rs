//! Numbers of snapshots.

use std::sync::atomic::{AtomicU64, Ordering};

/// The watcher's own count of changes; it never goes back while the watcher lives.
#[derive(Debug, Default)]
pub(crate) struct Revisions(AtomicU64);

impl Revisions {
    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}
