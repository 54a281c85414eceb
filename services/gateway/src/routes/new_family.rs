//! Endpoints of the new family that only ask: cluster status, tasks (docs/rest.md#cluster-status, #reading-tasks).

use axum::response::Response;
use http::StatusCode;

use crate::authorization::visitor::Visitor;
use crate::json;
use crate::model::{ClusterAnswer, IdLast, TaskAnswer, TaskObject, TasksAnswer};
use crate::options::LocalTime;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::scheduler_client::{ClusterClient, TaskClient};
use crate::transport::etag;

/// The scheduler replicas; every replica gives the same answer.
pub(crate) async fn cluster_status(
    questions: &ClusterClient,
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

/// Task blocks in force, and how the blocks of the living members differ.
pub(crate) async fn configuration(
    questions: &ClusterClient,
    local_time: &LocalTime,
    id: RequestId,
) -> Result<Response, Problem> {
    let configuration = questions
        .configuration()
        .await
        .map_err(|error| Problem::unanswered(&error, None, id))?;
    let answer = IdLast {
        message: configuration,
        request_id: id,
    };
    Ok(json::answer_in(local_time, StatusCode::OK, &answer))
}

/// All tasks that the caller may see.
pub(crate) async fn tasks(
    questions: &TaskClient,
    visitor: &Visitor,
    id: RequestId,
) -> Result<Response, Problem> {
    let tasks = questions
        .tasks()
        .await
        .map_err(|error| Problem::unanswered(&error, None, id))?;
    let shown = tasks.iter().filter(|task| visitor.sees(&task.name));
    let answer = TasksAnswer {
        request_id: id,
        tasks: shown.map(TaskObject::from).collect(),
    };
    Ok(json::answer(StatusCode::OK, &answer))
}

/// The task `name`, with its revision as a header, for `PUT`.
pub(crate) async fn task(
    questions: &TaskClient,
    name: &str,
    id: RequestId,
) -> Result<Response, Problem> {
    let task = questions
        .task(name)
        .await
        .map_err(|error| Problem::unanswered(&error, Some(name), id))?;
    let answer = TaskAnswer {
        request_id: id,
        task: TaskObject::from(&task.declared).with_destruction(task.destruction_suspended),
    };
    let answer = json::answer(StatusCode::OK, &answer);
    Ok(etag::with_revision(answer, task.revision))
}
