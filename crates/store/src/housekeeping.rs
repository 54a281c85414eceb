//! Housekeeping, as a trait of every store: when it was done last, and the space of logs.
//!
//! The last line of a log that is removed for space is replaced before the others go, and the size (`log_sizes`) is
//! noted after that, so a removal that is cut off is repeated.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::LeaderEpoch;

use crate::error::{LeaderError, StoreError};

/// Space of a line of a log in addition to its text.
pub const LINE_SPACE: u32 = 100;

/// The only line of a log whose lines were removed for space, as [`LogStream::Stderr`](crate::LogStream::Stderr).
pub const REMOVED_LOG: &str =
    "(the lines of this log were removed: all logs together took more than `scheduler.logs_kept`)";

/// When housekeeping was done last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastHousekeeping {
    /// Time since the last housekeeping; `None` if the store's time was set back since. In a new store, the
    /// time since the first look.
    pub since: Option<Duration>,
    /// Whether a warning was logged that logs are near their limit, so that it is not repeated.
    pub logs_warned: bool,
}

/// Logs that were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemovedLogs {
    /// How many runs lost their log.
    pub runs: u64,
    /// Space that they took.
    pub bytes: u64,
}

/// Regular housekeeping by the leader, and the space of logs.
#[async_trait]
pub trait Housekeeping {
    /// The time of the last housekeeping, in store time, whichever replica did it.
    async fn last_housekeeping(&self, leader: LeaderEpoch)
    -> Result<LastHousekeeping, LeaderError>;

    /// Notes that housekeeping is done. If a leader ends before that, the next one begins again.
    async fn end_housekeeping(
        &self,
        leader: LeaderEpoch,
        logs_warned: bool,
    ) -> Result<(), LeaderError>;

    /// Space of the logs of ended and running runs: the bytes of their lines, and [`LINE_SPACE`] for each.
    /// Every log is read once, after its run has ended. Done in small transactions.
    async fn log_space(&self) -> Result<u64, StoreError>;

    /// Removes logs of at least this many bytes in total, or all that may go: first logs of successful runs,
    /// then those of other ended runs, each oldest first. One line remains of each, [`REMOVED_LOG`]; the run
    /// and its event stay. Logs of queued and running runs stay. Only logs count that
    /// [`Housekeeping::log_space`] has measured. Done in small transactions; a log that is removed in part is
    /// removed the next time.
    async fn remove_logs(&self, bytes: u64) -> Result<RemovedLogs, StoreError>;
}
