//! Time of day under a test's control.

use parking_lot::Mutex;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::Clock;

/// A clock that stands still until it is moved. Share it by `Arc`.
#[derive(Debug)]
pub struct ManualClock(Mutex<DateTime<Utc>>);

impl ManualClock {
    /// A clock that shows `moment`.
    pub fn at(moment: DateTime<Utc>) -> Self {
        Self(Mutex::new(moment))
    }

    /// Moves it forward.
    pub fn advance(&self, by: Duration) {
        *self.0.lock() += by;
    }
}

impl Default for ManualClock {
    /// Some moment of the year 2024, a whole second.
    fn default() -> Self {
        let moment = DateTime::from_timestamp(1_710_000_000, 0);
        Self::at(moment.unwrap_or_else(|| panic!("the moment is in range")))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock()
    }
}
