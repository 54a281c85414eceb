//! The journals of workers, and whether the database has forgotten a run in a journal.
//!
//! A failover of the database may lose the last commits. The journal of a worker survives the failover. The last run
//! of each task suffices: commits are lost from the end, so a database that has that run has everything before it.

use chrono::{DateTime, TimeDelta, Utc};

use crate::words::digest::Digest;
use crate::words::identity::{LeaseEpoch, RunId, TaskName, WorkerId};

/// Commits may be out of order: a transaction that began up to this much earlier than another may be committed later.
const OUT_OF_ORDER: TimeDelta = TimeDelta::seconds(30);

/// Jump of the epochs of waiting runs when a timeline begins: larger than any increase on the previous timeline after
/// the last known commit.
pub const EPOCH_STEP: u64 = 1_000_000;

/// The last attempt to apply or destroy a task that a worker began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// The task.
    pub task: TaskName,
    /// The run.
    pub run: RunId,
    /// Epoch of the lease.
    pub epoch: LeaseEpoch,
    /// Digest of the input.
    pub input: Digest,
    /// Start of the attempt by the clock of the database, if the worker knows it.
    pub began_at: Option<DateTime<Utc>>,
    /// Outcome of the attempt, if a scheduler has confirmed it.
    pub outcome: Option<String>,
}

/// A part of the journal of a worker, as reported on a new timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalPart {
    /// The timeline for which it is reported.
    pub timeline: String,
    /// The lives of the worker that wrote all their runs into the journal, including this life.
    pub lives: Vec<WorkerId>,
    /// Entries, at most one of each task.
    pub entries: Vec<JournalEntry>,
    /// Whether this is the last part of the journal.
    pub last: bool,
}

/// State of a run in the database when the timeline began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownRun {
    /// The run did not exist.
    Unknown,
    /// The run was queued or leased.
    Open {
        /// Epoch of its last grant.
        epoch: u64,
    },
    /// The run had ended, or was queued later.
    Known,
}

impl JournalEntry {
    /// Whether the database has forgotten the grant of this attempt.
    ///
    /// `last_sign` is the last sign of life of a process before the timeline that the database knows. A run that the
    /// database does not have may have been pruned long ago. The run counts as forgotten only if it began after
    /// everything that the database remembers, or if its beginning is not known.
    pub fn is_forgotten(&self, known: KnownRun, last_sign: DateTime<Utc>) -> bool {
        match known {
            KnownRun::Unknown => {
                let since = last_sign.checked_sub_signed(OUT_OF_ORDER);
                self.began_at
                    .zip(since)
                    .is_none_or(|(began, since)| began >= since)
            }
            // An epoch beyond the jump was granted on this timeline.
            KnownRun::Open { epoch } => {
                let granted = self.epoch.get();
                granted > epoch && granted < epoch.saturating_add(EPOCH_STEP)
            }
            KnownRun::Known => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const LAST_SIGN: i64 = 1_800_000_000;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn entry(began: i64, epoch: u64) -> JournalEntry {
        JournalEntry {
            task: "t".parse().unwrap(),
            run: RunId::from_uuid(Uuid::nil()),
            epoch: LeaseEpoch::new(epoch),
            input: Digest::of(b"input"),
            began_at: Some(at(began)),
            outcome: None,
        }
    }

    #[test]
    fn a_run_that_is_not_there_is_forgotten_unless_it_is_older_than_what_is_remembered() {
        let is_forgotten =
            |entry: JournalEntry| entry.is_forgotten(KnownRun::Unknown, at(LAST_SIGN));
        for (began, expected) in [
            (LAST_SIGN - 90 * 24 * 3600, false),
            (LAST_SIGN - 31, false),
            (LAST_SIGN - 30, true),
            (LAST_SIGN + 1, true),
            (LAST_SIGN + 7200, true),
        ] {
            assert_eq!(is_forgotten(entry(began, 1)), expected, "{began}");
        }
        let of_a_time_that_is_not_known = JournalEntry {
            began_at: None,
            ..entry(0, 1)
        };
        assert!(is_forgotten(of_a_time_that_is_not_known));
    }

    #[test]
    fn a_grant_beyond_the_last_that_is_known_is_forgotten() {
        for (epoch, expected) in [
            (1, false),
            (2, false),
            (3, true),
            (4, true),
            (2 + EPOCH_STEP, false),
            (3 + EPOCH_STEP, false),
        ] {
            let entry = entry(LAST_SIGN, epoch);
            let known = KnownRun::Open { epoch: 2 };
            assert_eq!(
                entry.is_forgotten(known, at(LAST_SIGN)),
                expected,
                "{epoch}"
            );
        }
    }

    #[test]
    fn a_run_that_had_ended_is_known() {
        assert!(!entry(LAST_SIGN, 7).is_forgotten(KnownRun::Known, at(LAST_SIGN)));
    }
}
