//! Time limits of the steps of Terraform.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Time after which each step of Terraform is stopped and has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepTimeouts {
    /// `init`; also applies to `validate`, separately.
    pub init: Duration,
    /// `plan`.
    pub plan: Duration,
    /// `apply`.
    pub apply: Duration,
}

impl Default for StepTimeouts {
    /// Half an hour for `init`, a day for `plan` and for `apply`.
    fn default() -> Self {
        Self {
            init: Duration::from_mins(30),
            plan: Duration::from_hours(24),
            apply: Duration::from_hours(24),
        }
    }
}

/// Timeouts that a task sets; the common timeouts apply to the other steps.
///
/// Not a part of the input of runs: a changed limit gives no new input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskTimeouts {
    /// For [`StepTimeouts::init`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<Duration>,
    /// For [`StepTimeouts::plan`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Duration>,
    /// For [`StepTimeouts::apply`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apply: Option<Duration>,
}

impl TaskTimeouts {
    /// Returns whether the task sets no timeout.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the timeouts of the task, with `common` for the steps without a timeout of the task.
    #[must_use]
    pub fn or(self, common: StepTimeouts) -> StepTimeouts {
        StepTimeouts {
            init: self.init.unwrap_or(common.init),
            plan: self.plan.unwrap_or(common.plan),
            apply: self.apply.unwrap_or(common.apply),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_of_a_task_override_the_general_timeouts() {
        let own = TaskTimeouts {
            apply: Some(Duration::from_mins(5)),
            ..TaskTimeouts::default()
        };
        let expected = StepTimeouts {
            apply: Duration::from_mins(5),
            ..StepTimeouts::default()
        };
        assert_eq!(own.or(StepTimeouts::default()), expected);
        assert!(TaskTimeouts::default().is_empty() && !own.is_empty());
    }
}
