//! The caller of one request.

use std::net::IpAddr;
use std::sync::Arc;

use cts_access::Principal;
use cts_core::callers::{Caller, Role, TaskPatterns};

use crate::problem::Problem;

/// The caller of one request; without a principal only the caller's address is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Visitor(Option<Arc<Principal>>);

impl Visitor {
    pub(crate) const fn of(principal: Option<Arc<Principal>>) -> Self {
        Self(principal)
    }

    pub(super) fn role(&self) -> Option<Role> {
        self.0.as_ref()?.role
    }

    /// The tasks that the caller may name; `None` if these are all.
    pub(crate) fn tasks(&self) -> Option<&TaskPatterns> {
        let tasks = &self.0.as_ref()?.tasks;
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

    /// The caller, for the schedulers.
    pub(crate) fn caller(&self, address: IpAddr) -> Caller {
        match &self.0 {
            Some(principal) => principal.caller(Some(address)),
            None => Caller::anonymous(Some(address)),
        }
    }
}
