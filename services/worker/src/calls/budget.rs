//! Budget of requests to the server of remote runs, as the scheduler hands it out with its heartbeats.

use std::sync::atomic::{AtomicU32, Ordering};

/// Requests per minute that this worker may send.
#[derive(Debug, Default)]
pub(crate) struct RemoteBudget(AtomicU32);

impl RemoteBudget {
    /// Sets the budget; 0 if it is not known.
    pub(crate) fn set(&self, per_minute: u32) {
        self.0.store(per_minute, Ordering::Relaxed);
    }

    /// The budget; 0 if it is not known.
    #[expect(dead_code, reason = "for the driver that follows remote runs")]
    pub(crate) fn per_minute(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}
