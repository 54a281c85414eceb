//! The checks of disabled tasks: their conditions, their lines in the log, and how a pass waits for them
//! (docs/runs.md#disabled-tasks).

use std::time::Duration;

use cts_core::runs::SKIPPED_INSPECTION;
use cts_core::{CheckOutcome, TaskName};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::mode::Mode;

/// The checks of disabled tasks in this process.
#[derive(Debug)]
pub(crate) struct CheckPass {
    mode: Mode,
    part: watch::Sender<Part>,
    /// Disabled tasks that are not ready; `None` while their number is not known.
    unready: watch::Sender<Option<usize>>,
}

/// The part of a pass that goes on. A daemon stays in the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Part {
    /// Enabled tasks run.
    #[default]
    Enabled,
    /// Disabled tasks are checked, as a part of `-once`.
    Once,
    /// Disabled tasks are checked, as a part of `-inspect`.
    Inspect,
}

impl CheckPass {
    pub(crate) fn new(mode: Mode) -> Self {
        Self {
            mode,
            part: watch::Sender::default(),
            unready: watch::Sender::default(),
        }
    }

    /// Whether checks may begin, if it `is_time` for those of a daemon.
    pub(crate) fn may_begin(&self, is_time: bool) -> bool {
        match self.mode {
            Mode::Daemon => is_time,
            Mode::OnRequest => self.part() != Part::Enabled,
        }
    }

    fn part(&self) -> Part {
        *self.part.borrow()
    }

    /// Shows when the part changes.
    pub(crate) fn follow(&self) -> watch::Receiver<Part> {
        self.part.subscribe()
    }

    /// Ends the first part of a pass, and waits until each disabled task is ready. Returns false if the leader is not in
    /// this process: then the number of these tasks has not become known in this time.
    pub(crate) async fn run(&self, inspects: bool, time: Duration) -> bool {
        self.part
            .send_replace(if inspects { Part::Inspect } else { Part::Once });
        let mut unready = self.unready.subscribe();
        if timeout(time, unready.wait_for(Option::is_some))
            .await
            .is_err()
        {
            return false;
        }
        // The sender lives as long as this.
        unready.wait_for(|left| *left == Some(0)).await.is_ok()
    }

    /// Notes how many disabled tasks are not ready.
    pub(crate) fn note_unready(&self, left: usize) {
        self.unready.send_replace(Some(left));
    }

    /// Logs that a check begins.
    pub(crate) fn log_begin(&self, task: &TaskName) {
        if self.part() == Part::Inspect {
            tracing::info!(target: "ctrl", task_name = %task, "inspecting task");
        } else {
            tracing::info!(target: "ctrl", task_name = %task, "running task once");
        }
    }

    /// Logs how a check has ended. Its failure is logged where it is reported.
    pub(crate) fn log_end(&self, task: &TaskName, outcome: &CheckOutcome) {
        if *outcome != CheckOutcome::Passed {
            return;
        }
        if self.part() == Part::Inspect {
            tracing::info!(target: "ctrl", task_name = %task, plan = SKIPPED_INSPECTION, "inspection results");
            tracing::info!(target: "ctrl", task_name = %task, "inspected task");
        } else {
            tracing::info!(target: "ctrl", task_name = %task, "task completed");
        }
    }

    /// Logs an earlier check as if it were made now.
    pub(crate) fn log_remembered(&self, task: &TaskName, outcome: &CheckOutcome) {
        self.log_begin(task);
        self.log_end(task, outcome);
        if let CheckOutcome::Failed(error) = outcome {
            tracing::error!(target: "ctrl", task_name = %task, error, "error checking task");
        }
    }
}
