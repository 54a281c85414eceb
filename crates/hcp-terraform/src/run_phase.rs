//! Meaning of a run's status for a caller that follows it.

use crate::run_status::RunStatus;

/// Where a run is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPhase {
    /// Queued after another run, or stopped by a locked workspace.
    Waiting,
    /// Before the plan.
    Preparing,
    /// The plan is queued or made.
    Planning,
    /// A person has to decide.
    NeedsPerson(Approval),
    /// Between plan and apply, without a person.
    MovingOn,
    /// The apply is confirmed, queued or running.
    Applying,
    /// Ended.
    Ended(RunEnd),
    /// A health assessment, which is no run of a caller.
    Assessment,
    /// A status that is not known here: not an end.
    Unknown,
}

/// Decision that a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// The plan has to be confirmed.
    Confirmation,
    /// A failed policy has to be overridden.
    PolicyOverride,
    /// A failed run task has to be overridden.
    TaskDecision,
    /// A saved plan has to be applied.
    SavedPlan,
}

/// End of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// The apply succeeded.
    Applied,
    /// The plan succeeded and there is nothing to apply: no changes, or a run that only plans.
    Planned,
    /// Failed or cancelled, or stopped by a policy.
    Failed,
    /// Discarded before it was applied.
    Discarded,
}

impl RunStatus {
    /// Classifies the status. `is_confirmable` is the member of the run's actions.
    pub const fn phase(&self, is_confirmable: bool) -> RunPhase {
        match self {
            Self::Pending => RunPhase::Waiting,
            Self::Fetching | Self::FetchingCompleted => RunPhase::Preparing,
            Self::PrePlanRunning
            | Self::PrePlanCompleted
            | Self::Queuing
            | Self::PlanQueued
            | Self::Planning => RunPhase::Planning,
            Self::PrePlanAwaitingDecision | Self::PostPlanAwaitingDecision => {
                RunPhase::NeedsPerson(Approval::TaskDecision)
            }
            Self::Planned
            | Self::PostPlanRunning
            | Self::PostPlanCompleted
            | Self::CostEstimating
            | Self::CostEstimated
            | Self::PolicyChecking
            | Self::PolicyChecked
            | Self::TfPolicyChecked => {
                if is_confirmable {
                    RunPhase::NeedsPerson(Approval::Confirmation)
                } else {
                    RunPhase::MovingOn
                }
            }
            Self::PolicyOverride | Self::TfPolicyOverride => {
                RunPhase::NeedsPerson(Approval::PolicyOverride)
            }
            Self::PlannedAndSaved => RunPhase::NeedsPerson(Approval::SavedPlan),
            Self::Confirmed
            | Self::PreApplyRunning
            | Self::PreApplyCompleted
            | Self::QueuingApply
            | Self::ApplyQueued
            | Self::Applying
            | Self::PostApplyRunning
            | Self::PostApplyCompleted => RunPhase::Applying,
            Self::Applied => RunPhase::Ended(RunEnd::Applied),
            Self::PlannedAndFinished => RunPhase::Ended(RunEnd::Planned),
            Self::PolicySoftFailed | Self::Errored | Self::Canceled | Self::ForceCanceled => {
                RunPhase::Ended(RunEnd::Failed)
            }
            Self::Discarded => RunPhase::Ended(RunEnd::Discarded),
            Self::Assessing | Self::Assessed => RunPhase::Assessment,
            Self::Other(_) => RunPhase::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIRM: RunPhase = RunPhase::NeedsPerson(Approval::Confirmation);
    const POLICY: RunPhase = RunPhase::NeedsPerson(Approval::PolicyOverride);
    const DECISION: RunPhase = RunPhase::NeedsPerson(Approval::TaskDecision);
    const SAVED: RunPhase = RunPhase::NeedsPerson(Approval::SavedPlan);
    const FAILED: RunPhase = RunPhase::Ended(RunEnd::Failed);

    #[test]
    fn every_status_has_its_phase() {
        use RunPhase::{
            Applying, Assessment, Ended, MovingOn, Planning, Preparing, Unknown, Waiting,
        };
        // Status, phase, and phase of a run that can be confirmed.
        let table = [
            ("pending", Waiting, Waiting),
            ("fetching", Preparing, Preparing),
            ("fetching_completed", Preparing, Preparing),
            ("pre_plan_running", Planning, Planning),
            ("pre_plan_completed", Planning, Planning),
            ("queuing", Planning, Planning),
            ("plan_queued", Planning, Planning),
            ("planning", Planning, Planning),
            ("pre_plan_awaiting_decision", DECISION, DECISION),
            ("post_plan_awaiting_decision", DECISION, DECISION),
            ("planned", MovingOn, CONFIRM),
            ("post_plan_running", MovingOn, CONFIRM),
            ("post_plan_completed", MovingOn, CONFIRM),
            ("cost_estimating", MovingOn, CONFIRM),
            ("cost_estimated", MovingOn, CONFIRM),
            ("policy_checking", MovingOn, CONFIRM),
            ("policy_checked", MovingOn, CONFIRM),
            ("tf_policy_checked", MovingOn, CONFIRM),
            ("policy_override", POLICY, POLICY),
            ("tf_policy_override", POLICY, POLICY),
            ("planned_and_saved", SAVED, SAVED),
            ("confirmed", Applying, Applying),
            ("pre_apply_running", Applying, Applying),
            ("pre_apply_completed", Applying, Applying),
            ("queuing_apply", Applying, Applying),
            ("apply_queued", Applying, Applying),
            ("applying", Applying, Applying),
            ("post_apply_running", Applying, Applying),
            ("post_apply_completed", Applying, Applying),
            ("applied", Ended(RunEnd::Applied), Ended(RunEnd::Applied)),
            (
                "planned_and_finished",
                Ended(RunEnd::Planned),
                Ended(RunEnd::Planned),
            ),
            ("policy_soft_failed", FAILED, FAILED),
            ("errored", FAILED, FAILED),
            ("canceled", FAILED, FAILED),
            ("force_canceled", FAILED, FAILED),
            (
                "discarded",
                Ended(RunEnd::Discarded),
                Ended(RunEnd::Discarded),
            ),
            ("assessing", Assessment, Assessment),
            ("assessed", Assessment, Assessment),
            ("levitating", Unknown, Unknown),
        ];
        for (text, phase, confirmable) in table {
            let status = RunStatus::from(text.to_owned());
            assert_eq!(status.as_str(), text);
            assert_eq!(matches!(status, RunStatus::Other(_)), text == "levitating");
            assert_eq!(status.phase(false), phase, "{text}");
            assert_eq!(status.phase(true), confirmable, "{text}");
        }
    }

    #[test]
    fn an_unknown_status_keeps_its_text_as_one_short_line() {
        let status = RunStatus::from(format!("a\nb{}", "c".repeat(1000)));
        assert!(status.as_str().starts_with("a\\nbccc"), "{status}");
        assert!(status.as_str().len() < 80);
    }
}
