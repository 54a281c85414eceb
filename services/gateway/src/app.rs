//! Who answers what: the application behind every connection.
//!
//! A request passes, from the outside in: what HTTP servers answer themselves, CORS, request id and
//! log, then [`dispatch`] (spec/api.md 3, "Middleware order").

use axum::extract::{Request, State};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Router};
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use http::StatusCode;
use tonic::transport::Channel;

use crate::ask::TaskQuestions;
use crate::problem::{Family, Problem, refuse};
use crate::request_log::{RequestId, observe};
use crate::routes::{Route, resolve};
use crate::server::{LocalTime, Options};
use crate::{bare, headers, legacy_family, new_family};

#[derive(Clone)]
struct App {
    questions: TaskQuestions,
    local_time: LocalTime,
}

/// The whole API. Requests must carry their `Connection` as an extension.
pub(crate) fn router(options: Options, tasks: TaskServiceClient<Channel>) -> Router {
    let app = App {
        questions: TaskQuestions::new(tasks),
        local_time: options.local_time,
    };
    Router::new()
        .fallback(dispatch)
        .with_state(app)
        .layer(from_fn_with_state(options.request_id, observe))
        .layer(from_fn(headers::allow_origins))
        .layer(from_fn(bare::answer_or_pass))
}

async fn dispatch(
    State(App {
        questions,
        local_time,
    }): State<App>,
    Extension(id): Extension<RequestId>,
    request: Request,
) -> Response {
    let query = request.uri().query();
    let (family, answer) = match resolve(request.method(), request.uri().path()) {
        Route::Health => return new_family::health(),
        Route::Preflight => return StatusCode::OK.into_response(),
        Route::Refused(refusal) => return refuse(&refusal, request.method()),
        Route::OverallStatus => (
            Family::Legacy,
            legacy_family::overall_status(&questions, id).await,
        ),
        Route::TaskStatuses => (
            Family::Legacy,
            legacy_family::task_statuses(&questions, query, &local_time, id).await,
        ),
        Route::TaskStatus(name) => (
            Family::Legacy,
            legacy_family::task_status(&questions, &name, query, &local_time, id).await,
        ),
        Route::UpdateTask => (Family::Legacy, Err(Problem::read_only())),
        Route::ClusterStatus => (Family::New(id), Err(Problem::no_cluster())),
        Route::Tasks => (Family::New(id), new_family::tasks(&questions, id).await),
        Route::Task(name) => (
            Family::New(id),
            new_family::task(&questions, &name, id).await,
        ),
        Route::CreateTask | Route::DeleteTask => (Family::New(id), Err(Problem::read_only())),
    };
    answer.unwrap_or_else(|problem| problem.answer(family))
}
