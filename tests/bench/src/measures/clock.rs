//! Moments that processes can compare.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// A moment on the system's monotonic clock, which is one for all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Duration);

impl Moment {
    pub(crate) fn now() -> Self {
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC);
        Self(now.expect("every supported system has this clock").into())
    }

    pub(crate) fn from_nanoseconds(nanoseconds: u64) -> Self {
        Self(Duration::from_nanos(nanoseconds))
    }

    /// Zero if `earlier` is not earlier.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}
