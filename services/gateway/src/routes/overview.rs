//! Cts-only endpoints for operators: the condition of everything, states of tasks, and drains of workers.

use axum::response::Response;
use http::StatusCode;

use crate::access::visitor::Visitor;
use crate::model::{AcceptedAnswer, CurrentStateAnswer, CurrentStatesAnswer, IdFirst};
use crate::options::LocalTime;
use crate::problem::Problem;
use crate::scheduler_client::on_behalf::OnBehalf;
use crate::scheduler_client::{ClusterClient, TaskClient, WorkerClient};
use crate::transport::json;
use crate::transport::request_log::RequestId;

/// The condition of everything.
pub(crate) async fn overview(
    questions: &ClusterClient,
    local_time: &LocalTime,
    id: RequestId,
) -> Result<Response, Problem> {
    let overview = questions
        .overview()
        .await
        .map_err(|error| Problem::unanswered(&error, None, id))?;
    let answer = IdFirst {
        request_id: id,
        message: overview,
    };
    Ok(json::answer_in(local_time, StatusCode::OK, &answer))
}

/// The states of all tasks that the caller may know of.
pub(crate) async fn current_states(
    questions: &TaskClient,
    visitor: &Visitor,
    local_time: &LocalTime,
    id: RequestId,
) -> Result<Response, Problem> {
    let states = questions
        .current_states()
        .await
        .map_err(|error| Problem::unanswered(&error, None, id))?;
    let shown = states.into_iter();
    let shown = shown.filter(|state| visitor.sees(&state.task_name));
    let answer = CurrentStatesAnswer {
        request_id: id,
        tasks: shown.map(CurrentStateAnswer::from).collect(),
    };
    Ok(json::answer_in(local_time, StatusCode::OK, &answer))
}

/// Orders a worker to drain.
pub(crate) async fn drain(
    calls: &WorkerClient,
    worker: &str,
    by: &OnBehalf,
    id: RequestId,
) -> Result<Response, Problem> {
    calls
        .drain(worker, by)
        .await
        .map_err(|error| Problem::undrained(&error, worker, id))?;
    let answer = AcceptedAnswer { request_id: id };
    Ok(json::answer(StatusCode::ACCEPTED, &answer))
}
