//! Kinds and states of runs.

use serde::{Deserialize, Serialize};

use crate::spelled;

spelled! {
    /// Purpose of a run.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum RunKind {
        /// Its input is applied.
        #[default]
        Apply = "apply",
        /// Terraform shows what an apply would change; nothing is applied.
        Plan = "plan",
        /// The working directory is created and validated; nothing is planned or applied.
        Check = "check",
        /// Terraform destroys the task's resources before the task is removed.
        Destroy = "destroy",
        /// Terraform shows what would be destroyed; nothing is destroyed.
        DestroyPlan = "destroy_plan",
    }
}

impl RunKind {
    /// Kinds whose input the leader freezes. The other kinds have the input of an earlier run, so the store itself
    /// queues them.
    pub const ENQUEUED: [Self; 3] = [Self::Apply, Self::Plan, Self::Check];

    /// Whether its input may be applied afterwards.
    pub const fn applies(self) -> bool {
        matches!(self, Self::Apply)
    }

    /// Returns whether a run of this kind may change the task's infrastructure.
    pub const fn changes_resources(self) -> bool {
        matches!(self, Self::Apply | Self::Destroy)
    }

    /// Returns whether a run of this kind ends with a plan.
    pub const fn only_plans(self) -> bool {
        matches!(self, Self::Plan | Self::DestroyPlan)
    }
}

/// Kinds of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RunKinds {
    /// [`RunKind::Apply`].
    pub applies: bool,
    /// [`RunKind::Plan`].
    pub plans: bool,
    /// [`RunKind::Check`].
    pub checks: bool,
    /// [`RunKind::Destroy`].
    pub destroys: bool,
    /// [`RunKind::DestroyPlan`].
    pub destroy_plans: bool,
}

impl RunKinds {
    /// Every kind.
    pub const ALL: Self = Self {
        applies: true,
        plans: true,
        checks: true,
        destroys: true,
        destroy_plans: true,
    };

    /// Applies only.
    pub const APPLIES: Self = Self {
        applies: true,
        plans: false,
        checks: false,
        destroys: false,
        destroy_plans: false,
    };

    /// Plans only.
    pub const PLANS: Self = Self {
        applies: false,
        plans: true,
        checks: false,
        destroys: false,
        destroy_plans: false,
    };

    /// Whether the set contains this kind.
    pub const fn has(self, kind: RunKind) -> bool {
        match kind {
            RunKind::Apply => self.applies,
            RunKind::Plan => self.plans,
            RunKind::Check => self.checks,
            RunKind::Destroy => self.destroys,
            RunKind::DestroyPlan => self.destroy_plans,
        }
    }
}

spelled! {
    /// State of a run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum RunStatus {
        /// Waits for a worker, or for the time of its next attempt.
        Queued = "queued",
        /// Leased by a worker.
        Running = "running",
        /// Applied, planned, checked or destroyed.
        Succeeded = "succeeded",
        /// Every attempt failed.
        Failed = "failed",
        /// Ended without a result, because a newer input replaced it, no caller waits for it any more, or its task was
        /// disabled or deleted.
        Cancelled = "cancelled",
    }
}

impl RunStatus {
    /// Whether the run has ended: its status never changes again.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}
