//! The role and the tasks that each route needs (docs/access.md#roles).

use cts_core::callers::Role;
use cts_proto::calls;

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
    /// The handler leaves out or refuses tasks that the caller may not see; some requests are about no task.
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

/// The requirement of a route. A new route must have its row here; its role is that of the call that it makes for its
/// caller.
pub(super) fn requirement(route: &Route) -> Requirement<'_> {
    use Tasks::{All, ByHandler, One};
    let (call, tasks) = match route {
        Route::Health | Route::Preflight => return Requirement::Nothing,
        // The gateway answers without a call.
        Route::Document(_) | Route::Refused(_) => return Requirement::Role(Role::Read, ByHandler),
        Route::OverallStatus | Route::TaskStatuses => (calls::LIST_TASK_STATES, ByHandler),
        Route::TaskStatus(name) => (calls::GET_TASK_STATE, One(name)),
        Route::ClusterStatus => (calls::GET_CLUSTER, ByHandler),
        Route::Configuration => (calls::GET_CONFIGURATION, All),
        Route::Queue => (calls::GET_QUEUE, All),
        Route::Overview => (calls::GET_OVERVIEW, All),
        Route::CurrentStates => (calls::LIST_CURRENT_STATES, ByHandler),
        Route::DrainWorker(_) => (calls::DRAIN_WORKER, All),
        Route::Tasks => (calls::LIST_TASKS, ByHandler),
        Route::Task(name) => (calls::GET_TASK, One(name)),
        Route::CreateTask => (calls::CREATE_TASK, ByHandler),
        Route::DeleteTask(name) => (calls::DELETE_TASK, One(name)),
        Route::UpdateTask(name) => (calls::UPDATE_TASK, One(name)),
        Route::ReplaceTask(name) => (calls::REPLACE_TASK, One(name)),
        Route::ExplainTask(name) => (calls::EXPLAIN_TASK, One(name)),
        Route::ReleaseTask(name) => (calls::RELEASE_TASK, One(name)),
        Route::TerraformState(name) => (calls::GET_TERRAFORM_STATE, One(name)),
        Route::DecideState(name) => (calls::DECIDE_TERRAFORM_STATE, One(name)),
        Route::PlanDestruction(name) => (calls::PLAN_TASK_DESTRUCTION, One(name)),
        Route::Runs => (calls::LIST_RUNS, ByHandler),
        Route::Run(_) => (calls::GET_RUN, ByHandler),
        Route::CancelRun(_) => (calls::CANCEL_RUN, ByHandler),
        Route::RunLog(_) => (calls::READ_LOG, ByHandler),
        Route::Events => (calls::FOLLOW_RUNS, ByHandler),
        Route::Audit => (calls::LIST_AUDIT_RECORDS, All),
    };
    Requirement::Role(cts_rpc::admission::role(call), tasks)
}
