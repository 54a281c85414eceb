//! Cts-only endpoints for operators: states of tasks, the brake of the fleet, and drains of workers.

use axum::response::Response;
use http::StatusCode;

use crate::api_request::ApiRequest;
use crate::json;
use crate::model::AcceptedAnswer;
use crate::problem::Problem;
use crate::request::parameters::{self, StatesQuery};
use crate::scheduler_client::overview_board::OverviewBoard;
use crate::scheduler_client::{ClusterClient, WorkerClient};

/// The condition of everything, or of the tasks that the caller may see.
pub(crate) async fn overview(
    board: &OverviewBoard,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let object = match request.visitor.tasks() {
        None => board.overview().await?,
        Some(tasks) => board.overview_of(tasks).await?,
    };
    Ok(json::made(json::with_id(request.id, &object)))
}

/// The states of the tasks that the caller may see: all of them, a page of them, or each as a character.
pub(crate) async fn current_states(
    board: &OverviewBoard,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let object = match (
        parameters::states(request.query())?,
        request.visitor.tasks(),
    ) {
        (StatesQuery::All, None) => board.states().await?,
        (StatesQuery::All, Some(tasks)) => board.states_of(tasks).await?,
        (StatesQuery::Page(page), tasks) => board.page(page, tasks).await?,
        (StatesQuery::Grid, tasks) => board.grid(tasks.cloned()).await?,
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
