//! Runs: an addition to what the original answers.

use std::collections::BTreeMap;

use chrono::{DateTime, FixedOffset};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// Its task.
    pub task_name: String,
    /// Kind of the run: `apply`, `plan` or `check`.
    pub kind: String,
    /// `queued`, `running`, `succeeded`, `failed` or `cancelled`.
    pub status: String,
    /// Whether it is a requested one.
    #[serde(default)]
    pub no_retry: bool,
    /// Attempts so far.
    #[serde(default)]
    pub attempts: u32,
    /// The error; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// The condition that it waits for; empty if it does not wait.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub waiting_for: String,
    /// When it was queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_at: Option<DateTime<FixedOffset>>,
    /// When its first attempt began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<DateTime<FixedOffset>>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<DateTime<FixedOffset>>,
    /// Results of its last attempt, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<RunDetails>,
    /// All other members of the answer.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Run {
    /// Whether nothing more becomes of it.
    pub fn has_ended(&self) -> bool {
        matches!(self.status.as_str(), "succeeded" | "failed" | "cancelled")
    }
}

/// Results of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunDetails {
    /// Numbers of resources; absent if Terraform came to nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceCounts>,
    /// How long its steps took, in milliseconds.
    #[serde(default)]
    pub phases_ms: BTreeMap<String, u64>,
    /// Resources that were changed, or would be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ResourceChange>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_changes: u64,
    /// Errors and warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_diagnostics: u64,
    /// Outputs of the module that the task asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<RunOutput>,
    /// All other members of the answer.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// An output of the module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOutput {
    /// Its name.
    pub name: String,
    /// All other members of the answer: `value`, or `sensitive` or `too_long`.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Numbers of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceCounts {
    /// Created.
    #[serde(default)]
    pub added: u64,
    /// Updated in place.
    #[serde(default)]
    pub changed: u64,
    /// Destroyed.
    #[serde(default)]
    pub destroyed: u64,
    /// Taken into the state.
    #[serde(default)]
    pub imported: u64,
}

/// A resource that was changed, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceChange {
    /// Its address.
    pub address: String,
    /// Action of Terraform on the resource.
    pub action: String,
}

/// An error or a warning of Terraform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// `error` or `warning`.
    pub severity: String,
    /// Text of the error or warning.
    pub summary: String,
    /// The file that it is about, if it is about one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The line of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// All other members of the answer.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A page of runs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RunPage {
    /// The runs, newest first.
    pub runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RunAnswer {
    pub(crate) run: Run,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}
