//! Endpoints of the legacy family: overall status and task status (docs/rest.md#overall-status, #task-status).

use axum::response::Response;
use http::StatusCode;

use crate::api_request::ApiRequest;
use crate::json;
use crate::model::{TaskStatusAnswer, TaskStatusesAnswer};
use crate::problem::Problem;
use crate::request::query::StatusQuery;
use crate::scheduler_client::status_board::{Page, StatusBoard};
use crate::scheduler_client::{CallError, TaskClient};

/// A page about all tasks that the caller may see.
pub(crate) async fn page(
    board: &StatusBoard,
    page: Page,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    Ok(json::made(match request.visitor.tasks() {
        None => board.page(page).await?,
        Some(tasks) => board.page_of(page, tasks).await?,
    }))
}

/// The status of the task `name`, unless the filter keeps it back.
pub(crate) async fn task_status(
    questions: &TaskClient,
    name: &str,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let query = StatusQuery::parse(request.query())?;
    let state = questions.state(name, query.include_events).await?;
    let status = TaskStatusAnswer::new(&state).map_err(CallError::from)?;
    let answer: TaskStatusesAnswer<'_> = Some(status)
        .filter(|status| status.passes(query.status))
        .into_iter()
        .collect();
    Ok(request.answer(StatusCode::OK, &answer))
}
