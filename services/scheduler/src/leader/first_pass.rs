//! The first run of each task after a leader has taken the tasks over; the log of the original distinguishes this run
//! from later runs.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::pending;

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{TaskName, TaskSpec};
use parking_lot::Mutex;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::mode::Mode;
use crate::notifier::RunChange;

/// The tasks whose first run has not ended yet.
#[derive(Debug)]
pub(crate) struct FirstPass {
    mode: Mode,
    left: Mutex<Left>,
}

#[derive(Debug, Default)]
struct Left {
    tasks: BTreeSet<TaskName>,
    failed: bool,
    /// Most tasks need no run, so the pass as a whole has no lines.
    is_takeover: bool,
}

impl FirstPass {
    /// No pass has begun. With [`Mode::OnRequest`] every run belongs to the pass of the process.
    pub(crate) fn new(mode: Mode) -> Self {
        Self {
            mode,
            left: Mutex::default(),
        }
    }

    /// Begins the pass of a daemon over the enabled tasks among `tasks`. With `is_takeover`, only tasks whose input is
    /// not applied run.
    pub(crate) fn begin(&self, tasks: &[TaskSpec], is_takeover: bool) {
        if self.mode == Mode::OnRequest {
            return;
        }
        if tasks.is_empty() {
            tracing::info!(target: "ctrl", "no tasks configured");
        } else {
            // Disabled tasks do not run.
            let tasks = tasks.iter().filter(|task| task.enabled).count();
            if is_takeover {
                tracing::debug!(target: "ctrl", tasks, "executing tasks that are not up to date");
            } else {
                tracing::info!(target: "ctrl", tasks, "executing all tasks once through");
            }
        }
        let enabled = tasks.iter().filter(|task| task.enabled);
        let mut left = self.left.lock();
        *left = Left {
            tasks: enabled.map(|task| task.name().clone()).collect(),
            failed: false,
            is_takeover,
        };
        left.tell_end();
    }

    /// Whether a run of this task is its first.
    pub(crate) fn has(&self, task: &TaskName) -> bool {
        self.mode == Mode::OnRequest || self.left.lock().tasks.contains(task)
    }

    /// Whether each enabled task has had its first run.
    pub(crate) fn is_over(&self) -> bool {
        self.left.lock().tasks.is_empty()
    }

    /// The first run of a task has ended, or the task needs none.
    pub(crate) fn ended(&self, task: &TaskName, failed: bool) {
        let mut left = self.left.lock();
        if left.tasks.remove(task) {
            left.failed |= failed;
            left.tell_end();
        }
    }

    /// Leaves out tasks that changes no longer run.
    pub(crate) fn retain(&self, runs: impl Fn(&TaskName) -> bool) {
        let mut left = self.left.lock();
        let before = left.tasks.len();
        left.tasks.retain(|task| runs(task));
        if left.tasks.len() < before {
            left.tell_end();
        }
    }

    /// Takes note of runs that end at other replicas, until it is dropped.
    pub(crate) async fn follow(&self, mut changes: Receiver<RunChange>) -> Infallible {
        loop {
            match changes.recv().await {
                Ok(change) if change.kind == RunKind::Apply => match change.status {
                    RunStatus::Succeeded => self.ended(&change.task, false),
                    RunStatus::Failed | RunStatus::Cancelled => self.ended(&change.task, true),
                    RunStatus::Queued | RunStatus::Running => {}
                },
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                // The sender lives as long as the scheduler.
                Err(RecvError::Closed) => return pending().await,
            }
        }
    }
}

impl Left {
    fn tell_end(&self) {
        if !self.tasks.is_empty() {
            return;
        }
        if self.is_takeover {
            tracing::debug!(target: "ctrl", failed = self.failed, "all tasks are up to date or have run");
        } else if self.failed {
            tracing::info!(target: "ctrl", "attempted to run all tasks once");
        } else {
            tracing::info!(target: "ctrl", "all tasks completed once");
        }
        tracing::info!(target: "ctrl", "start task monitoring");
    }
}
