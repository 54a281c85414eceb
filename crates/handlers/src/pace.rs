//! How long handlers wait.

use std::time::Duration;

use cts_core::Backoff;
use tokio::time::sleep;

/// Longest pause before a retry.
const LONGEST_PAUSE: Duration = Duration::from_mins(15);

/// How long handlers wait. Tests wait shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Shortest pause before the first retry; each further pause is twice as long.
    pub first_retry: Duration,
    /// Pause between two polls of the job of a commit.
    pub poll: Duration,
    /// Longest time for one handler as a whole.
    pub longest: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            first_retry: Duration::from_secs(1),
            poll: Duration::from_secs(2),
            longest: Duration::from_mins(20),
        }
    }
}

impl Pace {
    /// Tries until it works or fails for good, or all `retries` have failed, too. `on_retry` gets each error
    /// before another try.
    pub(crate) async fn retry<T, E, F>(
        self,
        retries: u32,
        is_passing: impl Fn(&E) -> bool,
        on_retry: impl Fn(&E),
        try_once: impl Fn() -> F,
    ) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>>,
    {
        let backoff = Backoff::new(self.first_retry, LONGEST_PAUSE).with_jitter(0.5);
        let mut pauses = backoff.pauses(fastrand::f64);
        for _ in 0..retries {
            match try_once().await {
                Err(error) if is_passing(&error) => on_retry(&error),
                ended => return ended,
            }
            sleep(pauses.next_pause()).await;
        }
        try_once().await
    }
}
