//! Outages of Consul that last long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// From then on an outage is an error in the log: the original gives up a view then.
pub(crate) const LONG: Duration = Duration::from_mins(10);

/// Whether the present outage is in the log. Shared by all views, so that it is there once.
#[derive(Debug, Default)]
pub(crate) struct LongOutage(AtomicBool);

impl LongOutage {
    /// Returns whether the outage has to be logged.
    pub(crate) fn begin(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// Consul has answered.
    pub(crate) fn end(&self) {
        if self.0.load(Ordering::Relaxed) {
            self.0.store(false, Ordering::Relaxed);
        }
    }

    #[cfg(test)]
    pub(crate) fn is_known(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
