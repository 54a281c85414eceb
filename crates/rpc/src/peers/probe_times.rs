//! Times of health checks.

use std::time::Duration;

/// Intervals and time limits of health checks and look-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeTimes {
    /// Pause between checks of a healthy peer. A lost connection is looked into at once.
    pub every: Duration,
    /// Time for an answer.
    pub limit: Duration,
    /// Pause after the first failed check, which doubles with each further failure. Up to half of the pause is random.
    pub retry_min: Duration,
    /// The longest pause between failing checks.
    pub retry_max: Duration,
    /// Pause between look-ups of DNS names; shorter while no peer is healthy.
    pub resolve_every: Duration,
}

impl Default for ProbeTimes {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(2),
            limit: Duration::from_secs(2),
            retry_min: Duration::from_millis(200),
            retry_max: Duration::from_secs(2),
            resolve_every: Duration::from_secs(10),
        }
    }
}
