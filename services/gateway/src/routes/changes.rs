//! Endpoints that change tasks: `POST`, `DELETE` and `PUT` of the new family, `PATCH` of the legacy family
//! (docs/rest.md#creating-a-task, #deleting-a-task, #updating-a-task).

use axum::response::{IntoResponse as _, Response};
use cts_core::RequestKey;
use cts_core::go::InvalidDuration;
use cts_core::runs::SKIPPED_INSPECTION;
use cts_core::state::StateDecision;
use cts_proto::json::KnownState;
use http::header::LOCATION;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};

use crate::api_request::ApiRequest;
use crate::body::BodyError;
use crate::json;
use crate::model::{
    AcceptedAnswer, DestroyPlanAnswer, EmptyAnswer, InspectedAnswer, ReleasedAnswer,
    ReleasedBrakeAnswer, ReplacedAnswer, TaskAnswer, TaskObject, TaskPlanObject,
    UpdateInspectedAnswer,
};
use crate::problem::declined::Change;
use crate::problem::{Family, Problem};
use crate::request::parameters;
use crate::request::release_body;
use crate::request::run_mode::RunMode;
use crate::request::state_decision;
use crate::request::task_request::TaskRequest;
use crate::request::update_body::{self, UpdateBodyError};
use crate::request_id::RequestId;
use crate::scheduler_client::{
    ChangeError, ClusterClient, Reason, TaskChangeClient, TaskClient, chain,
};
use crate::transport::etag;

/// The plan of the destruction of a task that has nothing to be destroyed.
const NOTHING_APPLIED: &str =
    "Nothing was ever applied for the task, so there is nothing to be destroyed.\n";

/// Names the run that waits for consent.
const WAITING: HeaderName = HeaderName::from_static("cts-waiting");

/// A body, or what came instead.
pub(crate) type Received = Result<Vec<u8>, BodyError>;

/// Reads the task of a `POST`, which may name at most `names` services, and which the caller must be allowed to name.
/// Needs no other service, so mistakes are answered at once.
pub(crate) fn read_creation(
    mode: RunMode,
    body: Received,
    names: usize,
    request: &ApiRequest,
) -> Result<TaskRequest, Problem> {
    let read = || {
        let body = received(body)?;
        let read = TaskRequest::read(mode, "TaskRequest", &request.head.headers, &body)?;
        request.visitor.may_name(&read.task.name)?;
        Ok(read.within_limits(names)?)
    };
    read().inspect_err(|problem: &Problem| log_bad_creation(problem, request.id))
}

/// Reads the task of a `PUT` of `name`, and the revision that it is to replace.
pub(crate) fn read_replacement(
    mode: RunMode,
    name: &str,
    headers: &HeaderMap,
    body: Received,
    names: usize,
) -> Result<(TaskRequest, u64), Problem> {
    let body = received(body)?;
    let request = TaskRequest::read(mode, "TaskReplacement", headers, &body)?;
    let request = request.within_limits(names)?;
    if request.task.name != name {
        return Err(Problem::bad_request(&format!(
            "the task in the request body has the name '{}', not '{name}'",
            request.task.name
        )));
    }
    if let Some(error) = &request.bad_duration {
        return Err(no_duration(error));
    }
    let revision =
        etag::expected(headers, request.revision).map_err(|error| Problem::bad_request(&error))?;
    Ok((request, revision))
}

fn received(body: Received) -> Result<Vec<u8>, Problem> {
    body.map_err(|error| Problem::without_body(&error, StatusCode::BAD_REQUEST))
}

fn no_duration(error: &InvalidDuration) -> Problem {
    Problem::bad_request(&format!("error with task configuration: {error}"))
}

