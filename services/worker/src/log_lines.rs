//! Lines of the log about the begin and the end of an attempt (docs/operations.md#runs-in-the-log).
//!
//! A run that fails several times on this worker has two or three lines at INFO: the begin and the end of its first
//! attempt here, and its end. Lines of attempts in between are at DEBUG.

use std::collections::VecDeque;
use std::time::Duration;

use cts_core::runs::AttemptOutcome;
use cts_core::{RunId, whole_milliseconds};
use parking_lot::Mutex;

use crate::ended::Ended;
use crate::leased_run::LeasedRun;

/// Most failed runs that are kept. A run beyond them has lines of each attempt.
const MOST: usize = 1_000;

/// Runs whose last attempt failed on this worker, and which are tried again.
#[derive(Debug, Default)]
pub(crate) struct FailedRuns(Mutex<VecDeque<RunId>>);

impl FailedRuns {
    fn add(&self, run: RunId) {
        let mut runs = self.0.lock();
        if runs.len() >= MOST {
            runs.pop_front();
        }
        runs.push_back(run);
    }

    /// Returns whether the run was among them.
    fn remove(&self, run: RunId) -> bool {
        let mut runs = self.0.lock();
        let place = runs.iter().position(|failed| *failed == run);
        place.and_then(|place| runs.remove(place)).is_some()
    }
}

/// Logs with these fields at INFO, or at DEBUG if the first argument is true.
macro_rules! info_or_debug {
    ($debug:expr, $($line:tt)+) => {
        if $debug {
            tracing::debug!($($line)+);
        } else {
            tracing::info!($($line)+);
        }
    };
}

/// The lines of an attempt that has begun.
#[derive(Debug)]
pub(crate) struct AttemptLines {
    /// The attempt before failed on this worker, too.
    is_repeated: bool,
}

impl AttemptLines {
    /// Logs that the attempt begins.
    pub(crate) fn begin(run: &LeasedRun) -> Self {
        let lease = &run.lease;
        let is_repeated = run.shared.failed_runs.remove(lease.run);
        info_or_debug!(
            is_repeated,
            task_name = lease.task_name,
            run.id = %lease.run,
            lease.epoch = lease.epoch.get(),
            kind = lease.kind.as_ref().ok().map(|kind| kind.as_str()),
            attempt = lease.attempt,
            "run started"
        );
        Self { is_repeated }
    }

    /// The attempt has ended. Logs that, or leaves it to [`EndLine::reported`] if the level depends on the answer to the
    /// report. The scheduler logs the error of an attempt that has failed.
    pub(crate) fn end(self, run: &LeasedRun, ended: &Ended) -> EndLine {
        let has_failed = matches!(
            ended.outcome,
            AttemptOutcome::Failed(_) | AttemptOutcome::Declined(_)
        );
        let line = EndLine {
            is_open: self.is_repeated && has_failed,
            has_failed,
            result: ended.outcome.as_str(),
            changes: ended
                .details
                .as_ref()
                .and_then(|details| details.resources)
                .map(|changes| changes.to_string()),
            took: whole_milliseconds(run.acquired.elapsed()),
        };
        if !line.is_open {
            line.log(run, false);
        }
        line
    }
}

/// The line about the end of an attempt.
#[derive(Debug)]
pub(crate) struct EndLine {
    /// The line is not logged yet.
    is_open: bool,
    has_failed: bool,
    result: &'static str,
    changes: Option<String>,
    took: Duration,
}

impl EndLine {
    /// The end has been reported, or cannot be. `is_queued` if another attempt at the run follows.
    pub(crate) fn reported(self, run: &LeasedRun, is_queued: bool) {
        if self.is_open {
            self.log(run, is_queued);
        }
        if self.has_failed && is_queued {
            run.shared.failed_runs.add(run.lease.run);
        }
    }

    fn log(&self, run: &LeasedRun, at_debug: bool) {
        info_or_debug!(
            at_debug,
            task_name = run.lease.task_name,
            run.id = %run.lease.run,
            attempt = run.lease.attempt,
            result = self.result,
            changes = self.changes,
            took = ?self.took,
            "run ended"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: usize) -> RunId {
        format!("00000000-0000-4000-8000-{number:012}")
            .parse()
            .unwrap()
    }

    #[test]
    fn a_failed_run_is_known_until_its_next_attempt_begins() {
        let runs = FailedRuns::default();
        runs.add(run(1));
        runs.add(run(2));
        assert!(runs.remove(run(1)));
        assert!(!runs.remove(run(1)));
        assert!(runs.remove(run(2)));
    }

    #[test]
    fn failed_runs_that_go_on_elsewhere_are_forgotten_at_last() {
        let runs = FailedRuns::default();
        (0..=MOST).for_each(|number| runs.add(run(number)));
        assert!(!runs.remove(run(0)));
        assert!(runs.remove(run(1)) && runs.remove(run(MOST)));
    }
}
