//! Cts-only endpoints about consent to the effects of plans (docs/rest.md#consent).

use axum::response::Response;
use cts_core::callers::TaskPatterns;
use cts_proto::run::v1::{Approval, ListApprovalsResponse};
use http::StatusCode;

use crate::api_request::ApiRequest;
use crate::model::{
    ApprovalAnswer, ApprovalsAnswer, ApprovedSetAnswer, ChangedSetAnswer, CodedError,
    ReopenedAnswer,
};
use crate::problem::Problem;
use crate::problem::declined::Change;
use crate::request::{approval_body, parameters};
use crate::routes::changes::Received;
use crate::scheduler_client::{ApprovalClient, CallError, ChangeError};

/// The effects of the tasks that the query names, as far as the caller may see them.
pub(crate) async fn list(
    calls: &ApprovalClient,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let tasks = TaskPatterns::new(parameters::tasks(request.query()))
        .map_err(|error| Problem::bad_request(&error))?;
    let listed = calls.list(&tasks, request.visitor.tasks(), "").await?;
    let answer = ApprovalsAnswer {
        request_id: request.id,
        approvals: listed.approvals,
        set: listed.set,
    };
    Ok(request.answer(StatusCode::OK, &answer))
}

/// The consent to the effect of the run `run`.
pub(crate) async fn show(
    calls: &ApprovalClient,
    run: &str,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    Ok(answered(visible(calls, run, request).await?, request))
}

/// Approves or rejects the effect of the run `run`.
pub(crate) async fn decide(
    calls: &ApprovalClient,
    run: &str,
    (rejects, body): (bool, Received),
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let decision = approval_body::decision(&request.head.headers, &received(body)?, rejects)?;
    if request.visitor.tasks().is_some() {
        visible(calls, run, request).await?;
    }
    let decided = calls.decide(run, decision).await.map_err(undecided)?;
    Ok(answered(decided, request))
}

/// Approves the effects of several tasks, if they are those that the caller has seen. Otherwise the answer has the
/// present ones, and the tasks in which they differ.
pub(crate) async fn approve_set(
    calls: &ApprovalClient,
    body: Received,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let wanted = approval_body::set(&request.head.headers, &received(body)?)?;
    let (visible, request_id) = (request.visitor.tasks(), request.id);
    match calls.approve_set(&wanted, visible).await {
        Ok(approvals) => {
            let answer = ApprovedSetAnswer {
                request_id,
                approvals,
            };
            Ok(request.answer(StatusCode::OK, &answer))
        }
        Err(ChangeError::Ask(error @ CallError::ApprovalChanged(_))) => {
            let ListApprovalsResponse {
                approvals,
                set,
                came,
                went,
                changed,
            } = calls.list(&wanted.tasks, visible, &wanted.set).await?;
            let problem = Problem::from(error);
            let answer = ChangedSetAnswer {
                error: CodedError {
                    message: problem.message(),
                    code: problem.code(),
                },
                request_id,
                approvals,
                set,
                came,
                went,
                changed,
            };
            Ok(request.answer(StatusCode::CONFLICT, &answer))
        }
        Err(error) => Err(undecided(error)),
    }
}

/// Forgets that effects of a task were rejected.
pub(crate) async fn reopen(
    calls: &ApprovalClient,
    body: Received,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let task = approval_body::reopened(&request.head.headers, &received(body)?)?;
    request.visitor.may_name(&task)?;
    let answer = ReopenedAnswer {
        request_id: request.id,
        reopened: calls.reopen(&task).await.map_err(undecided)?,
    };
    Ok(request.answer(StatusCode::OK, &answer))
}

async fn visible(
    calls: &ApprovalClient,
    run: &str,
    request: &ApiRequest,
) -> Result<Approval, CallError> {
    let approval = calls.get(run).await?;
    if request.visitor.sees(&approval.task_name) {
        return Ok(approval);
    }
    Err(CallError::NoApproval(run.to_owned()))
}

fn answered(approval: Approval, request: &ApiRequest) -> Response {
    let answer = ApprovalAnswer {
        request_id: request.id,
        approval,
    };
    request.answer(StatusCode::OK, &answer)
}

fn received(body: Received) -> Result<Vec<u8>, Problem> {
    body.map_err(|error| Problem::without_body(&error, StatusCode::BAD_REQUEST))
}

fn undecided(error: ChangeError) -> Problem {
    Problem::unchanged(error, Change::Decide, "")
}
