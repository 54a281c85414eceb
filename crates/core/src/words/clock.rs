//! Wall-clock time as an argument, and durations as they are shown.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// The wall clock. Passed in wherever a time is stored or shown, so that tests control it.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The present moment.
    fn now(&self) -> DateTime<Utc>;
}

/// The duration cut to whole milliseconds, for the log.
pub fn whole_milliseconds(duration: Duration) -> Duration {
    Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
