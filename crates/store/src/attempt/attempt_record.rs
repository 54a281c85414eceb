//! Records of the attempts of a run: the worker, start, end and outcome of each.

use std::time::Duration;

use chrono::serde::{ts_microseconds, ts_microseconds_option};
use chrono::{DateTime, Utc};
use cts_core::runs::{AttemptEnding, EarlierAttempt, EarlyFailure, RunPhase, shortened};
use cts_core::{LeaseEpoch, WorkerId};
use cts_proto::run::v1::PhaseTimes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Maximum number of recorded attempts of one run: the newest attempts.
pub const ATTEMPTS_RECORDED: usize = 20;

/// Maximum bytes of the error in the record of an attempt. The run has the complete errors.
const ERROR_BYTES: usize = 512;

/// One attempt of a run, which is one lease. Stored as JSON, so members are only added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// Epoch of the lease.
    pub epoch: LeaseEpoch,
    /// Number of the attempt, from 1. An attempt that does not count has the same number as the next attempt.
    pub number: u32,
    /// The worker.
    pub worker: WorkerId,
    /// When the run was due; `None` if it is not known.
    #[serde(default, with = "ts_microseconds_option")]
    pub due_at: Option<DateTime<Utc>>,
    /// Time of the grant of the lease; `None` if it is not known.
    #[serde(default, with = "ts_microseconds_option")]
    pub leased_at: Option<DateTime<Utc>>,
    /// Time of the last renewal or of the grant of the lease: the last sign of the worker before the end.
    #[serde(with = "ts_microseconds")]
    pub renewed_at: DateTime<Utc>,
    /// End of the attempt, or the time at which its lease was taken back; `None` while the attempt is running.
    #[serde(default, with = "ts_microseconds_option")]
    pub ended_at: Option<DateTime<Utc>>,
    /// How it ended.
    pub ending: AttemptEnding,
    /// Its error, shortened; empty without an error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// Version of the worker; empty if the worker did not report the end of the attempt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub worker_version: String,
    /// The side at fault if the attempt failed before Terraform started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_failure: Option<EarlyFailure>,
    /// Durations of its phases, as reported by its worker; empty for a worker that was silent.
    #[serde(default)]
    pub phases: PhaseTimes,
    /// Work of the worker at its last renewal, if its end was not reported.
    #[serde(
        default,
        deserialize_with = "known_phase",
        skip_serializing_if = "Option::is_none"
    )]
    pub phase: Option<RunPhase>,
    /// Time from the end until the next attempt of the run was due; `None` if no other attempt followed at once.
    #[serde(
        default,
        serialize_with = "milliseconds",
        deserialize_with = "from_milliseconds",
        rename = "retry_after_ms",
        skip_serializing_if = "Option::is_none"
    )]
    pub retry_after: Option<Duration>,
    /// Position of the last line of the log at the end of the attempt; `None` if an earlier version recorded the end, and
    /// while the attempt is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_line: Option<u64>,
}

impl AttemptRecord {
    /// Sets the error, cut to the stored length.
    #[must_use]
    pub fn with_error(self, error: &str) -> Self {
        let error = shortened(error, ERROR_BYTES);
        Self { error, ..self }
    }

    /// The part that decides whether a later attempt is given back.
    pub(super) fn earlier(&self) -> EarlierAttempt<'_> {
        EarlierAttempt {
            worker: &self.worker,
            ending: self.ending,
            early_failure: self.early_failure,
        }
    }
}

/// Deserializes a phase; `None` for a phase of a later version.
fn known_phase<'de, D: Deserializer<'de>>(from: D) -> Result<Option<RunPhase>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    Ok(text.and_then(|text| RunPhase::parse(&text)))
}

#[expect(clippy::ref_option, reason = "as serde calls it")]
fn milliseconds<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
        .serialize(serializer)
}

fn from_milliseconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
}

/// Adds the record of an attempt to the earlier records, oldest first; only the newest stay.
pub(super) fn keep_attempt(records: &mut Vec<AttemptRecord>, record: AttemptRecord) {
    records.push(record);
    newest_attempts(records);
}

/// Removes the oldest records beyond [`ATTEMPTS_RECORDED`].
pub(super) fn newest_attempts(records: &mut Vec<AttemptRecord>) {
    let surplus = records.len().saturating_sub(ATTEMPTS_RECORDED);
    records.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use cts_proto::time::duration_to_wire;

    use super::*;

    fn record(epoch: u64) -> AttemptRecord {
        AttemptRecord {
            epoch: LeaseEpoch::new(epoch),
            number: 2,
            worker: WorkerId::new("worker-1"),
            due_at: DateTime::from_timestamp_micros(1_770_110_130_000_000),
            leased_at: DateTime::from_timestamp_micros(1_770_110_130_000_001),
            renewed_at: DateTime::from_timestamp_micros(1_770_110_140_000_002).unwrap_or_default(),
            ended_at: DateTime::from_timestamp_micros(1_770_110_150_000_003),
            ending: AttemptEnding::LeaseLost,
            error: String::new(),
            worker_version: "0.1.0".to_owned(),
            early_failure: Some(EarlyFailure::Machine),
            phases: PhaseTimes {
                init: Some(duration_to_wire(Duration::from_millis(1_200))),
                ..PhaseTimes::default()
            },
            phase: Some(RunPhase::Apply),
            retry_after: Some(Duration::from_secs(5)),
            last_line: Some(17),
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
