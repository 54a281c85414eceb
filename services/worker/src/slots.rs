//! The slots of a worker: room for one run at work each. A run that waits for a condition outside of cts
//! gives its slot to another run, and comes back before new runs are taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{AcquireError, Notify, OwnedSemaphorePermit, Semaphore};

#[derive(Debug)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    /// Slots that have a run.
    busy: Arc<AtomicU64>,
    /// A run wants to come back, and a slot that only waits for a run has to make room.
    returning: Notify,
}

/// One occupied slot.
#[derive(Debug)]
pub(crate) struct Slot {
    _permit: OwnedSemaphorePermit,
    busy: Arc<AtomicU64>,
    has_run: bool,
}

impl Slots {
    pub(crate) fn new(number: u32) -> Self {
        let number = usize::try_from(number).unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(number.clamp(1, Semaphore::MAX_PERMITS))),
            busy: Arc::default(),
            returning: Notify::new(),
        }
    }

    /// Waits for a slot; earlier callers get theirs first.
    pub(crate) async fn take(&self) -> Result<Slot, AcquireError> {
        Arc::clone(&self.free)
            .acquire_owned()
            .await
            .map(|permit| Slot {
                _permit: permit,
                busy: Arc::clone(&self.busy),
                has_run: false,
            })
    }

    /// Number of slots that have a run.
    pub(crate) fn busy(&self) -> u64 {
        self.busy.load(Ordering::Relaxed)
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

impl Slot {
    /// This slot has a run from now on.
    pub(crate) fn with_run(mut self) -> Self {
        if !std::mem::replace(&mut self.has_run, true) {
            self.busy.fetch_add(1, Ordering::Relaxed);
        }
        self
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.has_run {
            self.busy.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
