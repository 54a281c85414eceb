//! Registered workers.

use serde::{Deserialize, Serialize};

use crate::engine::capability::Capabilities;
use crate::settings::BlockDigests;
use crate::words::identity::WorkerId;

/// A worker as registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerRecord {
    /// This life of the process.
    pub id: WorkerId,
    /// Name of its machine.
    pub host: String,
    /// Version of its program.
    pub version: String,
    /// Maximum number of simultaneous runs.
    pub slots: u32,
    /// Capabilities of the worker.
    pub capabilities: Capabilities,
    /// Whether the worker drains: it finishes its runs and takes no new ones.
    pub draining: bool,
    /// Digests of its backend and provider blocks; `None` if they are not reported.
    pub settings: Option<BlockDigests>,
    /// Why its own check fails; `None` for a healthy worker.
    pub problem: Option<WorkerProblem>,
}

/// The problem of a worker whose own check fails (docs/runs.md#workers-that-cannot-work). Stored as JSON, so members
/// are only added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerProblem {
    /// The error of the check, in one line.
    pub reason: String,
    /// Whether the worker takes new runs nevertheless, because no other worker can exist.
    #[serde(default)]
    pub takes_runs: bool,
}

impl WorkerRecord {
    /// Why the worker takes no new runs although it does not drain.
    pub fn unable(&self) -> Option<&str> {
        let problem = self.problem.as_ref().filter(|problem| !problem.takes_runs);
        problem.map(|problem| &*problem.reason)
    }
}
