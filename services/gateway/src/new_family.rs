//! Endpoints of the new family: cluster status, tasks (spec/api.md 8 and 10), and the queue, which is
//! ours.

use axum::response::Response;
use http::StatusCode;

use crate::ask::{ClusterQuestions, QueueQuestions, TaskQuestions};
use crate::json;
use crate::model::{ClusterAnswer, QueueAnswer, TaskAnswer, TaskObject, TasksAnswer};
use crate::problem::Problem;
use crate::request_log::RequestId;

/// The scheduler replicas, whichever of them is asked.
pub(crate) async fn cluster_status(
    questions: &ClusterQuestions,
    id: RequestId,
) -> Result<Response, Problem> {
    let cluster = questions
        .cluster()
        .await
        .map_err(|error| Problem::unanswered(&error, None, id))?;
    if !cluster.high_availability {
        return Err(Problem::no_cluster());
    }
    Ok(json::answer(
        StatusCode::OK,
        &ClusterAnswer::new(&cluster, id),
    ))
}

/// How much work waits.
pub(crate) async fn queue(questions: &QueueQuestions, id: RequestId) -> Result<Response, Problem> {
    let queue = questions
        .queue()
        .await
        .map_err(|error| Problem::unanswered(&error, None, id))?;
    Ok(json::answer(StatusCode::OK, &QueueAnswer::new(&queue, id)))
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
        .task(name)
        .await
        .map_err(|error| Problem::unanswered(&error, Some(name), id))?;
    let answer = TaskAnswer {
        request_id: id,
        task: TaskObject::from(&task),
    };
    Ok(json::answer(StatusCode::OK, &answer))
}
