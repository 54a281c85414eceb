//! Permits for requests.
//!
//! Servers limit the requests of a *user*, and all tokens of one user or team share the limit: 30 a second
//! by default. Processes that use one token therefore share a budget, which is an argument here.

use std::fmt::Debug;
use std::num::NonZeroU32;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// Hands out permits for requests to the API.
#[async_trait]
pub trait Budget: Debug + Send + Sync {
    /// Waits until one request may be sent. Awaited before every request to the API, retries included; not
    /// before requests to signed URLs. The future may be dropped, and then uses no permit.
    async fn permit(&self);

    /// Reports that the server refused a request (429) and accepts the next ones after `pause`.
    fn limited(&self, pause: Duration);
}

/// A token bucket for one process: `burst` requests at once, then one after each interval, in the order of their
/// arrival. A refusal by the server pauses all.
#[derive(Debug)]
pub struct LocalBudget {
    interval: parking_lot::Mutex<Duration>,
    burst: u32,
    /// Held while the first in the row waits; fair, so that later ones wait behind it.
    bucket: Mutex<Bucket>,
    paused_until: parking_lot::Mutex<Option<Instant>>,
}

/// The bucket is full at this time if no further permit is given; `None` if it was always full.
#[derive(Debug, Default)]
struct Bucket {
    full_at: Option<Instant>,
}

impl LocalBudget {
    /// A full bucket for one request after each `interval`.
    pub fn new(interval: Duration, burst: NonZeroU32) -> Self {
        Self {
            interval: parking_lot::Mutex::new(interval),
            burst: burst.get(),
            bucket: Mutex::default(),
            paused_until: parking_lot::Mutex::default(),
        }
    }

    /// Sets the interval, also for requests that wait already.
    pub fn set_interval(&self, interval: Duration) {
        *self.interval.lock() = interval;
    }

    /// When the next permit may be given.
    fn ready(&self, bucket: &Bucket, interval: Duration, now: Instant) -> Instant {
        let within_burst = interval * (self.burst - 1);
        let by_rate = bucket
            .full_at
            .and_then(|full| full.checked_sub(within_burst));
        let paused = *self.paused_until.lock();
        by_rate.max(paused).unwrap_or(now)
    }
}

#[async_trait]
impl Budget for LocalBudget {
    async fn permit(&self) {
        let mut bucket = self.bucket.lock().await;
        let (now, interval) = loop {
            let now = Instant::now();
            // Computed again after each wait: a refusal or another interval may have come in between.
            let interval = *self.interval.lock();
            let ready = self.ready(&bucket, interval, now);
            if ready <= now {
                break (now, interval);
            }
            sleep_until(ready).await;
        };
        let full = bucket.full_at.map_or(now, |full| full.max(now));
        bucket.full_at = Some(full + interval);
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

    fn budget(rate: u32, burst: u32) -> LocalBudget {
        let interval = Duration::from_secs(1) / rate;
        LocalBudget::new(interval, NonZeroU32::new(burst).unwrap())
    }

    async fn passed(work: impl Future<Output = ()>) -> Duration {
        let begun = Instant::now();
        work.await;
        begun.elapsed()
    }

    /// Paused time stops at whole milliseconds.
    fn about(passed: Duration, expected: u64) {
        let (passed, expected) = (passed.as_millis(), u128::from(expected));
        assert!(
            (expected..expected + 5).contains(&passed),
            "{passed} ms, not {expected} ms"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_free_and_the_rest_waits() {
        let budget = budget(10, 3);
        let take = async |count: u32| {
            for _ in 0..count {
                budget.permit().await;
            }
        };
        about(passed(take(3)).await, 0);
        about(passed(take(2)).await, 200);
        tokio::time::sleep(Duration::from_mins(1)).await;
        about(passed(take(4)).await, 100);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_pauses_those_who_wait_already() {
        let budget = budget(10, 1);
        budget.permit().await;
        let waiting = passed(budget.permit());
        let refused = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            budget.limited(Duration::from_secs(2));
            budget.limited(Duration::from_secs(1));
        };
        let (waited, ()) = tokio::join!(waiting, refused);
        about(waited, 2050);
        about(passed(budget.permit()).await, 100);
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_follows_the_interval() {
        let budget = budget(10, 10);
        let take = async |permits: u32| {
            let taken = passed(async {
                for _ in 0..permits {
                    budget.permit().await;
                }
            });
            taken.await.as_millis()
        };
        assert_eq!(take(10).await, 0);
        assert!((900..1100).contains(&take(10).await));
        budget.set_interval(Duration::from_secs(1));
        assert!(take(20).await >= 9_000);
        budget.limited(Duration::from_secs(30));
        assert!(take(1).await >= 29_000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_wait_uses_nothing() {
        let budget = budget(1, 1);
        budget.permit().await;
        for _ in 0..50 {
            let wait = tokio::time::timeout(Duration::from_millis(1), budget.permit());
            assert!(wait.await.is_err());
        }
        let rest = passed(budget.permit()).await;
        assert!(rest < Duration::from_millis(960), "{rest:?}");
    }
}
