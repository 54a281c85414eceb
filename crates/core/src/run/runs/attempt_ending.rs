//! Ends of attempts.

use serde::{Deserialize, Serialize};

/// End of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnding {
    /// The attempt has not ended.
    Running,
    /// The run did its work.
    Succeeded,
    /// Terraform, or a step before it, failed.
    Failed,
    /// The run was cancelled on request.
    Cancelled,
    /// The attempt waited for a condition outside of cts until a newer input, or a change of the task, replaced it.
    Replaced,
    /// The worker stopped or drained, or its machine was at fault, and gave the run back. The attempt does not count.
    Released,
    /// The worker was silent, and its lease was taken back.
    LeaseLost,
    /// The only process of cts ended, and the next one took the lease back. Such an attempt does not count.
    CutOff,
    /// An ending of a later version.
    #[serde(other)]
    Unknown,
}
