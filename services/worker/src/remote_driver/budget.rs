//! The requests that this worker may send: its share of the limit that all workers have together
//! (docs/hcp-terraform.md#limits-of-the-server).

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cts_hcp_terraform::LocalBudget;

/// Requests a minute until the scheduler has set the share.
const FIRST_SHARE: u32 = 120;

/// Requests that may be sent at once after a pause.
const BURST: NonZeroU32 = NonZeroU32::new(10).expect("it is not 0");

/// The share, and the budget that keeps to it.
#[derive(Debug)]
pub(crate) struct Share {
    per_minute: AtomicU32,
    pub(crate) budget: Arc<LocalBudget>,
}

impl Default for Share {
    fn default() -> Self {
        Self {
            per_minute: AtomicU32::new(FIRST_SHARE),
            budget: Arc::new(LocalBudget::new(interval(FIRST_SHARE), BURST)),
        }
    }
}

impl Share {
    /// Sets the requests a minute; 0 if the scheduler sets no share.
    pub(crate) fn set(&self, per_minute: u32) {
        let per_minute = match per_minute {
            0 => FIRST_SHARE,
            share => share,
        };
        self.per_minute.store(per_minute, Ordering::Relaxed);
        self.budget.set_interval(interval(per_minute));
    }

    /// Requests a minute.
    pub(crate) fn per_minute(&self) -> u32 {
        self.per_minute.load(Ordering::Relaxed)
    }
}

fn interval(per_minute: u32) -> Duration {
    Duration::from_mins(1) / per_minute
}
