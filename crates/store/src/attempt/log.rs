//! Parts of logs: ranges of lines, and the lines of each attempt.

use cts_core::RunId;
use cts_proto::log::v1::{LogAttempt, LogExcerpt};

use super::attempt_record::{ATTEMPTS_RECORDED, AttemptRecord};

/// Maximum bytes of the text of an excerpt.
pub const EXCERPT_BYTES: usize = 4096;

/// Lines of one log, see [`Store::log_excerpts`](crate::Store::log_excerpts).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRange {
    /// The run.
    pub run: RunId,
    /// Only lines after this position.
    pub after: u64,
    /// Only lines before this position.
    pub before: u64,
    /// Whether the newest lines come first.
    pub newest_first: bool,
    /// Maximum number of examined lines.
    pub limit: u32,
    /// Only lines that contain this text; empty for all lines.
    pub text: String,
}

/// Examined lines of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogExcerpts {
    /// The lines that contain the text, in the order of the range.
    pub lines: Vec<LogExcerpt>,
    /// Position of the last examined line; `None` if the range has no line.
    pub reached: Option<u64>,
    /// Bytes of all examined lines.
    pub bytes: u64,
}

/// Returns the lines of each attempt in a log whose last line is `last`, oldest first.
///
/// An attempt is left out if its first or its last line is not known: the end of this attempt or of the attempt before
/// was recorded by an earlier version, or the record of the attempt before is removed.
pub fn log_attempts(records: &[AttemptRecord], last: u64) -> Vec<LogAttempt> {
    let mut attempts = Vec::new();
    let mut before = (records.len() < ATTEMPTS_RECORDED).then_some(0);
    for (index, record) in records.iter().enumerate() {
        let is_newest = index + 1 == records.len();
        let end = record.last_line.or(is_newest.then_some(last));
        if let Some((before, end)) = before.zip(end) {
            attempts.push(LogAttempt {
                number: record.number,
                first_position: before + 1,
                lines: end.saturating_sub(before),
            });
        }
        before = end;
    }
    attempts
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cts_core::runs::AttemptEnding;
    use cts_core::{LeaseEpoch, WorkerId};
    use cts_proto::run::v1::PhaseTimes;

    use super::*;

    fn record(number: u32, last_line: Option<u64>) -> AttemptRecord {
        AttemptRecord {
            epoch: LeaseEpoch::new(number.into()),
            number,
            worker: WorkerId::new("w"),
            due_at: None,
            leased_at: None,
            renewed_at: DateTime::UNIX_EPOCH,
            ended_at: None,
            ending: AttemptEnding::Failed,
            error: String::new(),
            worker_version: String::new(),
            early_failure: None,
            phases: PhaseTimes::default(),
            phase: None,
            retry_after: None,
            last_line,
        }
    }

    fn lines(records: &[AttemptRecord], last: u64) -> Vec<(u32, u64, u64)> {
        let attempts = log_attempts(records, last).into_iter();
        let lines = attempts.map(|it| (it.number, it.first_position, it.lines));
        lines.collect()
    }

    #[test]
    fn attempts_follow_each_other_up_to_the_last_line() {
        assert_eq!(lines(&[], 0), []);
        assert_eq!(lines(&[record(1, None)], 7), [(1, 1, 7)]);
        let records = [record(1, Some(5)), record(2, Some(5)), record(3, None)];
        assert_eq!(lines(&records, 9), [(1, 1, 5), (2, 6, 0), (3, 6, 4)]);
    }

    #[test]
    fn attempts_with_an_unknown_begin_or_end_are_left_out() {
        let records = [
            record(1, None),
            record(2, Some(5)),
            record(3, Some(8)),
            record(4, Some(8)),
        ];
        assert_eq!(lines(&records, 8), [(3, 6, 3), (4, 9, 0)]);
        let many: Vec<_> = (1..)
            .map(|number| record(number, Some(number.into())))
            .take(ATTEMPTS_RECORDED)
            .collect();
        let known = lines(&many, 20);
        assert_eq!((known.len(), known[0]), (ATTEMPTS_RECORDED - 1, (2, 2, 1)));
    }
}
