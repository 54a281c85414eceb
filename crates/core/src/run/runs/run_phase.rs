//! Phases of the work on a run.

use std::time::Duration;

use serde::Serialize;

use crate::spelled;

spelled! {
    /// Activity of a worker on a run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum RunPhase {
        /// Preparing the task directory.
        Render = "render",
        /// `terraform init`.
        Init = "init",
        /// `terraform validate`.
        Validate = "validate",
        /// `terraform plan`.
        Plan = "plan",
        /// `terraform apply`, or a destruction.
        Apply = "apply",
    }
}

impl RunPhase {
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
