//! Lines of the log about the begin and the end of an attempt (docs/operations.md#runs-in-the-log).
//!
//! A run that fails several times on this worker has two or three lines at INFO: the begin and the end of its first
//! attempt here, and its end. Lines of attempts in between are at DEBUG.

use std::time::Duration;

use cts_core::runs::AttemptOutcome;
use cts_core::whole_milliseconds;

use crate::ended::Ended;
use crate::leased_run::LeasedRun;

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
