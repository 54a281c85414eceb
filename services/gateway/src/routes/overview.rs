//! Cts-only endpoints for operators: states of tasks, the brake of the fleet, and drains of workers.

use axum::response::Response;
use http::StatusCode;

use crate::api_request::ApiRequest;
use crate::json;
use crate::model::AcceptedAnswer;
use crate::problem::Problem;
use crate::scheduler_client::overview_board::OverviewBoard;
use crate::scheduler_client::{ClusterClient, WorkerClient};

/// The condition of everything.
pub(crate) async fn overview(
    board: &OverviewBoard,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let object = board.overview().await?;
    Ok(json::made(json::with_id(request.id, &object)))
}

/// The states of all tasks that the caller may see.
pub(crate) async fn current_states(
    board: &OverviewBoard,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let object = match request.visitor.tasks() {
        None => board.states().await?,
        Some(tasks) => board.states_of(tasks).await?,
    };
    Ok(json::made(json::with_id(request.id, &object)))
}

/// The brake of the fleet.
pub(crate) async fn brake(
    questions: &ClusterClient,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    Ok(request.id_first(StatusCode::OK, questions.brake().await?))
}

/// Orders a worker to drain.
pub(crate) async fn drain(
    calls: &WorkerClient,
    worker: &str,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    calls.drain(worker, &request.on_behalf()).await?;
    let request_id = request.id;
    Ok(request.answer(StatusCode::ACCEPTED, &AcceptedAnswer { request_id }))
}
