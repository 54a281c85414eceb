//! Settings of a task that only files can make: the API has no member for them.
//!
//! A task that the API creates has their defaults, and a declaration of the API that takes the place of a task's
//! keeps them.

use serde::{Deserialize, Serialize};

use crate::shrink_limit::ShrinkLimit;
use crate::timeouts::TaskTimeouts;

/// Settings of files that are no part of what runs depend on: a change of them is no new input.
///
/// Members are stored in this order, next to those of the [`TaskSpec`](crate::TaskSpec). A new one is left out of
/// the stored form at its default, so that declarations without it stay the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSettings {
    /// Whether an input equal to the last applied one is skipped; an extension of cts, default true.
    ///
    /// It is stored before members of the [`TaskSpec`](crate::TaskSpec), which writes it itself.
    #[serde(skip_serializing)]
    pub skip_unchanged: bool,
    /// Whether a failed run is tried again later without a change; an extension of cts, default true. Stored like
    /// the one before.
    #[serde(skip_serializing)]
    pub retry_failed: bool,
    /// How long the steps of its runs may take, if the task sets it; an extension of cts.
    #[serde(default, skip_serializing_if = "TaskTimeouts::is_empty")]
    pub timeouts: TaskTimeouts,
    /// Instances that the task may lose without an operator's consent; an extension of cts, by default all.
    #[serde(default, skip_serializing_if = "ShrinkLimit::is_empty")]
    pub guard: ShrinkLimit,
    /// Concurrency group: at most one task of a group applies at a time; an extension of cts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency_group: Option<String>,
}

impl Default for FileSettings {
    fn default() -> Self {
        Self {
            skip_unchanged: true,
            retry_failed: true,
            timeouts: TaskTimeouts::default(),
            guard: ShrinkLimit::default(),
            concurrency_group: None,
        }
    }
}

/// Settings of files that runs depend on: they are stored as members of the
/// [`TaskDefinition`](crate::TaskDefinition), and a change of them is a new input.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileDefinition {
    /// Names of the webhooks that are notified of its applies, in their order; an extension of cts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub webhooks: Vec<String>,
    /// How its runs are applied; an extension of cts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub plan: PlanMode,
}

/// How the runs of a task are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanMode {
    /// By one command, which plans for itself.
    #[default]
    Direct,
    /// By a plan that is made first, and applied as it is or not at all.
    Saved,
}

impl PlanMode {
    /// The spelling in configurations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Saved => "saved",
        }
    }
}

/// Default values are not written, so that inputs of tasks without them stay the same.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
