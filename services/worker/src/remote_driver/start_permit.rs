//! Permits to start: few runs begin their remote runs at a time, because each run has its whole input in memory while it
//! begins.

use parking_lot::Mutex;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most remote runs that begin at a time. If the server answers within a second, these runs use up its limit of 30
/// requests a second.
const START_PERMITS: usize = 32;

/// The permits of a worker.
#[derive(Debug)]
pub(crate) struct StartPermits(Arc<Semaphore>);

impl Default for StartPermits {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(START_PERMITS)))
    }
}

impl StartPermits {
    /// Waits for a permit; earlier callers get theirs first.
    pub(crate) async fn take(&self) -> StartPermit {
        StartPermit(Mutex::new(self.permit().await))
    }

    /// Waits for a permit, if the run has released its own.
    pub(crate) async fn take_again(&self, released: &StartPermit) {
        let has_permit = released.0.lock().is_some();
        if !has_permit {
            let permit = self.permit().await;
            *released.0.lock() = permit;
        }
    }

    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}

/// The permit of one run to begin; a run without a permit only waits.
#[derive(Debug, Default)]
pub(crate) struct StartPermit(Mutex<Option<OwnedSemaphorePermit>>);

impl StartPermit {
    /// Gives the permit to another run.
    pub(crate) fn release(&self) {
        drop(self.0.lock().take());
    }
}
