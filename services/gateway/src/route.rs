//! Maps requests to endpoints (docs/rest.md#routes).
//!
//! A function of method and path instead of a router, since the reference compares paths as sent, serves some
//! of them twice and answers wrong methods in four ways. The legacy family of endpoints takes a name apart
//! after decoding it, the new family before.

use http::Method;

use crate::original::percent::{Plus, decode};

/// Target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// Whether the service is healthy.
    Health,
    /// Counts of tasks.
    OverallStatus,
    /// The status of all tasks.
    TaskStatuses,
    /// The status of the task of this name.
    TaskStatus(String),
    /// The members of a cluster.
    ClusterStatus,
    /// Task blocks in force, and members with different task blocks: a cts-only endpoint.
    Configuration,
    /// How much work waits: a cts-only endpoint.
    Queue,
    /// The condition of everything: a cts-only endpoint.
    Overview,
    /// The states of all tasks at this moment: a cts-only endpoint.
    CurrentStates,
    /// How long changes took until they were applied: a cts-only endpoint.
    Times,
    /// The brake of the fleet: a cts-only endpoint.
    Brake,
    /// Release the brake of the fleet: a cts-only endpoint.
    ReleaseBrake,
    /// Order the worker of this id to drain: a cts-only endpoint.
    DrainWorker(String),
    Tasks,
    /// The task of this name.
    Task(String),
    CreateTask,
    /// Delete the task of this name.
    DeleteTask(String),
    /// Switch the task of this name on or off.
    UpdateTask(String),
    /// Replace the declaration of the task of this name: a cts-only endpoint, like all that follow.
    ReplaceTask(String),
    /// Why the task of this name ran, or why it does not.
    ExplainTask(String),
    /// Release the task of this name, which its shrink limit blocks.
    ReleaseTask(String),
    /// Known data of the Terraform state of the task of this name.
    TerraformState(String),
    /// Decide which Terraform state the task of this name continues with.
    DecideState(String),
    /// Plan the destruction that a deletion of the task of this name would carry out.
    PlanDestruction(String),
    /// The runs that are kept.
    Runs,
    /// The causes that are kept.
    Causes,
    /// The run of this id.
    Run(String),
    /// Cancel the run of this id.
    CancelRun(String),
    /// The plan of the run of this id, as data.
    RunPlan(String),
    /// The input of the run of this id, as data.
    RunInput(String),
    /// The effects of plans that need consent: cts-only endpoints, like all that follow.
    Approvals,
    /// The consent to the effect of the run of this id.
    Approval(String),
    /// Approve the effect of the run of this id.
    Approve(String),
    /// Reject the effect of the run of this id.
    Reject(String),
    /// Approve the effects of several tasks.
    ApproveSet,
    /// Forget that effects of a task were rejected.
    ReopenApprovals,
    /// Output of Terraform in the run of this id.
    RunLog(String),
    /// Changes of runs as they happen.
    Events,
    /// Versions of answers as they change.
    Follow,
    /// Records of calls.
    Audit,
    /// The `OpenAPI` document.
    Document(Format),
    /// `OPTIONS`, whatever the path.
    Preflight,
    /// Not an endpoint.
    Refused(MissingEndpoint),
}

/// How the `OpenAPI` document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
}

/// Why the API does not have the requested endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MissingEndpoint {
    /// A method that the reference does not know.
    UnknownMethod,
    /// The path does not exist.
    UnknownPath,
    /// Health and most cts-only endpoints can only be read.
    OnlyGet,
    /// Runs can only be cancelled there, and workers drained.
    OnlyPost,
    /// The brake can only be read and released.
    OnlyGetAndPost,
    /// The legacy family supports only this other method here; `api` is the part of the API in error texts.
    Method {
        api: &'static str,
        supported: Method,
    },
    /// The legacy family finds more than one segment in the name; the decoded path.
    UnsupportedPath(String),
    /// An update of no task.
    NoTaskName,
}

const OVERALL_STATUS: &str = "/v1/status";
const TASK_STATUSES: &str = "/v1/status/tasks";
/// Path of the status of the cluster.
pub(crate) const CLUSTER_STATUS: &str = "/v1/status/cluster";
const TASKS: &str = "/v1/tasks";
const RUNS: &str = "/v1/runs";
const WORKERS: &str = "/v1/workers";
const BRAKE: &str = "/v1/brake";
const APPROVALS: &str = "/v1/approvals";

/// The route of `method` on `path`; `path` as sent, its escapes known to be well formed.
pub(crate) fn resolve(method: &Method, path: &str) -> Route {
    if *method == Method::OPTIONS {
        return Route::Preflight;
    }
    if !is_known(method) {
        return Route::Refused(MissingEndpoint::UnknownMethod);
    }
    if let Some(route) = only_posted_to(path) {
        return match *method {
            Method::POST => route,
            _ => Route::Refused(MissingEndpoint::OnlyPost),
        };
    }
    if let Some(route) = only_asked_for(path) {
        return match *method {
            Method::GET => route,
            _ => Route::Refused(MissingEndpoint::OnlyGet),
        };
    }
    if path == BRAKE {
        return match *method {
            Method::GET => Route::Brake,
            Method::POST => Route::ReleaseBrake,
            _ => Route::Refused(MissingEndpoint::OnlyGetAndPost),
        };
    }
    if below(path, OVERALL_STATUS).is_some() {
        return match *method {
            Method::GET => status(path),
            _ => Route::Refused(MissingEndpoint::Method {
                api: status_api(path),
                supported: Method::GET,
            }),
        };
    }
    match below(path, TASKS) {
        Some(rest) => tasks(method, path, rest),
        None => Route::Refused(MissingEndpoint::UnknownPath),
    }
}

