//! Housekeeping, as a trait of every store: its last time, and the space of logs.
//!
//! A removal for space replaces the last line of a log before it removes the other lines, and notes the size
//! (`log_sizes`) afterwards, so an interrupted removal is repeated.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cts_core::{Incarnation, LeaderEpoch, RunId, TimesAt};

use crate::error::{LeaderError, StoreError};

/// Space that a log line takes in addition to its text.
pub const LINE_SPACE: u32 = 100;

/// The only line of a log whose lines were removed for space, as [`LogStream::Stderr`](crate::LogStream::Stderr).
pub const REMOVED_LOG: &str =
    "(the lines of this log were removed: all logs together took more than `scheduler.logs_kept`)";

/// How long the times of changes are kept.
pub const TIMES_KEPT: Duration = Duration::from_hours(8 * 24);

/// The last housekeeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastHousekeeping {
    /// Time since the last housekeeping; `None` if the store's time was set back since. In a new store, the time
    /// since the first call.
    pub since: Option<Duration>,
    /// Warnings that were logged, so that they are not repeated.
    pub warned: SpaceWarnings,
}

/// Whether a warning was logged about a space that is near its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpaceWarnings {
    /// About the logs of runs.
    pub logs: bool,
    /// About the plans of runs.
    pub plans: bool,
}

/// Logs or plans that were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removed {
    /// Number of runs that lost their log or plan.
    pub runs: u64,
    /// Space of the removed logs or plans.
    pub bytes: u64,
}

/// Regular housekeeping by the leader, the space of logs, and the times of changes.
#[async_trait]
pub trait Housekeeping {
    /// The time of the last housekeeping by any replica, in store time.
    async fn last_housekeeping(&self, leader: LeaderEpoch)
    -> Result<LastHousekeeping, LeaderError>;

    /// Notes the end of housekeeping. If a leader ends earlier, the next leader starts over.
    async fn end_housekeeping(
        &self,
        leader: LeaderEpoch,
        warned: SpaceWarnings,
    ) -> Result<(), LeaderError>;

    /// Space of the logs of ended and running runs: the bytes of their lines, and [`LINE_SPACE`] for each line. Every
    /// log is read once, after its run has ended. Done in small transactions.
    async fn log_space(&self) -> Result<u64, StoreError>;

    /// Removes logs of at least this many bytes in total, or all that may be removed: first logs of successful runs,
    /// then logs of other ended runs, each oldest first.
    ///
    /// Each log keeps one line, [`REMOVED_LOG`]; the run and its event stay. Logs of queued and running runs stay.
    /// Only logs count that [`Housekeeping::log_space`] has measured. Done in small transactions; the next call
    /// completes an interrupted removal.
    async fn remove_logs(&self, bytes: u64) -> Result<Removed, StoreError>;

    /// Counts how long the changes took that these runs have applied, for the minutes in which the runs have ended.
    async fn count_applied(&self, scheduler: Incarnation, runs: &[RunId])
    -> Result<(), StoreError>;

    /// The times of changes of all schedulers by minutes and hours that began at this moment or later, the oldest first.
    ///
    /// [`Store::prune`](crate::Store::prune) sums up the minutes of hours that ended more than a day ago, and forgets
    /// hours after [`TIMES_KEPT`].
    async fn times(&self, from: DateTime<Utc>) -> Result<Vec<TimesAt>, StoreError>;
}
