//! Status of a run.

use crate::text_enum::text_enum;

text_enum! {
    /// Status of a run. Servers have different sets, and add new ones.
    RunStatus {
        Pending = "pending",
        Fetching = "fetching",
        FetchingCompleted = "fetching_completed",
        PrePlanRunning = "pre_plan_running",
        PrePlanAwaitingDecision = "pre_plan_awaiting_decision",
        PrePlanCompleted = "pre_plan_completed",
        Queuing = "queuing",
        PlanQueued = "plan_queued",
        Planning = "planning",
        Planned = "planned",
        CostEstimating = "cost_estimating",
        CostEstimated = "cost_estimated",
        PolicyChecking = "policy_checking",
        PolicyOverride = "policy_override",
        PolicySoftFailed = "policy_soft_failed",
        PolicyChecked = "policy_checked",
        TfPolicyOverride = "tf_policy_override",
        TfPolicyChecked = "tf_policy_checked",
        PostPlanRunning = "post_plan_running",
        PostPlanAwaitingDecision = "post_plan_awaiting_decision",
        PostPlanCompleted = "post_plan_completed",
        PlannedAndFinished = "planned_and_finished",
        PlannedAndSaved = "planned_and_saved",
        Confirmed = "confirmed",
        PreApplyRunning = "pre_apply_running",
        PreApplyCompleted = "pre_apply_completed",
        QueuingApply = "queuing_apply",
        ApplyQueued = "apply_queued",
        Applying = "applying",
        PostApplyRunning = "post_apply_running",
        PostApplyCompleted = "post_apply_completed",
        Applied = "applied",
        Discarded = "discarded",
        Errored = "errored",
        Canceled = "canceled",
        ForceCanceled = "force_canceled",
        Assessing = "assessing",
        Assessed = "assessed",
    }
}
