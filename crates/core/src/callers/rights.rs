//! Rights that methods check besides the role that they need (docs/access.md#values-of-plans).

use crate::callers::role::Role;
use crate::spelled;

/// Why a caller does not see a text, which may have values.
pub const VALUES_HIDDEN: &str =
    "values of plans and logs need the role operate or the right to approve (security.plan_values)";

/// Why a caller does not see the values of an input.
pub const INPUTS_HIDDEN: &str = "values of inputs need the role operate or the right to approve";

spelled! {
    /// The role from which on callers see the values of plans, the texts of plans, and logs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum PlanValues {
        /// Everybody who may read.
        #[default]
        Read = "read",
        /// Roles with the right to operate or to approve.
        Operate = "operate",
    }
}

/// Rights of the caller of a method that depend on the content of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// The caller may approve effects.
    pub approves: bool,
    /// The caller sees the values of plans, the texts of plans, and logs.
    pub sees_values: bool,
    /// The caller sees the values of inputs.
    pub sees_inputs: bool,
}

impl Rights {
    /// The rights of a caller with this role.
    pub fn of(role: Option<Role>, values: PlanValues) -> Self {
        let has = |needed| role.is_some_and(|role| role.includes(needed));
        let sees_inputs = has(Role::Operate) || has(Role::Approve);
        Self {
            approves: has(Role::Approve),
            sees_values: values == PlanValues::Read || sees_inputs,
            sees_inputs,
        }
    }
}

/// All rights: those of services, which check their own callers, and of callers without access control.
impl Default for Rights {
    fn default() -> Self {
        Self {
            approves: true,
            sees_values: true,
            sees_inputs: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_need_a_right_besides_reading_if_the_setting_says_so() {
        let seen = |values| Role::ALL.map(|role| Rights::of(Some(role), values).sees_values);
        assert_eq!(seen(PlanValues::Read), [true; 5]);
        assert_eq!(seen(PlanValues::Operate), [false, true, true, true, true]);
        assert!(!Rights::of(None, PlanValues::Operate).sees_values);
        let approve = Role::ALL.map(|role| Rights::of(Some(role), PlanValues::Read).approves);
        assert_eq!(approve, [false, true, false, true, true]);
        let inputs = Role::ALL.map(|role| Rights::of(Some(role), PlanValues::Read).sees_inputs);
        assert_eq!(inputs, [false, true, true, true, true]);
        assert!(!Rights::of(None, PlanValues::Read).sees_inputs);
    }
}
