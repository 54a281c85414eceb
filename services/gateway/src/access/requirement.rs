//! The role that each route needs (docs/access.md#roles).

use cts_core::access::Role;

use super::visitor::Visitor;
use crate::problem::Problem;
use crate::route::Route;

/// Requirement of a route for its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requirement<'a> {
    /// The route is open.
    Nothing,
    /// A role, where the caller may name the tasks.
    Role(Role, Tasks<'a>),
}

/// The tasks that a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tasks<'a> {
    /// The task with this name.
    One(&'a str),
    /// None; or the handler finds out, and leaves out or refuses what the caller may not see.
    ByHandler,
    /// All tasks, so that a credential limited to some tasks is refused.
    All,
}

impl Requirement<'_> {
    /// Refuses a caller whose credential does not meet it. The answer is the same for a task that does not exist.
    pub(super) fn check(self, visitor: &Visitor) -> Result<(), Problem> {
        let Self::Role(needed, tasks) = self else {
            return Ok(());
        };
        if visitor.role() < Some(needed) {
            let reason = match visitor.role() {
                Some(role) => format!("the role {role} does not suffice: {needed} is needed"),
                None => format!("the credential gives no role: {needed} is needed"),
            };
            return Err(Problem::forbidden(&reason));
        }
        match tasks {
            Tasks::One(name) => visitor.may_name(name),
            Tasks::All if visitor.tasks().is_some() => {
                let reason = "the request is about all tasks, and the credential is for some";
                Err(Problem::forbidden(reason))
            }
            Tasks::All | Tasks::ByHandler => Ok(()),
        }
    }
}

/// The requirement of a route. A new route must have its row here.
pub(super) fn requirement(route: &Route) -> Requirement<'_> {
    use Requirement::{Nothing, Role as Needs};
    match route {
        Route::Health | Route::Preflight => Nothing,
        Route::Task(name)
        | Route::TaskStatus(name)
        | Route::ExplainTask(name)
        | Route::TerraformState(name) => Needs(Role::Read, Tasks::One(name)),
        Route::OverallStatus
        | Route::TaskStatuses
        | Route::CurrentStates
        | Route::ClusterStatus
        | Route::Tasks
        | Route::Runs
        | Route::Run(_)
        | Route::RunLog(_)
        | Route::Events
        | Route::Document(_)
        | Route::Refused(_) => Needs(Role::Read, Tasks::ByHandler),
        Route::Configuration | Route::Queue | Route::Overview => Needs(Role::Read, Tasks::All),
        Route::DrainWorker(_) => Needs(Role::Operate, Tasks::All),
        Route::UpdateTask(name) | Route::ReleaseTask(name) => {
            Needs(Role::Operate, Tasks::One(name))
        }
        Route::CancelRun(_) => Needs(Role::Operate, Tasks::ByHandler),
        Route::ReplaceTask(name)
        | Route::DeleteTask(name)
        | Route::PlanDestruction(name)
        | Route::DecideState(name) => Needs(Role::Admin, Tasks::One(name)),
        Route::CreateTask => Needs(Role::Admin, Tasks::ByHandler),
        Route::Audit => Needs(Role::Admin, Tasks::All),
    }
}
