//! Endpoints of the legacy family: overall status and task status (docs/rest.md#overall-status, #task-status).

use axum::response::Response;
use cts_rpc::ConversionError;
use http::StatusCode;

use crate::authorization::visitor::Visitor;
use crate::json;
use crate::model::{TaskStatusAnswer, TaskStatusesAnswer};
use crate::options::LocalTime;
use crate::problem::Problem;
use crate::request::query::StatusQuery;
use crate::request_id::RequestId;
use crate::scheduler_client::TaskClient;
use crate::scheduler_client::status_board::{Page, StatusBoard};

/// A page about all tasks that the caller may see.
pub(crate) async fn page(
    board: &StatusBoard,
    page: Page,
    visitor: &Visitor,
    id: RequestId,
) -> Result<Response, Problem> {
    let body = match visitor.tasks() {
        None => board.page(page).await,
        Some(tasks) => board.page_of(page, tasks).await,
    };
    match body {
        Ok(body) => Ok(json::made(body)),
        Err(error) => Err(Problem::unanswered(&error, None, id)),
    }
}

/// The status of the task `name`, unless the filter keeps it back.
pub(crate) async fn task_status(
    questions: &TaskClient,
    name: &str,
    query: Option<&str>,
    local_time: &LocalTime,
    id: RequestId,
) -> Result<Response, Problem> {
    let query = StatusQuery::parse(query)?;
    let state = questions
        .state(name, query.include_events)
        .await
        .map_err(|error| Problem::unanswered(&error, Some(name), id))?;
    let status = TaskStatusAnswer::new(&state).map_err(|error| not_understood(error, id))?;
    let answer: TaskStatusesAnswer<'_> = Some(status)
        .filter(|status| status.passes(query.status))
        .into_iter()
        .collect();
    Ok(json::answer_in(local_time, StatusCode::OK, &answer))
}

fn not_understood(error: ConversionError, id: RequestId) -> Problem {
    Problem::unanswered(&error.into(), None, id)
}
