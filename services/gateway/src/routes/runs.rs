//! Cts-only endpoints about runs and about why a task runs. Their errors are the ones of the new family.

use axum::response::Response;
use cts_proto::run::v1::RunStatus;
use http::StatusCode;

use crate::model::{ExplanationAnswer, IdFirst, IdLast, RunAnswer};
use crate::options::LocalTime;
use crate::problem::Problem;
use crate::request::{cancel_body, parameters};
use crate::routes::changes::Received;
use crate::scheduler_client::{RunClient, TaskClient};
use crate::transport::json;
use crate::transport::request_log::RequestId;

/// How much work waits.
pub(crate) async fn queue(questions: &RunClient, id: RequestId) -> Result<Response, Problem> {
    let queue = questions
        .queue()
        .await
        .map_err(|error| Problem::unanswered(&error, None, id))?;
    let answer = IdLast {
        message: queue,
        request_id: id,
    };
    Ok(json::answer(StatusCode::OK, &answer))
}

/// A page of runs, newest first.
pub(crate) async fn runs(
    questions: &RunClient,
    query: Option<&str>,
    local_time: &LocalTime,
    id: RequestId,
) -> Result<Response, Problem> {
    let request = parameters::runs(query)?;
    let page = questions
        .runs(request)
        .await
        .map_err(|error| Problem::unanswered_run(&error, "", id))?;
    let answer = IdFirst {
        request_id: id,
        message: page,
    };
    Ok(json::answer_in(local_time, StatusCode::OK, &answer))
}

/// The run `run`.
pub(crate) async fn run(
    questions: &RunClient,
    run: &str,
    local_time: &LocalTime,
    id: RequestId,
) -> Result<Response, Problem> {
    let found = questions
        .run(run)
        .await
        .map_err(|error| Problem::unanswered_run(&error, run, id))?;
    let answer = RunAnswer {
        request_id: id,
        run: found,
    };
    Ok(json::answer_in(local_time, StatusCode::OK, &answer))
}

/// Cancels the run `run`: 202 while its worker stops it, 200 if nothing more is to happen.
pub(crate) async fn cancel(
    calls: &RunClient,
    run: &str,
    body: Received,
    local_time: &LocalTime,
    id: RequestId,
) -> Result<Response, Problem> {
    let body = body.map_err(|error| Problem::without_body(&error, StatusCode::BAD_REQUEST))?;
    let force = cancel_body::force(&body)?;
    let cancelled = calls
        .cancel(run, force)
        .await
        .map_err(|error| Problem::unanswered_run(&error, run, id))?;
    let status = match cancelled.status() {
        RunStatus::Running => StatusCode::ACCEPTED,
        _ => StatusCode::OK,
    };
    let answer = RunAnswer {
        request_id: id,
        run: cancelled,
    };
    Ok(json::answer_in(local_time, status, &answer))
}

/// Why the task `name` ran, or why it does not.
pub(crate) async fn explanation(
    questions: &TaskClient,
    name: &str,
    local_time: &LocalTime,
    id: RequestId,
) -> Result<Response, Problem> {
    let explanation = questions
        .explanation(name)
        .await
        .map_err(|error| Problem::unanswered(&error, Some(name), id))?;
    let answer = ExplanationAnswer {
        request_id: id,
        explanation,
    };
    Ok(json::answer_in(local_time, StatusCode::OK, &answer))
}
