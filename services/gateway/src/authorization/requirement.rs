//! Whether a caller has the right to a request (docs/access.md#roles).

use super::visitor::Visitor;
use crate::endpoint::{Endpoint, Tasks};
use crate::problem::Problem;

/// Refuses a caller whose credential does not suffice for the endpoint. The answer is the same for a task that does not
/// exist.
pub(super) fn check(endpoint: Endpoint<'_>, visitor: &Visitor) -> Result<(), Problem> {
    let needed = endpoint.role;
    let role = visitor.role();
    let suffices = role.is_some_and(|role| role.includes(needed));
    if endpoint.tasks != Tasks::Open && !suffices {
        let reason = match role {
            Some(role) => format!("the role {role} does not suffice: {needed} is needed"),
            None => format!("the credential gives no role: {needed} is needed"),
        };
        return Err(Problem::forbidden(&reason));
    }
    match endpoint.tasks {
        Tasks::One(name) => visitor.may_name(name),
        Tasks::All if visitor.tasks().is_some() => {
            let reason = "the request is about all tasks, and the credential is for some";
            Err(Problem::forbidden(reason))
        }
        Tasks::Open | Tasks::All | Tasks::ByHandler => Ok(()),
    }
}
