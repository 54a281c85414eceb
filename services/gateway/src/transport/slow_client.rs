//! How long a peer may leave sent data waiting (docs/rest.md#limits).

use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;

/// A peer that takes nothing of an answer for this time loses its connection.
pub(crate) const UNREAD_LIMIT: Duration = Duration::from_mins(1);

/// Counts the time in which bytes wait for the peer. Taken bytes reduce the count: by a second for each `rate` bytes.
/// So a peer that is slow for a moment loses nothing, and a peer that is too slow loses its connection after a while.
#[derive(Debug)]
pub(crate) struct SlowClientTimeout {
    /// Bytes per second.
    rate: NonZeroU32,
    /// Spent so far.
    spent: Duration,
    /// Bytes wait since then.
    since: Option<Instant>,
}

impl SlowClientTimeout {
    /// For a peer that has to take `rate` bytes in a second.
    pub(crate) fn new(rate: NonZeroU32) -> Self {
        Self {
            rate,
            spent: Duration::ZERO,
            since: None,
        }
    }

    /// Bytes wait for the peer, from now on if they did not before. Returns the moment at which the timeout ends.
    pub(crate) fn wait(&mut self) -> Instant {
        let since = *self.since.get_or_insert_with(Instant::now);
        since + UNREAD_LIMIT.saturating_sub(self.spent)
    }

    /// The peer has taken `bytes` bytes, and no bytes wait.
    pub(crate) fn taken(&mut self, bytes: usize) {
        if let Some(since) = self.since.take() {
            self.spent += since.elapsed();
        }
        let rate = u64::from(self.rate.get());
        let millis = bytes as u64 * 1000 / rate;
        self.spent = self.spent.saturating_sub(Duration::from_millis(millis));
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    /// Time until a peer times out that takes `bytes` every `pause`; `None` if it takes a megabyte.
    async fn end(pause: Duration, bytes: usize) -> Option<Duration> {
        let mut timeout = SlowClientTimeout::new(NonZeroU32::new(1024).unwrap());
        let begin = Instant::now();
        let mut taken = 0;
        while taken < 1 << 20 {
            let end = timeout.wait();
            advance(pause).await;
            if Instant::now() >= end {
                return Some(end - begin);
            }
            timeout.taken(bytes);
            taken += bytes;
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_decides_in_the_long_run() {
        let seconds = Duration::from_secs;
        assert_eq!(end(seconds(1), 1024).await, None);
        assert_eq!(end(seconds(5), 16 * 1024).await, None);
        assert_eq!(end(seconds(59), 64 * 1024).await, None);
        assert_eq!(end(seconds(60), 64 * 1024).await, Some(UNREAD_LIMIT));
        assert_eq!(end(seconds(1), 512).await, Some(seconds(119)));
        assert_eq!(end(seconds(1), 1).await, Some(UNREAD_LIMIT));
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_which_nothing_waits_does_not_count() {
        let mut timeout = SlowClientTimeout::new(NonZeroU32::new(1024).unwrap());
        for _ in 0..100 {
            let end = timeout.wait();
            assert_eq!(end - Instant::now(), UNREAD_LIMIT);
            timeout.taken(1);
            advance(UNREAD_LIMIT).await;
        }
    }
}