/// Creates a task, or inspects what would be created.
pub(crate) async fn create(
    changes: &TaskChangeClient,
    request: TaskRequest,
    id: RequestId,
) -> Result<Response, Problem> {
    let mode = request.mode;
    let mut task = request.task.clone();
    if request.bad_duration.is_some() {
        // No scheduler accepts a task without a module, and each reports first that a name is in use.
        task.module.clear();
    }
    let changed = changes.create(task, mode).await;
    let changed = changed.map_err(|error| match (&error, &request.bad_duration) {
        (ChangeError::Declined { reason, .. }, Some(bad)) if *reason == Reason::Invalid => {
            let problem = no_duration(bad);
            log_bad_creation(&problem, id);
            problem
        }
        _ => {
            log_refused_creation(&request.task.name, &error, mode, id);
            Problem::unchanged(error, Change::Create(mode), &request.task.name)
        }
    })?;
    if mode == RunMode::Inspect {
        let answer = InspectedAnswer {
            request_id: id,
            run: TaskPlanObject::of(changed.plan.as_ref(), SKIPPED_INSPECTION),
            task: TaskObject::echo(&request.task, request.sent),
        };
        return Ok(json::answer(StatusCode::OK, &answer));
    }
    let answer = TaskAnswer {
        request_id: id,
        task: TaskObject::from(&changed.task.declared),
    };
    let answer = json::answer(StatusCode::CREATED, &answer);
    let answer = etag::with_revision(answer, changed.task.revision);
    Ok(with_waiting(answer, &changed.waiting))
}

/// Replaces the task `name`, or inspects the result of its replacement.
pub(crate) async fn replace(
    changes: &TaskChangeClient,
    request: TaskRequest,
    (revision, release): (u64, bool),
    id: RequestId,
) -> Result<Response, Problem> {
    let name = request.task.name.clone();
    let changed = changes
        .replace(request.task, revision, (request.mode, release))
        .await
        .map_err(|error| Problem::unchanged(error, Change::Replace, &name))?;
    let run = &changed.requested;
    if !run.is_empty() {
        let answer = requested(run, &json!({ "request_id": id, "run": run }));
        return Ok(etag::with_revision(answer, changed.task.revision));
    }
    let answer = ReplacedAnswer {
        request_id: id,
        revision: changed.task.revision,
        task: TaskObject::from(&changed.task.declared),
        held: changed.held,
    };
    let answer = json::answer(StatusCode::OK, &answer);
    let answer = etag::with_revision(answer, changed.task.revision);
    Ok(with_waiting(answer, &changed.waiting))
}

/// The answer to a change whose run is requested.
fn requested(run: &str, body: &Value) -> Response {
    let location = [(LOCATION, format!("/v1/runs/{run}"))];
    (location, json::answer(StatusCode::ACCEPTED, body)).into_response()
}

/// The answer with the id of the run that waits for consent, if one does (docs/rest.md#consent).
fn with_waiting(mut answer: Response, run: &str) -> Response {
    if let Ok(run) = HeaderValue::from_str(run)
        && !run.is_empty()
    {
        answer.headers_mut().insert(WAITING, run);
    }
    answer
}

/// Deletes the task `name` as soon as it does not run.
pub(crate) async fn delete(
    changes: &TaskChangeClient,
    name: &str,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let retains = parameters::deletion_retains(request.query())?;
    changes
        .delete(name, retains)
        .await
        .map_err(|error| Problem::unchanged(error, Change::Delete, name))?;
    let request_id = request.id;
    Ok(request.answer(StatusCode::ACCEPTED, &AcceptedAnswer { request_id }))
}

/// Plans what a deletion of the task `name` would destroy, by a request with this key.
pub(crate) async fn plan_destruction(
    changes: &TaskChangeClient,
    (name, key): (&str, Option<RequestKey>),
    id: RequestId,
) -> Result<Response, Problem> {
    let plan = changes
        .plan_destruction(name, key)
        .await
        .map_err(|error| Problem::unchanged(error, Change::PlanDestruction, name))?;
    let answer = DestroyPlanAnswer {
        request_id: id,
        run: TaskPlanObject::of(plan.as_ref(), NOTHING_APPLIED),
    };
    Ok(json::answer(StatusCode::OK, &answer))
}

/// Lets the task `name` go on that a guard holds back.
pub(crate) async fn release(
    changes: &TaskChangeClient,
    name: &str,
    body: Received,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let seen = release_body::seen(&received(body)?)?;
    let hold = changes
        .release(name, seen)
        .await
        .map_err(|error| Problem::unchanged(error, Change::Release, name))?;
    let answer = ReleasedAnswer::new(hold, request.id);
    Ok(request.answer(StatusCode::OK, &answer))
}

