//! Variables by which processes of cts are recognised.

/// Set in every Terraform process to the absolute task directory, so that processes that outlive their cts
/// can be recognised.
pub const TASK_DIRECTORY_MARKER: &str = "CTS_TASK_DIR";

/// Set in every Terraform process of a worker that has a guard to the id of this worker's life, so that the
/// guard touches no processes of other workers.
pub const WORKER_MARKER: &str = "CTS_WORKER";
