//! Facts about the endpoint of each route: its group, its path, and the role and tasks that a caller needs
//! (docs/access.md#roles).

use cts_core::callers::Role;
use cts_proto::calls;
use cts_rpc::admission::role;

use crate::problem::Family;
use crate::request_id::RequestId;
use crate::route::{CLUSTER_STATUS, MissingEndpoint, Route};

/// An endpoint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Endpoint<'a> {
    group: Group,
    /// Its path with parameters in the place of names.
    pub(crate) template: &'static str,
    /// The tasks that a request is about.
    pub(crate) tasks: Tasks<'a>,
    /// The role that a caller needs.
    pub(crate) role: Role,
}

/// Endpoints with the same errors, served by the same replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    /// Task and status endpoints with the errors of the legacy family.
    Legacy,
    /// Task endpoints with the errors of the new family.
    New,
    /// Endpoints with the errors of the new family, which every replica serves.
    EveryReplica,
    /// Without a request id in errors, like the legacy family; every replica serves them.
    NoId,
}

/// The tasks that a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tasks<'a> {
    /// The endpoint is open: a caller needs no role.
    Open,
    /// The task with this name.
    One(&'a str),
    /// The handler leaves out or refuses tasks that the caller may not see; some requests are about no task.
    ByHandler,
    /// All tasks, so that a credential limited to some tasks is refused.
    All,
}

