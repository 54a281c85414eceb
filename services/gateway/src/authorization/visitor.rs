//! The caller of one request.

use std::net::IpAddr;
use std::sync::Arc;

use cts_access::Principal;
use cts_core::callers::{Caller, PlanValues, Rights, Role, TaskPatterns};

use crate::problem::Problem;

/// The caller of one request; without a principal only the caller's address is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Visitor {
    principal: Option<Arc<Principal>>,
    rights: Rights,
}

impl Visitor {
    /// A caller with all rights.
    pub(crate) fn of(principal: Option<Arc<Principal>>) -> Self {
        Self {
            principal,
            rights: Rights::default(),
        }
    }

    /// A caller with the rights of its role.
    pub(super) fn in_role(principal: Arc<Principal>, values: PlanValues) -> Self {
        Self {
            rights: Rights::of(principal.role, values),
            principal: Some(principal),
        }
    }

    pub(crate) fn role(&self) -> Option<Role> {
        self.principal.as_ref()?.role
    }

    /// Whether the caller sees the values of plans, the texts of plans, and logs.
    pub(crate) const fn sees_values(&self) -> bool {
        self.rights.sees_values
    }

    /// Whether the caller sees the values of inputs.
    pub(crate) const fn sees_inputs(&self) -> bool {
        self.rights.sees_inputs
    }

    /// Refuses an answer that has values of plans if the caller may not see them.
    pub(crate) fn may_see_values(&self) -> Result<(), Problem> {
        if self.sees_values() {
            return Ok(());
        }
        Err(Problem::values_are_hidden())
    }

    /// Refuses an approval if the caller has not the right to approve.
    pub(crate) fn may_approve(&self) -> Result<(), Problem> {
        if self.rights.approves {
            return Ok(());
        }
        let reason = "the role does not suffice to approve an effect: approve is needed";
        Err(Problem::forbidden(reason))
    }

    /// The tasks that the caller may name; `None` if these are all.
    pub(crate) fn tasks(&self) -> Option<&TaskPatterns> {
        let tasks = &self.principal.as_ref()?.tasks;
        (!tasks.is_all()).then_some(tasks)
    }

    /// Whether the caller may see the task with this name.
    pub(crate) fn sees(&self, task: &str) -> bool {
        self.tasks().is_none_or(|tasks| tasks.matches(task))
    }

    /// Refuses a request that names a task which the caller may not name, regardless of whether the task exists.
    pub(crate) fn may_name(&self, task: &str) -> Result<(), Problem> {
        if self.sees(task) {
            return Ok(());
        }
        let reason = "the credential is not for the task that the request names";
        Err(Problem::forbidden(reason))
    }

    /// The name of the caller; empty without a principal.
    pub(crate) fn name(&self) -> &str {
        self.principal
            .as_ref()
            .map_or("", |principal| &principal.name)
    }

    /// The rights of the caller that depend on the content of its call.
    pub(crate) const fn rights(&self) -> Rights {
        self.rights
    }

    /// Names the credential of the caller; `None` without a credential.
    pub(crate) fn credential(&self) -> Option<String> {
        let principal = self.principal.as_ref()?;
        Some(principal.caller(None).to_string())
    }

    /// The caller, for the schedulers.
    pub(crate) fn caller(&self, address: IpAddr) -> Caller {
        match &self.principal {
            Some(principal) => principal.caller(Some(address)),
            None => Caller::anonymous(Some(address)),
        }
    }
}