/// The route of `path` if it can only be posted to.
fn only_posted_to(path: &str) -> Option<Route> {
    let part = |list, action| before(path.strip_prefix(list)?, action).map(decoded);
    match path.strip_prefix(APPROVALS) {
        Some("/approve") => return Some(Route::ApproveSet),
        Some("/reopen") => return Some(Route::ReopenApprovals),
        _ => {}
    }
    part(RUNS, "/cancel")
        .map(Route::CancelRun)
        .or_else(|| part(WORKERS, "/drain").map(Route::DrainWorker))
        .or_else(|| part(APPROVALS, "/approve").map(Route::Approve))
        .or_else(|| part(APPROVALS, "/reject").map(Route::Reject))
}

/// The route of `path` if it can only be read.
fn only_asked_for(path: &str) -> Option<Route> {
    Some(match path {
        "/v1/health" => Route::Health,
        "/v1/cluster/configuration" => Route::Configuration,
        "/v1/queue" => Route::Queue,
        "/v1/overview" => Route::Overview,
        "/v1/overview/tasks" => Route::CurrentStates,
        "/v1/times" => Route::Times,
        "/v1/events" => Route::Events,
        "/v1/follow" => Route::Follow,
        "/v1/audit" => Route::Audit,
        "/v1/openapi.json" => Route::Document(Format::Json),
        "/v1/openapi.yaml" => Route::Document(Format::Yaml),
        RUNS => Route::Runs,
        "/v1/causes" => Route::Causes,
        APPROVALS => Route::Approvals,
        _ if let Some(run) = before(path.strip_prefix(APPROVALS).unwrap_or_default(), "") => {
            Route::Approval(decoded(run))
        }
        _ => {
            let rest = path.strip_prefix(RUNS)?.strip_prefix('/')?;
            let mut segments = rest.split('/');
            let id = segments.next().filter(|id| !id.is_empty())?;
            match (segments.next(), segments.next()) {
                (None, _) => Route::Run(decoded(id)),
                (Some("log"), None) => Route::RunLog(decoded(id)),
                (Some("plan"), None) => Route::RunPlan(decoded(id)),
                (Some("input"), None) => Route::RunInput(decoded(id)),
                _ => return None,
            }
        }
    })
}

fn is_known(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET
            | Method::HEAD
            | Method::POST
            | Method::PUT
            | Method::PATCH
            | Method::DELETE
            | Method::OPTIONS
            | Method::CONNECT
            | Method::TRACE
    )
}

/// The rest of `path` after `prefix`: nothing, or a slash and more.
fn below<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    path.strip_prefix(prefix)
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn status(path: &str) -> Route {
    if path == CLUSTER_STATUS {
        return Route::ClusterStatus;
    }
    let Some(rest) = below(path, TASK_STATUSES) else {
        return Route::OverallStatus;
    };
    match legacy_name(path, rest) {
        Ok(name) if name.is_empty() => Route::TaskStatuses,
        Ok(name) => Route::TaskStatus(name),
        Err(refusal) => Route::Refused(refusal),
    }
}

fn status_api(path: &str) -> &'static str {
    if path == CLUSTER_STATUS {
        "cluster status"
    } else if below(path, TASK_STATUSES).is_some() {
        "task status"
    } else {
        "overallStatus"
    }
}

fn tasks(method: &Method, path: &str, rest: &str) -> Route {
    if *method == Method::PATCH {
        return match legacy_name(path, rest) {
            Ok(name) if name.is_empty() => Route::Refused(MissingEndpoint::NoTaskName),
            Ok(name) => Route::UpdateTask(name),
            Err(refusal) => Route::Refused(refusal),
        };
    }
    let name = rest
        .strip_prefix('/')
        .filter(|name| !name.is_empty() && !name.contains('/'));
    match (method, name) {
        (&Method::GET, None) if rest.is_empty() => Route::Tasks,
        (&Method::POST, None) if rest.is_empty() => Route::CreateTask,
        (&Method::GET, Some(name)) => Route::Task(decoded(name)),
        (&Method::DELETE, Some(name)) => Route::DeleteTask(decoded(name)),
        (&Method::PUT, Some(name)) => Route::ReplaceTask(decoded(name)),
        (&Method::GET, None) if let Some(name) = before(rest, "/explain") => {
            Route::ExplainTask(decoded(name))
        }
        (&Method::GET, None) if let Some(name) = before(rest, "/state") => {
            Route::TerraformState(decoded(name))
        }
        (&Method::POST, None) if let Some(name) = before(rest, "/state") => {
            Route::DecideState(decoded(name))
        }
        (&Method::POST, None) if let Some(name) = before(rest, "/destroy-plan") => {
            Route::PlanDestruction(decoded(name))
        }
        (&Method::POST, None) if let Some(name) = before(rest, "/release") => {
            Route::ReleaseTask(decoded(name))
        }
        _ => Route::Refused(MissingEndpoint::Method {
            api: "task",
            supported: Method::PATCH,
        }),
    }
}

/// The name in `rest`, as sent, if the path names this part of a task.
fn before<'a>(rest: &'a str, part: &str) -> Option<&'a str> {
    rest.strip_prefix('/')?
        .strip_suffix(part)
        .filter(|name| !name.is_empty() && !name.contains('/'))
}

/// The legacy family's name in `rest`, empty if `rest` has none.
fn legacy_name(path: &str, rest: &str) -> Result<String, MissingEndpoint> {
    let name = decoded(rest.strip_prefix('/').unwrap_or_default());
    if name.contains('/') {
        return Err(MissingEndpoint::UnsupportedPath(decoded(path)));
    }
    Ok(name)
}

fn decoded(path: &str) -> String {
    decode(path, Plus::Itself).unwrap_or_else(|| path.to_owned())
}
