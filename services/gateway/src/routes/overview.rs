//! Cts-only endpoints for operators: the condition of everything, states of tasks, and drains of workers.

use std::sync::Arc;

use axum::body::Bytes;
use axum::response::Response;
use http::StatusCode;

use crate::authorization::visitor::Visitor;
use crate::json;
use crate::model::AcceptedAnswer;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::scheduler_client::on_behalf::OnBehalf;
use crate::scheduler_client::overview_board::OverviewBoard;
use crate::scheduler_client::{CallError, WorkerClient};

/// The condition of everything.
pub(crate) async fn overview(board: &OverviewBoard, id: RequestId) -> Result<Response, Problem> {
    answer(board.overview().await, id)
}

/// The states of all tasks that the caller may see.
pub(crate) async fn current_states(
    board: &OverviewBoard,
    visitor: &Visitor,
    id: RequestId,
) -> Result<Response, Problem> {
    let object = match visitor.tasks() {
        None => board.states().await,
        Some(tasks) => board.states_of(tasks).await,
    };
    answer(object, id)
}

fn answer(object: Result<Bytes, Arc<CallError>>, id: RequestId) -> Result<Response, Problem> {
    let object = object.map_err(|error| Problem::unanswered(&error, None, id))?;
    Ok(json::made(json::with_id(id, &object)))
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
