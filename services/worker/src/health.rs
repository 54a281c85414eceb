//! The health of a worker, by its own check.

use cts_core::WorkerProblem;
use tokio::sync::{Mutex, watch};

/// The health of a worker.
#[derive(Debug)]
pub(crate) struct Health {
    pub(crate) problem: watch::Sender<Option<WorkerProblem>>,
    /// Held during a check: attempts that fail at the same time share a check.
    pub(crate) checking: Mutex<()>,
}

impl Health {
    pub(crate) fn new() -> Self {
        Self {
            problem: watch::Sender::new(None),
            checking: Mutex::default(),
        }
    }

    /// Follows the problem of the worker.
    pub(crate) fn follow(&self) -> watch::Receiver<Option<WorkerProblem>> {
        self.problem.subscribe()
    }

    /// Whether the own check fails.
    pub(crate) fn has_problem(&self) -> bool {
        self.problem.borrow().is_some()
    }

    /// Whether the worker takes new runs.
    pub(crate) fn takes_runs(&self) -> bool {
        takes_runs(self.problem.borrow().as_ref())
    }

    /// Returns when the worker takes new runs.
    pub(crate) async fn able(&self) {
        // The sender lives as long as this.
        drop(self.follow().wait_for(|it| takes_runs(it.as_ref())).await);
    }

    /// Returns when the worker takes no new runs.
    pub(crate) async fn unable(&self) {
        drop(self.follow().wait_for(|it| !takes_runs(it.as_ref())).await);
    }
}

fn takes_runs(problem: Option<&WorkerProblem>) -> bool {
    problem.is_none_or(|problem| problem.takes_runs)
}
