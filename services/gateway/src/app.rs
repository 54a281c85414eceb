//! The application that answers the requests of every connection.
//!
//! A request passes, from the outside in: answers that HTTP servers give themselves, CORS, request id and
//! log, then [`dispatch`], which contains the leader's interceptor (docs/rest.md#request-ids-and-the-log).

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Router};
use cts_listen::{ClientLimiter, ClientPermit};
use http::request::Parts;
use http::{HeaderMap, StatusCode};

use crate::options::{Browsers, Deps, LocalTime, Mode, Options};
use crate::problem::{Family, Problem, refuse};
use crate::request::document;
use crate::request::query::StatusQuery;
use crate::request::run_mode::RunMode;
use crate::routes::changes::Received;
use crate::routes::health::health;
use crate::routes::{Route, is_for_the_leader, resolve};
use crate::routes::{changes, leader, legacy_family, new_family, runs};
use crate::scheduler_client::run_events::RunEvents;
use crate::scheduler_client::status_board::{Page, StatusBoard};
use crate::scheduler_client::{ClusterClient, RunClient, TaskChangeClient, TaskClient};
use crate::transport::browsers::Listened;
use crate::transport::clients::Clients;
use crate::transport::connection::Connection;
use crate::transport::request_log::{RequestId, observe};
use crate::transport::streams::Answer;
use crate::transport::{body, headers, http_validation, streams};

struct App {
    board: StatusBoard,
    tasks: TaskClient,
    changes: TaskChangeClient,
    cluster: ClusterClient,
    runs: RunClient,
    events: RunEvents,
    local_time: LocalTime,
    mode: Mode,
    clients: Clients,
    browsers: Browsers,
    streams: ClientLimiter,
    waiting: ClientLimiter,
    names: usize,
}

/// A request that is not answered yet.
struct ApiRequest {
    head: Parts,
    body: Body,
    connection: Connection,
    id: RequestId,
}

/// The whole API. Requests must carry their `Connection` as an extension.
pub(crate) fn router(options: Options, deps: Deps) -> Router {
    let tasks = TaskClient::new(deps.tasks.clone(), options.limits.answer_bytes);
    let runs = RunClient::new(deps.runs, deps.logs);
    let app = App {
        board: StatusBoard::new(tasks.clone(), Arc::clone(&options.local_time)),
        tasks,
        changes: TaskChangeClient::new(deps.tasks),
        cluster: ClusterClient::new(deps.cluster),
        events: RunEvents::new(runs.clone()),
        runs,
        local_time: options.local_time,
        mode: options.mode,
        clients: Clients::new(options.trusted_proxies),
        browsers: options.browsers,
        streams: ClientLimiter::new(options.limits.streams),
        waiting: ClientLimiter::new(options.limits.waiting),
        names: options.limits.names,
    };
    Router::new()
        .fallback(dispatch)
        .with_state(Arc::new(app))
        .layer(from_fn_with_state(options.request_id, observe))
        .layer(from_fn(headers::allow_origins))
        .layer(from_fn(http_validation::answer_or_pass))
}

async fn dispatch(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(connection): Extension<Connection>,
    Extension(listened): Extension<Listened>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let request = ApiRequest {
        head,
        body,
        connection,
        id,
    };
    let route = resolve(&request.head.method, request.head.uri.path());
    let family = family(&route, id);
    if let Err(problem) = app.browsers.check(&request.head, listened) {
        return problem.answer(family);
    }
    app.answer(route, family, request)
        .await
        .unwrap_or_else(|problem| problem.answer(family))
}

impl App {
    async fn answer(
        &self,
        route: Route,
        family: Family,
        request: ApiRequest,
    ) -> Result<Response, Problem> {
        // These are checked before the leader's interceptor.
        let is_checked_first = matches!(route, Route::CreateTask | Route::ReplaceTask(_));
        if !is_checked_first
            && is_for_the_leader(&route, request.head.uri.path())
            && let Some(answer) = self.intercepted(family).await
        {
            return Ok(answer);
        }
        let query = request.head.uri.query();
        let (id, time) = (request.id, &self.local_time);
        match route {
            Route::Preflight => Ok(StatusCode::OK.into_response()),
            Route::Refused(refusal) => Ok(refuse(&refusal, &request.head.method)),
            Route::Health => health(&self.cluster).await,
            Route::OverallStatus => legacy_family::page(&self.board, Page::Overall, id).await,
            Route::TaskStatuses => {
                let page = Page::from(StatusQuery::parse(query)?);
                legacy_family::page(&self.board, page, id).await
            }
            Route::TaskStatus(name) => {
                legacy_family::task_status(&self.tasks, &name, query, time, id).await
            }
            Route::ClusterStatus => new_family::cluster_status(&self.cluster, id).await,
            Route::Tasks => new_family::tasks(&self.tasks, id).await,
            Route::Task(name) => new_family::task(&self.tasks, &name, id).await,
            Route::CreateTask => self.create(request).await,
            Route::ReplaceTask(name) => self.replace(&name, request).await,
            Route::UpdateTask(name) => self.update(&name, request).await,
            Route::DeleteTask(name) => changes::delete(&self.changes, &name, query, id).await,
            Route::PlanDestruction(name) => {
                let _permit = self.wait(&request)?;
                changes::plan_destruction(&self.changes, &name, id).await
            }
            Route::ReleaseTask(name) => {
                let (_headers, body) = request.received().await;
                changes::release(&self.changes, &name, body, time, id).await
            }
            Route::TerraformState(name) => {
                changes::terraform_state(&self.tasks, &name, time, id).await
            }
            Route::DecideState(name) => self.decide_state(&name, request).await,
            Route::ExplainTask(name) => runs::explanation(&self.tasks, &name, time, id).await,
            Route::Configuration => new_family::configuration(&self.cluster, time, id).await,
            Route::Queue => runs::queue(&self.runs, id).await,
            Route::Runs => runs::runs(&self.runs, query, time, id).await,
            Route::Run(run) => runs::run(&self.runs, &run, time, id).await,
            Route::CancelRun(run) => {
                let time = Arc::clone(time);
                let (_headers, body) = request.received().await;
                runs::cancel(&self.runs, &run, body, &time, id).await
            }
            Route::RunLog(run) => {
                let answer = self.stream(&request)?;
                streams::log::log(&self.runs, &run, query, answer, id).await
            }
            Route::Events => {
                let time = Arc::clone(time);
                let answer = self.stream(&request)?;
                streams::events::events(&self.events, query, answer, time, id).await
            }
            Route::Document(format) => Ok(document::answer(format)),
        }
    }

