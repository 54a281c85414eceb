//! The slots of a worker: room for one run at work each. A run that waits for a condition outside of cts
//! gives its slot to another run, and comes back before new runs are taken.

use std::sync::Arc;

use tokio::sync::{AcquireError, Notify, OwnedSemaphorePermit, Semaphore};

#[derive(Debug)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    /// A run wants to come back, and a slot that only waits for a run has to make room.
    returning: Notify,
}

/// One slot that is taken.
#[derive(Debug)]
pub(crate) struct Slot {
    _permit: OwnedSemaphorePermit,
}

impl Slots {
    pub(crate) fn new(number: u32) -> Self {
        let number = usize::try_from(number).unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(number.clamp(1, Semaphore::MAX_PERMITS))),
            returning: Notify::new(),
        }
    }

    /// Waits for a slot; earlier callers get theirs first.
    pub(crate) async fn take(&self) -> Result<Slot, AcquireError> {
        Arc::clone(&self.free)
            .acquire_owned()
            .await
            .map(|permit| Slot { _permit: permit })
    }

    /// Waits for a slot in which a run that has waited can continue.
    pub(crate) async fn reclaim(&self) -> Result<Slot, AcquireError> {
        if self.free.available_permits() == 0 {
            self.returning.notify_one();
        }
        self.take().await
    }

    /// Returns when a run that has waited wants this slot, which is without a run.
    pub(crate) async fn wanted(&self) {
        self.returning.notified().await;
    }
}
