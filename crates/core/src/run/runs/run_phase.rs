//! Phases of the work on a run.

use std::time::Duration;

use serde::Serialize;

/// Activity of a worker on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunPhase {
    /// Preparing the task directory.
    Render,
    /// `terraform init`.
    Init,
    /// `terraform validate`.
    Validate,
    /// `terraform plan`.
    Plan,
    /// `terraform apply`, or a destruction.
    Apply,
}

impl RunPhase {
    /// All phases, in their order.
    pub const ALL: [Self; 5] = [
        Self::Render,
        Self::Init,
        Self::Validate,
        Self::Plan,
        Self::Apply,
    ];

    /// The spelling of the API and of the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Render => "render",
            Self::Init => "init",
            Self::Validate => "validate",
            Self::Plan => "plan",
            Self::Apply => "apply",
        }
    }

    /// Parses a phase; `None` for a phase of a later version.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == text)
    }
}

/// A phase that a worker reports with the renewal of its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentPhase {
    /// The phase.
    pub phase: RunPhase,
    /// Its duration so far.
    pub lasted: Duration,
}
