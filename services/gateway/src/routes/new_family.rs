//! Endpoints of the new family that only ask: cluster status, tasks (docs/rest.md#cluster-status, #reading-tasks).

use axum::response::Response;
use http::StatusCode;

use crate::api_request::ApiRequest;
use crate::model::{ClusterAnswer, TaskAnswer, TaskObject, TasksAnswer};
use crate::problem::Problem;
use crate::scheduler_client::{ClusterClient, TaskClient};
use crate::transport::etag;

/// The scheduler replicas; every replica gives the same answer.
pub(crate) async fn cluster_status(
    questions: &ClusterClient,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let cluster = questions.cluster().await?;
    if !cluster.high_availability {
        return Err(Problem::no_cluster());
    }
    let answer = ClusterAnswer::new(&cluster, request.id);
    Ok(request.answer(StatusCode::OK, &answer))
}

/// All tasks that the caller may see.
pub(crate) async fn tasks(
    questions: &TaskClient,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let tasks = questions.tasks().await?;
    let shown = tasks.iter();
    let shown = shown.filter(|task| request.visitor.sees(&task.name));
    let answer = TasksAnswer {
        request_id: request.id,
        tasks: shown.map(TaskObject::from).collect(),
    };
    Ok(request.answer(StatusCode::OK, &answer))
}

/// The task `name`, with its revision as a header, for `PUT`.
pub(crate) async fn task(
    questions: &TaskClient,
    name: &str,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let task = questions.task(name).await?;
    let answer = TaskAnswer {
        request_id: request.id,
        task: TaskObject::from(&task.declared).with_destruction(task.destruction_suspended),
    };
    let answer = request.answer(StatusCode::OK, &answer);
    Ok(etag::with_revision(answer, task.revision))
}
