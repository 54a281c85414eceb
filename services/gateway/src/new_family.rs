//! Endpoints of the new family: health, cluster status, tasks (spec/api.md 5, 8 and 10).

use axum::response::Response;
use http::StatusCode;

use crate::ask::TaskQuestions;
use crate::json;
use crate::model::{EmptyAnswer, TaskAnswer, TaskObject, TasksAnswer};
use crate::problem::Problem;
use crate::request_log::RequestId;

/// Healthy as soon as the API listens, whatever the tasks do.
pub(crate) fn health() -> Response {
    json::answer(StatusCode::OK, &EmptyAnswer {})
}

/// All tasks.
pub(crate) async fn tasks(questions: &TaskQuestions, id: RequestId) -> Result<Response, Problem> {
    let tasks = questions
        .tasks()
        .await
        .map_err(|error| Problem::unanswered(&error, None, id))?;
    let answer = TasksAnswer {
        request_id: id,
        tasks: tasks.iter().map(TaskObject::from).collect(),
    };
    Ok(json::answer(StatusCode::OK, &answer))
}

/// The task `name`.
pub(crate) async fn task(
    questions: &TaskQuestions,
    name: &str,
    id: RequestId,
) -> Result<Response, Problem> {
    let task = questions
        .task(name.to_owned())
        .await
        .map_err(|error| Problem::unanswered(&error, Some(name), id))?;
    let answer = TaskAnswer {
        request_id: id,
        task: TaskObject::from(&task),
    };
    Ok(json::answer(StatusCode::OK, &answer))
}
