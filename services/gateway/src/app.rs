//! Who answers what: the application behind every connection.
//!
//! A request passes, from the outside in: what HTTP servers answer themselves, CORS, request id and
//! log, then [`dispatch`], where the leader's interceptor is (spec/api.md 3, "Middleware order").

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Router};
use http::StatusCode;

use crate::ask::{ClusterQuestions, QueueQuestions, TaskQuestions};
use crate::health::health;
use crate::problem::{Family, Problem, refuse};
use crate::request_log::{RequestId, observe};
use crate::routes::{Route, is_for_the_leader, resolve};
use crate::server::{Deps, Health, LocalTime, Mode, Options};
use crate::{bare, headers, leader, legacy_family, new_family};

struct App {
    tasks: TaskQuestions,
    cluster: ClusterQuestions,
    queue: QueueQuestions,
    local_time: LocalTime,
    mode: Mode,
    health: Health,
}

/// The whole API. Requests must carry their `Connection` as an extension.
pub(crate) fn router(options: Options, deps: Deps) -> Router {
    let app = App {
        tasks: TaskQuestions::new(deps.tasks),
        cluster: ClusterQuestions::new(deps.cluster),
        queue: QueueQuestions::new(deps.runs),
        local_time: options.local_time,
        mode: options.mode,
        health: options.health,
    };
    Router::new()
        .fallback(dispatch)
        .with_state(Arc::new(app))
        .layer(from_fn_with_state(options.request_id, observe))
        .layer(from_fn(headers::allow_origins))
        .layer(from_fn(bare::answer_or_pass))
}

async fn dispatch(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    request: Request,
) -> Response {
    let path = request.uri().path();
    let query = request.uri().query();
    let route = resolve(request.method(), path);
    let family = family(&route, id);
    if app.mode == Mode::StrictFollower
        && is_for_the_leader(&route, path)
        && let Some((family, problem)) = leader::intercept(&app.cluster, family).await
    {
        return problem.answer(family);
    }
    let answer = match route {
        Route::Preflight => return StatusCode::OK.into_response(),
        Route::Refused(refusal) => return refuse(&refusal, request.method()),
        Route::Health => health(app.health, &app.cluster).await,
        Route::OverallStatus => legacy_family::overall_status(&app.tasks, id).await,
        Route::TaskStatuses => {
            legacy_family::task_statuses(&app.tasks, query, &app.local_time, id).await
        }
        Route::TaskStatus(name) => {
            legacy_family::task_status(&app.tasks, &name, query, &app.local_time, id).await
        }
        Route::ClusterStatus => new_family::cluster_status(&app.cluster, id).await,
        Route::Queue => new_family::queue(&app.queue, id).await,
        Route::Tasks => new_family::tasks(&app.tasks, id).await,
        Route::Task(name) => new_family::task(&app.tasks, &name, id).await,
        Route::CreateTask | Route::DeleteTask | Route::UpdateTask => Err(Problem::read_only()),
    };
    answer.unwrap_or_else(|problem| problem.answer(family))
}

/// The family of a route's errors. Health has the legacy one's: it has no request id (spec/api.md 5).
fn family(route: &Route, id: RequestId) -> Family {
    match route {
        Route::ClusterStatus
        | Route::Queue
        | Route::Tasks
        | Route::Task(_)
        | Route::CreateTask
        | Route::DeleteTask => Family::New(id),
        Route::Health
        | Route::OverallStatus
        | Route::TaskStatuses
        | Route::TaskStatus(_)
        | Route::UpdateTask
        | Route::Preflight
        | Route::Refused(_) => Family::Legacy,
    }
}
