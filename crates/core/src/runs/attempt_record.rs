//! Records of the attempts of a run: on which worker, from when to when, and how each ended.

use std::time::Duration;

use chrono::serde::{ts_microseconds, ts_microseconds_option};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::details::{PhaseTimes, millis};
use super::early_failure::EarlyFailure;
use super::errors::shortened;
use super::run_phase::{self, RunPhase};
use crate::identity::{LeaseEpoch, WorkerId};

/// Attempts of one run that are recorded, at most: the newest ones.
pub const ATTEMPTS_RECORDED: usize = 20;

/// Longest error in the record of an attempt, in bytes. The run has the errors at length.
const ERROR_BYTES: usize = 512;

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnding {
    /// The attempt goes on.
    Running,
    /// The run did its work.
    Succeeded,
    /// Terraform, or a step before it, failed.
    Failed,
    /// The run was cancelled on request.
    Cancelled,
    /// The attempt waited for something outside of cts until a newer input, or a change of the task, replaced it.
    Replaced,
    /// The worker stopped or drained, or its machine was at fault, and gave the run back. Such an attempt does not count.
    Released,
    /// The worker fell silent, and its lease was taken back.
    LeaseLost,
    /// The only process of cts ended, and the next one took the lease back. Such an attempt does not count.
    CutOff,
    /// An end that only a later version knows.
    #[serde(other)]
    Unknown,
}

/// One attempt of a run, which is one lease. Stored as JSON, so members are only added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// Epoch of the lease.
    pub epoch: LeaseEpoch,
    /// Number of the attempt, from 1. An attempt that does not count has the number of the next one.
    pub number: u32,
    /// The worker.
    pub worker: WorkerId,
    /// When the lease was granted; `None` if a scheduler of an earlier version granted it.
    #[serde(default, with = "ts_microseconds_option")]
    pub leased_at: Option<DateTime<Utc>>,
    /// When the lease was renewed last, or granted: the last sign of the worker before the end.
    #[serde(with = "ts_microseconds")]
    pub renewed_at: DateTime<Utc>,
    /// When the attempt ended, or its lease was taken back; `None` while it goes on.
    #[serde(default, with = "ts_microseconds_option")]
    pub ended_at: Option<DateTime<Utc>>,
    /// How it ended.
    pub ending: AttemptEnding,
    /// Its error, shortened; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// The side that was at fault if it failed before Terraform had started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_failure: Option<EarlyFailure>,
    /// How long its phases took, as its worker reported; a worker that fell silent reported none.
    #[serde(default)]
    pub phases: PhaseTimes,
    /// Work of the worker at its last renewal, if its end was not reported.
    #[serde(
        default,
        deserialize_with = "run_phase::known",
        skip_serializing_if = "Option::is_none"
    )]
    pub phase: Option<RunPhase>,
    /// Time from the end until the next attempt of the run was due; `None` if no other attempt followed at once.
    #[serde(
        default,
        with = "millis",
        rename = "retry_after_ms",
        skip_serializing_if = "Option::is_none"
    )]
    pub retry_after: Option<Duration>,
}

impl AttemptRecord {
    /// Sets the error, as much of it as is kept.
    #[must_use]
    pub fn with_error(self, error: &str) -> Self {
        let error = shortened(error, ERROR_BYTES);
        Self { error, ..self }
    }
}

/// Adds the record of an attempt to those of earlier ones, the oldest first; the newest ones stay.
pub fn keep_attempt(records: &mut Vec<AttemptRecord>, record: AttemptRecord) {
    records.push(record);
    newest_attempts(records);
}

/// Removes the oldest records if there are too many.
pub fn newest_attempts(records: &mut Vec<AttemptRecord>) {
    let surplus = records.len().saturating_sub(ATTEMPTS_RECORDED);
    records.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(epoch: u64) -> AttemptRecord {
        AttemptRecord {
            epoch: LeaseEpoch::new(epoch),
            number: 2,
            worker: WorkerId::new("worker-1"),
            leased_at: DateTime::from_timestamp_micros(1_770_110_130_000_001),
            renewed_at: DateTime::from_timestamp_micros(1_770_110_140_000_002).unwrap_or_default(),
            ended_at: DateTime::from_timestamp_micros(1_770_110_150_000_003),
            ending: AttemptEnding::LeaseLost,
            error: String::new(),
            early_failure: Some(EarlyFailure::Machine),
            phases: PhaseTimes {
                init: Some(Duration::from_millis(1_200)),
                ..PhaseTimes::default()
            },
            phase: Some(RunPhase::Apply),
            retry_after: Some(Duration::from_secs(5)),
        }
    }

    #[test]
    fn the_newest_records_stay_and_their_errors_are_short() {
        let mut records = Vec::new();
        for epoch in 1..=100 {
            keep_attempt(&mut records, record(epoch).with_error(&"é".repeat(100_000)));
        }
        let epochs: Vec<u64> = records.iter().map(|record| record.epoch.get()).collect();
        assert_eq!(epochs, (81..=100).collect::<Vec<_>>());
        assert!(
            records
                .iter()
                .all(|record| record.error.len() <= ERROR_BYTES)
        );
        let stored = serde_json::to_string(&records).unwrap();
        assert!(stored.len() < 32 * 1024, "{}", stored.len());
    }

    #[test]
    fn records_come_back_and_those_of_later_versions_are_read() {
        let stored = serde_json::to_value(record(3)).unwrap();
        assert_eq!(stored["ended_at"], 1_770_110_150_000_003_i64);
        let read: AttemptRecord = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(read, record(3));
        let mut later = stored;
        later["ending"] = "swallowed".into();
        later["phase"] = "dream".into();
        later["early_failure"] = "moon".into();
        later["colour"] = "red".into();
        let read: AttemptRecord = serde_json::from_value(later).unwrap();
        assert_eq!((read.ending, read.phase), (AttemptEnding::Unknown, None));
    }
}
