//! The slots of a worker: room for so many runs at work at a time. A run that waits for something outside of cts gives its
//! slot to another, and comes back before new runs are taken.

use std::sync::Arc;

use tokio::sync::{AcquireError, Notify, OwnedSemaphorePermit, Semaphore};

#[derive(Debug)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    /// A run wants to come back, and slots that only ask for a run are to make room.
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

    /// Waits for a slot, behind those that have waited before.
    pub(crate) async fn take(&self) -> Result<Slot, AcquireError> {
        Arc::clone(&self.free)
            .acquire_owned()
            .await
            .map(|permit| Slot { _permit: permit })
    }

    /// Waits for a slot with which a run goes on that has waited.
    pub(crate) async fn take_back(&self) -> Result<Slot, AcquireError> {
        if self.free.available_permits() == 0 {
            self.returning.notify_one();
        }
        self.take().await
    }

    /// Returns when a run that has waited wants this slot, which has none.
    pub(crate) async fn wanted(&self) {
        self.returning.notified().await;
    }
}
