//! Limits of requests.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// So many requests of each user in each period.
#[derive(Debug)]
pub(super) struct RateLimit {
    limit: u32,
    period: Duration,
    /// Begin of the period and requests in it, by user.
    used: BTreeMap<String, (Instant, u32)>,
}

/// Rest of a limit after a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    pub(super) limit: u32,
    pub(super) reset: Duration,
    pub(super) exceeded: bool,
}

impl RateLimit {
    pub(super) const fn new(limit: u32, period: Duration) -> Self {
        Self {
            limit,
            period,
            used: BTreeMap::new(),
        }
    }

    /// Counts a request of this user.
    pub(super) fn count(&mut self, user: &str) -> Allowance {
        let now = Instant::now();
        let (begin, used) = self.used.entry(user.to_owned()).or_insert((now, 0));
        if now.duration_since(*begin) >= self.period {
            (*begin, *used) = (now, 0);
        }
        let exceeded = *used >= self.limit;
        if !exceeded {
            *used += 1;
        }
        Allowance {
            limit: self.limit,
            reset: self.period.saturating_sub(now.duration_since(*begin)),
            exceeded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_beyond_the_limit_wait_for_the_next_period() {
        let mut limit = RateLimit::new(2, Duration::from_secs(1));
        let mut exceeded = |user| limit.count(user).exceeded;
        assert_eq!(
            ["a", "a", "a", "b"].map(&mut exceeded),
            [false, false, true, false]
        );
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!exceeded("a"));
    }
}
