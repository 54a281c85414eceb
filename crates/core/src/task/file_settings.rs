//! Settings of a task that only files can set: the API has no member for them.
//!
//! An API task has their defaults. An API declaration that replaces a task's declaration keeps them.

use serde::{Deserialize, Serialize};

use crate::spelled;
use crate::task::approval_ignore::IgnoredAttribute;
use crate::task::approval_rule::ApprovalRule;
use crate::task::shrink_limit::ShrinkLimit;
use crate::words::timeouts::TaskTimeouts;

/// Settings in files that do not affect the input of runs: changing them gives no new input.
///
/// Members are stored in this order, next to those of the [`TaskSpec`](crate::TaskSpec). A new member is not stored
/// at its default, so that declarations without it stay the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSettings {
    /// Whether an input equal to the last applied one is skipped; an extension of cts, default true.
    ///
    /// Stored before the members of the [`TaskSpec`](crate::TaskSpec), by the serialization of the `TaskSpec`.
    #[serde(skip_serializing)]
    pub skip_unchanged: bool,
    /// Whether a failed run is retried later without a change; an extension of cts, default true. Stored like
    /// `skip_unchanged`.
    #[serde(skip_serializing)]
    pub retry_failed: bool,
    /// Time limits of the steps of its runs, if the task sets them; an extension of cts.
    #[serde(default, skip_serializing_if = "TaskTimeouts::is_empty")]
    pub timeouts: TaskTimeouts,
    /// Instances that the task may lose without an operator's consent; an extension of cts, by default all.
    #[serde(default, skip_serializing_if = "ShrinkLimit::is_empty")]
    pub guard: ShrinkLimit,
    /// Concurrency group: at most one task of a group applies at a time; an extension of cts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency_group: Option<String>,
    /// Which effects need the consent of a person; an extension of cts. `None` for the rule of the files for tasks
    /// without their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalRule>,
    /// Attributes that are not part of the effects of its plans; an extension of cts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approval_ignore: Vec<IgnoredAttribute>,
}

impl Default for FileSettings {
    fn default() -> Self {
        Self {
            skip_unchanged: true,
            retry_failed: true,
            timeouts: TaskTimeouts::default(),
            guard: ShrinkLimit::default(),
            concurrency_group: None,
            approval: None,
            approval_ignore: Vec::new(),
        }
    }
}

/// Settings in files that affect the input of runs: they are stored as members of the
/// [`TaskDefinition`](crate::TaskDefinition), and changing them gives a new input.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileDefinition {
    /// Names of the webhooks that are notified of its applies, in their order; an extension of cts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub webhooks: Vec<String>,
    /// How its runs are applied; an extension of cts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub plan: PlanMode,
}

spelled! {
    /// Method by which the runs of a task are applied.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum PlanMode {
        /// One command that makes its own plan.
        #[default]
        Direct = "direct",
        /// A plan is made first, and applied unchanged or not at all.
        Saved = "saved",
    }
}

/// Default values are not stored, so that inputs of tasks without them stay the same.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
