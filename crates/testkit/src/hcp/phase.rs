//! Statuses of runs.

/// A status of a run. A test can hold every run in one that is no end
/// ([`HcpServer::hold`](super::HcpServer::hold)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Waits for other runs or for the lock of the workspace.
    Pending,
    /// The configuration version is fetched.
    Fetching,
    /// Waits for a machine or an agent.
    PlanQueued,
    /// Terraform plans. A held run has not started it.
    Planning,
    /// The plan exists. A held run cannot be confirmed.
    Planned,
    /// Costs are estimated.
    CostEstimating,
    /// Costs are estimated; without auto apply and policies, the run waits for confirmation here.
    CostEstimated,
    /// Policies are checked.
    PolicyChecking,
    /// A policy failed softly: a person overrides it or discards the run.
    PolicyOverride,
    /// Policies passed or are overridden; without auto apply, the run waits for confirmation here.
    PolicyChecked,
    /// A person or auto apply has confirmed.
    Confirmed,
    /// Waits for a machine or an agent.
    ApplyQueued,
    /// Terraform applies. A held run has not started it.
    Applying,
    /// End: the plan is applied.
    Applied,
    /// End: the run only plans, or there are no changes.
    PlannedAndFinished,
    /// End: a policy failed softly in a run that only plans.
    PolicySoftFailed,
    /// End: Terraform, a policy or the server failed.
    Errored,
    /// End: discarded before the apply.
    Discarded,
    /// End: cancelled.
    Canceled,
    /// End: cancelled without waiting for Terraform.
    ForceCanceled,
}

impl Phase {
    /// Its name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Fetching => "fetching",
            Self::PlanQueued => "plan_queued",
            Self::Planning => "planning",
            Self::Planned => "planned",
            Self::CostEstimating => "cost_estimating",
            Self::CostEstimated => "cost_estimated",
            Self::PolicyChecking => "policy_checking",
            Self::PolicyOverride => "policy_override",
            Self::PolicyChecked => "policy_checked",
            Self::Confirmed => "confirmed",
            Self::ApplyQueued => "apply_queued",
            Self::Applying => "applying",
            Self::Applied => "applied",
            Self::PlannedAndFinished => "planned_and_finished",
            Self::PolicySoftFailed => "policy_soft_failed",
            Self::Errored => "errored",
            Self::Discarded => "discarded",
            Self::Canceled => "canceled",
            Self::ForceCanceled => "force_canceled",
        }
    }

    /// Whether the run has ended.
    pub fn is_end(self) -> bool {
        self >= Self::Applied
    }
}