/// Releases the brake of the fleet.
pub(crate) async fn release_brake(
    calls: &ClusterClient,
    body: Received,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let seen = release_body::seen_brake(&received(body)?)?;
    let released = calls
        .release_brake(seen, &request.on_behalf())
        .await
        .map_err(|error| Problem::unchanged(error, Change::Release, ""))?;
    let request_id = request.id;
    let answer = ReleasedBrakeAnswer {
        request_id,
        released,
    };
    Ok(request.answer(StatusCode::OK, &answer))
}

/// Known data of the Terraform state of the task `name`.
pub(crate) async fn terraform_state(
    questions: &TaskClient,
    name: &str,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let state = questions.terraform_state(name).await?;
    Ok(request.id_first(StatusCode::OK, KnownState::new(name.to_owned(), state)))
}

/// Reads a decision about a Terraform state, which names only tasks that the caller may name.
fn read_decision(body: Received, request: &ApiRequest) -> Result<StateDecision, Problem> {
    let decision = state_decision::read(&request.head.headers, &received(body)?)?;
    if let StateDecision::From(name) = &decision {
        request.visitor.may_name(name.as_str())?;
    }
    Ok(decision)
}

/// Decides which Terraform state the task `name` goes on with.
pub(crate) async fn decide_state(
    changes: &TaskChangeClient,
    name: &str,
    body: Received,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let decision = read_decision(body, request)?;
    let state = changes
        .decide_state(name, decision)
        .await
        .map_err(|error| Problem::unchanged(error, Change::DecideState, name))?;
    Ok(request.id_first(StatusCode::OK, KnownState::new(name.to_owned(), state)))
}

/// Enables or disables the task `name`. An update that the scheduler declines has the body of the new family, every
/// other answer the body of the legacy family.
pub(crate) async fn update(
    changes: &TaskChangeClient,
    name: &str,
    (mode, key): (RunMode, Option<RequestKey>),
    body: Received,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let body =
        body.map_err(|error| Problem::without_body(&error, StatusCode::INTERNAL_SERVER_ERROR))?;
    let update = update_body::read(&body)?;
    if !update.approve.is_empty() && matches!(mode, RunMode::Inspect) {
        return Err(UpdateBodyError::ApproveInspected.into());
    }
    let may_approve = request.visitor.may_approve();
    let is_allowed = may_approve.is_ok();
    if !update.approve.is_empty() {
        may_approve?;
    }
    let id = request.id;
    log_update(name, update.enabled, mode, id);
    let updated = match changes.update(name, update, (mode, key)).await {
        Ok(updated) => updated,
        Err(error) => {
            let problem = Problem::unchanged(error, Change::Update, name);
            problem.log(id);
            return Ok(problem.answer(Family::New(id)));
        }
    };
    let answer = match mode {
        RunMode::Request if !updated.requested_run_id.is_empty() => {
            let run = &updated.requested_run_id;
            requested(run, &json!({ "run": run }))
        }
        RunMode::Inspect => json::answer(
            StatusCode::OK,
            &UpdateInspectedAnswer {
                inspect: TaskPlanObject::of_update(updated.plan.as_ref(), is_allowed),
            },
        ),
        _ => json::answer(StatusCode::OK, &EmptyAnswer {}),
    };
    Ok(with_waiting(answer, &updated.waiting_run_id))
}

fn log_update(name: &str, enabled: bool, mode: RunMode, id: RequestId) {
    let message = match (mode, enabled) {
        (RunMode::Inspect, _) => "generating inspect plan if task becomes enabled",
        (_, true) => "enabling task",
        (_, false) => "disabling task",
    };
    tracing::info!(target: "api.updatetask", request_id = %id, task_name = name, "{message}");
}

/// The request to create a task is not well formed.
fn log_bad_creation(problem: &Problem, id: RequestId) {
    tracing::error!(target: "api.createtask", request_id = %id, error = problem.message(), "bad request");
}

fn log_refused_creation(name: &str, error: &ChangeError, mode: RunMode, id: RequestId) {
    let is_in_use =
        matches!(error, ChangeError::Declined { reason, .. } if *reason == Reason::Exists);
    let message = match mode {
        _ if is_in_use => "bad request",
        RunMode::Inspect => "error inspecting new task",
        _ => "error creating task",
    };
    tracing::error!(target: "api.createtask", request_id = %id, task_name = name, error = chain(error), "{message}");
}
