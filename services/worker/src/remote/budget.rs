//! The requests that this worker may send: its share of the limit that all workers have together
//! (docs/hcp-terraform.md#limits-of-the-server).

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use cts_hcp_terraform::Budget;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// Requests a minute until the scheduler has set the share.
const FIRST_SHARE: u32 = 120;

/// Requests that may be sent at once after a pause.
const BURST: u32 = 10;

/// Hands out permits at the rate that the scheduler sets.
#[derive(Debug, Default)]
pub(crate) struct SharedBudget {
    /// Requests a minute; 0 if the scheduler has not set the share.
    share: AtomicU32,
    /// When all permits that were handed out are used up at the rate.
    used_until: Mutex<Option<Instant>>,
    paused_until: parking_lot::Mutex<Option<Instant>>,
}

impl SharedBudget {
    pub(crate) fn set_share(&self, per_minute: u32) {
        self.share.store(per_minute, Ordering::Relaxed);
    }

    /// Requests a minute.
    pub(crate) fn per_minute(&self) -> u32 {
        match self.share.load(Ordering::Relaxed) {
            0 => FIRST_SHARE,
            share => share,
        }
    }

    /// When the next permit may be given, if `used_until` is as it is.
    fn ready(&self, used_until: Option<Instant>, interval: Duration) -> Option<Instant> {
        let within_burst = interval * (BURST - 1);
        let by_rate = used_until.and_then(|used| used.checked_sub(within_burst));
        by_rate.max(*self.paused_until.lock())
    }
}

#[async_trait]
impl Budget for SharedBudget {
    async fn permit(&self) {
        // Fair: later callers wait for the first in the row.
        let mut used_until = self.used_until.lock().await;
        let (now, interval) = loop {
            let now = Instant::now();
            // The share may have changed during the wait, and the server may have refused a request.
            let interval = Duration::from_mins(1) / self.per_minute();
            match self.ready(*used_until, interval) {
                Some(ready) if ready > now => sleep_until(ready).await,
                _ => break (now, interval),
            }
        };
        let used = used_until.map_or(now, |used| used.max(now));
        *used_until = Some(used + interval);
    }

    fn limited(&self, pause: Duration) {
        let until = Instant::now() + pause;
        let mut paused = self.paused_until.lock();
        *paused = (*paused).max(Some(until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_rate_follows_the_share() {
        let budget = SharedBudget::default();
        budget.set_share(600);
        let take = async |permits: u32| {
            let begun = Instant::now();
            for _ in 0..permits {
                budget.permit().await;
            }
            begun.elapsed().as_millis()
        };
        assert_eq!(take(BURST).await, 0);
        assert!((900..1100).contains(&take(10).await));
        budget.set_share(60);
        assert!(take(20).await >= 9_000);
        budget.limited(Duration::from_secs(30));
        assert!(take(1).await >= 29_000);
    }
}