/// The endpoint of a route. A new route must have its row here; its role is that of the call that it makes for its
/// caller.
pub(crate) fn endpoint(route: &Route) -> Endpoint<'_> {
    use Group::{EveryReplica, Legacy, New, NoId};
    use Tasks::{All, ByHandler, One, Open};
    let (group, template, tasks, call) = match route {
        Route::Health => (NoId, "/v1/health", Open, calls::Role::Read),
        Route::Preflight => (NoId, "preflight", Open, calls::Role::Read),
        // The gateway answers without a call.
        Route::Refused(_) => (NoId, "none", ByHandler, calls::Role::Read),
        Route::Document(_) => (EveryReplica, "/v1/openapi", ByHandler, calls::Role::Read),
        Route::OverallStatus => (Legacy, "/v1/status", ByHandler, calls::LIST_TASK_STATES),
        Route::TaskStatuses => (
            Legacy,
            "/v1/status/tasks",
            ByHandler,
            calls::LIST_TASK_STATES,
        ),
        Route::TaskStatus(name) => (
            Legacy,
            "/v1/status/tasks/{name}",
            One(name),
            calls::GET_TASK_STATE,
        ),
        Route::UpdateTask(name) => (Legacy, "/v1/tasks/{name}", One(name), calls::UPDATE_TASK),
        Route::Tasks => (New, "/v1/tasks", ByHandler, calls::LIST_TASKS),
        Route::CreateTask => (New, "/v1/tasks", ByHandler, calls::CREATE_TASK),
        Route::Task(name) => (New, "/v1/tasks/{name}", One(name), calls::GET_TASK),
        Route::DeleteTask(name) => (New, "/v1/tasks/{name}", One(name), calls::DELETE_TASK),
        Route::ReplaceTask(name) => (New, "/v1/tasks/{name}", One(name), calls::REPLACE_TASK),
        Route::ExplainTask(name) => (
            New,
            "/v1/tasks/{name}/explain",
            One(name),
            calls::EXPLAIN_TASK,
        ),
        Route::ReleaseTask(name) => (
            New,
            "/v1/tasks/{name}/release",
            One(name),
            calls::RELEASE_TASK,
        ),
        Route::TerraformState(name) => (New, STATE, One(name), calls::GET_TERRAFORM_STATE),
        Route::DecideState(name) => (New, STATE, One(name), calls::DECIDE_TERRAFORM_STATE),
        Route::PlanDestruction(name) => {
            (New, DESTROY_PLAN, One(name), calls::PLAN_TASK_DESTRUCTION)
        }
        Route::ClusterStatus => (EveryReplica, CLUSTER_STATUS, ByHandler, calls::GET_CLUSTER),
        Route::Configuration => (
            EveryReplica,
            "/v1/cluster/configuration",
            All,
            calls::GET_CONFIGURATION,
        ),
        Route::Queue => (EveryReplica, "/v1/queue", All, calls::GET_QUEUE),
        Route::Overview => (EveryReplica, "/v1/overview", ByHandler, calls::GET_OVERVIEW),
        Route::CurrentStates => (
            EveryReplica,
            "/v1/overview/tasks",
            ByHandler,
            calls::LIST_CURRENT_STATES,
        ),
        Route::Times => (EveryReplica, "/v1/times", All, calls::GET_TIMES),
        Route::Brake => (EveryReplica, BRAKE, All, calls::GET_BRAKE),
        Route::ReleaseBrake => (EveryReplica, BRAKE, All, calls::RELEASE_BRAKE),
        Route::DrainWorker(_) => (
            EveryReplica,
            "/v1/workers/{id}/drain",
            All,
            calls::DRAIN_WORKER,
        ),
        Route::Runs => (EveryReplica, "/v1/runs", ByHandler, calls::LIST_RUNS),
        Route::Causes => (EveryReplica, "/v1/causes", ByHandler, calls::LIST_CAUSES),
        Route::Run(_) => (EveryReplica, "/v1/runs/{id}", ByHandler, calls::GET_RUN),
        Route::CancelRun(_) => (
            EveryReplica,
            "/v1/runs/{id}/cancel",
            ByHandler,
            calls::CANCEL_RUN,
        ),
        Route::RunPlan(_) => (
            EveryReplica,
            "/v1/runs/{id}/plan",
            ByHandler,
            calls::GET_PLAN,
        ),
        Route::RunInput(_) => (
            EveryReplica,
            "/v1/runs/{id}/input",
            ByHandler,
            calls::GET_INPUT,
        ),
        Route::Approvals => (EveryReplica, APPROVALS, ByHandler, calls::LIST_APPROVALS),
        Route::Approval(_) => (EveryReplica, APPROVAL, ByHandler, calls::GET_APPROVAL),
        Route::Approve(_) => (
            EveryReplica,
            "/v1/approvals/{id}/approve",
            ByHandler,
            calls::DECIDE_APPROVAL,
        ),
        Route::Reject(_) => (
            EveryReplica,
            "/v1/approvals/{id}/reject",
            ByHandler,
            calls::DECIDE_APPROVAL,
        ),
        Route::ApproveSet => (
            EveryReplica,
            "/v1/approvals/approve",
            ByHandler,
            calls::APPROVE_SET,
        ),
        Route::ReopenApprovals => (
            EveryReplica,
            "/v1/approvals/reopen",
            ByHandler,
            calls::REOPEN_APPROVAL,
        ),
        Route::RunLog(_) => (
            EveryReplica,
            "/v1/runs/{id}/log",
            ByHandler,
            calls::READ_LOG,
        ),
        Route::Events => (EveryReplica, "/v1/events", ByHandler, calls::FOLLOW_RUNS),
        Route::Follow => (EveryReplica, "/v1/follow", ByHandler, calls::FOLLOW),
        Route::Audit => (EveryReplica, "/v1/audit", All, calls::LIST_AUDIT_RECORDS),
    };
    Endpoint {
        group,
        template,
        tasks,
        role: role(call),
    }
}

const BRAKE: &str = "/v1/brake";
const APPROVALS: &str = "/v1/approvals";
const APPROVAL: &str = "/v1/approvals/{id}";
const STATE: &str = "/v1/tasks/{name}/state";
const DESTROY_PLAN: &str = "/v1/tasks/{name}/destroy-plan";

impl Endpoint<'_> {
    /// The family of its errors. Health has no request id (docs/rest.md#health).
    pub(crate) fn family(&self, id: RequestId) -> Family {
        match self.group {
            Group::New | Group::EveryReplica => Family::New(id),
            Group::Legacy | Group::NoId => Family::Legacy,
        }
    }
}

/// Whether `route`, to which `path` led, is a task or status endpoint. A follower of the reference does not serve these
/// endpoints (docs/rest.md#strict-followers). The refusals of these endpoints belong to them.
pub(crate) fn is_for_the_leader(route: &Route, path: &str) -> bool {
    let is_refused_there = matches!(
        route,
        Route::Refused(
            MissingEndpoint::Method { .. }
                | MissingEndpoint::UnsupportedPath(_)
                | MissingEndpoint::NoTaskName
        )
    );
    let group = endpoint(route).group;
    matches!(group, Group::Legacy | Group::New) || is_refused_there && path != CLUSTER_STATUS
}