    /// A permit for a request that waits for a run.
    fn wait(&self, request: &ApiRequest) -> Result<ClientPermit, Problem> {
        let client = self.client(request);
        let permit = self.waiting.acquire(client);
        permit.map_err(|why| Problem::crowded(why, "requests that wait for a run"))
    }

    /// An answer that goes on, with its permit.
    fn stream(&self, request: &ApiRequest) -> Result<Answer, Problem> {
        let permit = self.streams.acquire(self.client(request));
        let permit = permit.map_err(|why| Problem::crowded(why, "logs and events"))?;
        Ok(Answer::new(&request.connection, permit))
    }

    fn client(&self, request: &ApiRequest) -> Option<IpAddr> {
        let peer = request.connection.peer.ip();
        self.clients.of(peer, &request.head.headers)
    }

    /// The answer of a replica that does not lead, where those do not serve.
    async fn intercepted(&self, family: Family) -> Option<Response> {
        if self.mode != Mode::StrictFollower {
            return None;
        }
        let (family, problem) = leader::intercept(&self.cluster, family).await?;
        Some(problem.answer(family))
    }

    async fn create(&self, request: ApiRequest) -> Result<Response, Problem> {
        let mode = RunMode::parse(request.head.uri.query())?;
        let id = request.id;
        let _permit = self.wait(&request)?;
        let (headers, body) = request.received().await;
        let request = changes::read_creation(mode, &headers, body, self.names, id)?;
        match self.intercepted(Family::New(id)).await {
            Some(answer) => Ok(answer),
            None => changes::create(&self.changes, request, id).await,
        }
    }

    async fn replace(&self, name: &str, request: ApiRequest) -> Result<Response, Problem> {
        let mode = RunMode::parse_for_replacement(request.head.uri.query())?;
        let id = request.id;
        let _permit = self.wait(&request)?;
        let (headers, body) = request.received().await;
        let (request, revision) =
            changes::read_replacement(mode, name, &headers, body, self.names)?;
        match self.intercepted(Family::New(id)).await {
            Some(answer) => Ok(answer),
            None => changes::replace(&self.changes, request, revision, id).await,
        }
    }

    async fn decide_state(&self, name: &str, request: ApiRequest) -> Result<Response, Problem> {
        let id = request.id;
        let (headers, body) = request.received().await;
        let decision = changes::read_decision(&headers, body)?;
        changes::decide_state(&self.changes, name, decision, &self.local_time, id).await
    }

    async fn update(&self, name: &str, request: ApiRequest) -> Result<Response, Problem> {
        let mode = RunMode::parse_legacy(request.head.uri.query())?;
        let id = request.id;
        let _permit = self.wait(&request)?;
        let (_headers, body) = request.received().await;
        changes::update(&self.changes, name, mode, body, id).await
    }
}

impl ApiRequest {
    async fn received(self) -> (HeaderMap, Received) {
        let limit = self.connection.activity.body_limit();
        (self.head.headers, body::read(self.body, limit).await)
    }
}

/// The family of a route's errors. Health has the legacy one's: it has no request id (docs/rest.md#health).
fn family(route: &Route, id: RequestId) -> Family {
    match route {
        Route::ClusterStatus
        | Route::Configuration
        | Route::Queue
        | Route::Tasks
        | Route::Task(_)
        | Route::CreateTask
        | Route::ReplaceTask(_)
        | Route::DeleteTask(_)
        | Route::ReleaseTask(_)
        | Route::PlanDestruction(_)
        | Route::TerraformState(_)
        | Route::DecideState(_)
        | Route::ExplainTask(_)
        | Route::Runs
        | Route::Run(_)
        | Route::CancelRun(_)
        | Route::RunLog(_)
        | Route::Events
        | Route::Document(_) => Family::New(id),
        Route::Health
        | Route::OverallStatus
        | Route::TaskStatuses
        | Route::TaskStatus(_)
        | Route::UpdateTask(_)
        | Route::Preflight
        | Route::Refused(_) => Family::Legacy,
    }
}
