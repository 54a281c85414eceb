//! Permits to start: few runs begin their remote runs at a time, because each run has its whole input in memory while it
//! begins.

use parking_lot::Mutex;
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use super::RemoteDriver;
use super::remote_attempt::RemoteAttempt;

/// Most remote runs that begin at a time. If the server answers within a second, these runs use up its limit of 30
/// requests a second.
pub(super) const START_PERMITS: usize = 32;

/// The permit of one run to begin; a run without a permit only waits.
#[derive(Debug, Default)]
pub(crate) struct StartPermit(Mutex<Option<OwnedSemaphorePermit>>);

impl StartPermit {
    /// Gives the permit to another run.
    pub(super) fn release(&self) {
        drop(self.0.lock().take());
    }
}

impl RemoteDriver {
    /// Waits for a permit; earlier callers get theirs first.
    pub(crate) async fn start_permit(&self) -> StartPermit {
        StartPermit(Mutex::new(self.permit().await))
    }

    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.start_permits).acquire_owned().await.ok()
    }
}

impl RemoteAttempt<'_> {
    /// Waits for a permit, if the run has released its own.
    pub(super) async fn take_start_permit(&self) {
        let has_permit = self.start_permit.0.lock().is_some();
        if !has_permit {
            let permit = self.driver.permit().await;
            *self.start_permit.0.lock() = permit;
        }
    }
}
