//! Limits log lines about outsiders: any of them can connect, and again and again.

use parking_lot::Mutex;
use std::time::Duration;

use tokio::time::Instant;

/// Time in which at most one of many lines is logged for everyone, the others only in more detailed logs.
const PERIOD: Duration = Duration::from_secs(30);

/// Whether it is time for another line.
#[derive(Debug, Default)]
pub struct WarnThrottle(Mutex<Option<Instant>>);

impl WarnThrottle {
    /// True for the first call, and for the first one half a minute after one that was answered so.
    pub fn is_due(&self) -> bool {
        let mut last = self.0.lock();
        if last.is_some_and(|at| at.elapsed() < PERIOD) {
            return false;
        }
        *last = Some(Instant::now());
        true
    }
}
