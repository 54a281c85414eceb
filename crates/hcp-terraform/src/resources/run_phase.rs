//! Meaning of a run's status for a caller that follows it.

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

impl RunPhase {
    /// Classifies a status. `is_confirmable` is the member of the run's actions.
    pub(crate) fn of(status: &str, is_confirmable: bool) -> Self {
        match status {
            "pending" => Self::Waiting,
            "fetching" | "fetching_completed" => Self::Preparing,
            "pre_plan_running" | "pre_plan_completed" | "queuing" | "plan_queued" | "planning" => {
                Self::Planning
            }
            "pre_plan_awaiting_decision" | "post_plan_awaiting_decision" => {
                Self::NeedsPerson(Approval::TaskDecision)
            }
            "planned"
            | "post_plan_running"
            | "post_plan_completed"
            | "cost_estimating"
            | "cost_estimated"
            | "policy_checking"
            | "policy_checked"
            | "tf_policy_checked" => {
                if is_confirmable {
                    Self::NeedsPerson(Approval::Confirmation)
                } else {
                    Self::MovingOn
                }
            }
            "policy_override" | "tf_policy_override" => Self::NeedsPerson(Approval::PolicyOverride),
            "planned_and_saved" => Self::NeedsPerson(Approval::SavedPlan),
            "confirmed"
            | "pre_apply_running"
            | "pre_apply_completed"
            | "queuing_apply"
            | "apply_queued"
            | "applying"
            | "post_apply_running"
            | "post_apply_completed" => Self::Applying,
            "applied" => Self::Ended(RunEnd::Applied),
            "planned_and_finished" => Self::Ended(RunEnd::Planned),
            "policy_soft_failed" | "errored" | "canceled" | "force_canceled" => {
                Self::Ended(RunEnd::Failed)
            }
            "discarded" => Self::Ended(RunEnd::Discarded),
            "assessing" | "assessed" => Self::Assessment,
            _ => Self::Unknown,
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
            assert_eq!(RunPhase::of(text, false), phase, "{text}");
            assert_eq!(RunPhase::of(text, true), confirmable, "{text}");
        }
    }
}
