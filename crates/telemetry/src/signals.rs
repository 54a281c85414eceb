//! The signals that a service gives.

use opentelemetry::metrics::Meter;

use crate::task_names::TaskNames;
use crate::traces::Traces;

/// Records the signals of one service (docs/telemetry.md). Cheap to clone.
#[derive(Debug, Clone)]
pub struct Signals {
    /// Makes instruments.
    pub meter: Meter,
    /// Exports spans.
    pub traces: Traces,
    /// Limits the names of tasks that become labels.
    pub task_names: TaskNames,
}
