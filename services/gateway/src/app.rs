//! The application that answers the requests of every connection.
//!
//! A request passes, from the outside in: answers that HTTP servers give themselves, CORS, request id and
//! log, then [`dispatch`], which contains the leader's interceptor (docs/rest.md#request-ids-and-the-log).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Router};
use cts_listen::{Browsers, ClientLimit, ClientLimiter, ClientPermit};
use cts_proto::run::v1::approval_service_client::ApprovalServiceClient;
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use cts_rpc::Peers;
use cts_telemetry::Traces;
use http::{HeaderMap, StatusCode};
use tokio::time::{Instant, timeout};
use tonic::transport::Channel;

use crate::api_request::ApiRequest;
use crate::authorization::visitor::Visitor;
use crate::authorization::{Access, RequestSummary};
use crate::body::{self, BODIES, BodyLimit};
use crate::endpoint::{endpoint, is_for_the_leader};
use crate::metrics::Metrics;
use crate::options::{Deps, LocalTime, Mode, Options, RequestIds};
use crate::outage_watch::{only_reads, unless_unhealthy};
use crate::problem::{Family, Problem, refuse};
use crate::request::document;
use crate::request::parameters;
use crate::request::query::StatusQuery;
use crate::request::run_mode::RunMode;
use crate::request_id::RequestId;
use crate::request_span::RequestSpan;
use crate::route::{Route, resolve};
use crate::routes::changes::Received;
use crate::routes::health::health;
use crate::routes::{approvals, changes, leader, legacy_family, new_family, overview, runs};
use crate::scheduler_client::overview_board::OverviewBoard;
use crate::scheduler_client::run_events::RunEvents;
use crate::scheduler_client::status_board::{Page, StatusBoard};
use crate::scheduler_client::{
    ApprovalClient, AuditClient, ClusterClient, RunClient, TaskChangeClient, TaskClient,
    WorkerClient,
};
use crate::streams;
use crate::streams::Answer;
use crate::transport::browsers::Listened;
use crate::transport::clients::Clients;
use crate::transport::connection::Connection;
use crate::transport::headers::{self, ReadableBy};
use crate::transport::request_log::{Observed, observe};

/// Longest wait for a healthy scheduler: in a starting cluster a scheduler is found within this time.
const FIND_LIMIT: Duration = Duration::from_millis(1500);

/// Longest wait for a healthy scheduler while a scheduler reports that it does not serve, which happens for a moment at
/// its start.
const UNFIT_LIMIT: Duration = Duration::from_millis(500);

/// Streams of versions of a credential (docs/rest.md#versions-to-follow). All streams have another limit besides.
const FOLLOWERS: ClientLimit = ClientLimit {
    total: usize::MAX,
    per_client: 8,
};

pub(crate) struct App {
    board: StatusBoard,
    overviews: OverviewBoard,
    tasks: TaskClient,
    changes: TaskServiceClient<Channel>,
    cluster: ClusterClient,
    workers: WorkerClient,
    schedulers: Peers,
    runs: RunClient,
    approvals: ApprovalServiceClient<Channel>,
    events: RunEvents,
    pub(crate) local_time: LocalTime,
    mode: Mode,
    audit: AuditClient,
    pub(crate) clients: Clients,
    pub(crate) browsers: Browsers,
    pub(crate) access: Arc<Access>,
    streams: ClientLimiter,
    /// Counts by credential.
    followers: ClientLimiter<String>,
    waiting: ClientLimiter,
    bodies: ClientLimiter,
    names: usize,
    pub(crate) metrics: Metrics,
    pub(crate) traces: Traces,
}

/// The whole API. Requests must carry their `Connection` as an extension.
pub(crate) fn router(app: Arc<App>, request_ids: RequestIds) -> Router {
    let observed = Observed {
        request_ids,
        secret_queries: None,
    };
    let readable = if app.access.is_required() {
        ReadableBy::Origins(app.browsers.origins.clone().into())
    } else {
        ReadableBy::All
    };
    Router::new()
        .fallback(dispatch)
        .with_state(app)
        .layer(from_fn_with_state(observed, observe))
        .layer(from_fn_with_state(readable, headers::allow_origins))
}

async fn dispatch(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(connection): Extension<Connection>,
    Extension(listened): Extension<Listened>,
    request: Request,
) -> Response {
    let begun = Instant::now();
    let (head, body) = request.into_parts();
    let route = resolve(&head.method, head.uri.path());
    let (family, template) = {
        let endpoint = endpoint(&route);
        (endpoint.family(id), endpoint.template)
    };
    let address = app.clients.address(connection.peer.ip(), &head.headers);
    let summary = RequestSummary {
        method: head.method.clone(),
        uri: head.uri.clone(),
        address,
        id,
    };
    let reads = only_reads(&head.method, &route);
    let span = RequestSpan::begin(&app.traces, &route, &head);
    let trace = span.as_ref().map(RequestSpan::context);
    let mut visitor = Visitor::default();
    let answering = async {
        listened.check(&app.browsers, &head)?;
        let identifying = app
            .access
            .identify(&route, &head.headers, &connection, address);
        visitor = identifying.await?;
        app.access.permit(&route, &visitor)?;
        let request = ApiRequest {
            head,
            connection,
            visitor: visitor.clone(),
            session: None,
            address,
            id,
            trace,
            local_time: Arc::clone(&app.local_time),
        };
        app.answer(route, &request, body).await
    };
    let answer = if reads {
        unless_unhealthy(&app.cluster, Box::pin(answering)).await
    } else {
        answering.await
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(problem) => {
            let problem = app.explained(problem, id).await;
            app.access.note(&visitor, &summary, &problem);
            problem.answer(family)
        }
    };
    let (status, took) = (answer.status(), begun.elapsed());
    app.metrics
        .answered(&summary.method, template, status, took);
    if let Some(span) = span {
        span.answered(&app.traces, status);
    }
    answer
}

impl App {
    pub(crate) fn new(options: Options, deps: Deps, access: Arc<Access>) -> Self {
        let tasks = TaskClient::new(deps.tasks.clone(), options.limits.answer_bytes);
        let runs = RunClient::new(deps.runs, deps.logs, deps.plans, deps.follow);
        let cluster = ClusterClient::new(deps.cluster, deps.schedulers.clone());
        let local_time = || Arc::clone(&options.local_time);
        Self {
            board: StatusBoard::new(tasks.clone(), local_time()),
            overviews: OverviewBoard::new(cluster.clone(), tasks.clone(), local_time()),
            tasks,
            changes: deps.tasks,
            cluster,
            workers: WorkerClient::new(deps.workers),
            schedulers: deps.schedulers,
            approvals: deps.approvals,
            events: RunEvents::new(runs.clone()),
            runs,
            local_time: options.local_time,
            mode: options.mode,
            audit: AuditClient::new(deps.access),
            clients: Clients::new(options.trusted_proxies, options.forwarded_header),
            browsers: options.browsers,
            access,
            streams: ClientLimiter::new(options.limits.streams),
            followers: ClientLimiter::new(FOLLOWERS),
            waiting: ClientLimiter::new(options.limits.waiting),
            bodies: ClientLimiter::new(BODIES),
            names: options.limits.names,
            metrics: Metrics::new(&deps.signals.meter),
            traces: deps.signals.traces,
        }
    }

    /// Answers a request of a caller that is known, as a request of the API.
    pub(crate) async fn answer_known(
        &self,
        route: Route,
        request: &ApiRequest,
        body: Body,
    ) -> Result<Response, Problem> {
        self.access.permit(&route, &request.visitor)?;
        if only_reads(&request.head.method, &route) {
            let answering = Box::pin(self.answer(route, request, body));
            unless_unhealthy(&self.cluster, answering).await
        } else {
            self.answer(route, request, body).await
        }
    }

    /// Logs a problem, and adds the reason of an outage.
    pub(crate) async fn explained(&self, problem: Problem, id: RequestId) -> Problem {
        problem.log(id);
        if problem.is_without_scheduler()
            && let Some(reason) = self.cluster.outage().await
        {
            return problem.because(reason);
        }
        problem
    }

    async fn answer(
        &self,
        route: Route,
        request: &ApiRequest,
        body: Body,
    ) -> Result<Response, Problem> {
        // These are checked before the leader's interceptor.
        self.find_scheduler(&route).await?;
        let is_checked_first = matches!(route, Route::CreateTask | Route::ReplaceTask(_));
        if !is_checked_first
            && is_for_the_leader(&route, request.head.uri.path())
            && let Some(answer) = self.intercepted().await?
        {
            return Ok(answer);
        }
        match route {
            Route::Preflight => Ok(StatusCode::OK.into_response()),
            Route::Refused(refusal) => Ok(refuse(&refusal, &request.head.method)),
            Route::Health => health(&self.cluster).await,
            Route::OverallStatus => legacy_family::page(&self.board, Page::Overall, request).await,
            Route::TaskStatuses => {
                let page = Page::from(StatusQuery::parse(request.query())?);
                legacy_family::page(&self.board, page, request).await
            }
            Route::TaskStatus(name) => {
                legacy_family::task_status(&self.tasks, &name, request).await
            }
            Route::ClusterStatus => new_family::cluster_status(&self.cluster, request).await,
            Route::Tasks => new_family::tasks(&self.tasks, request).await,
            Route::Task(name) => new_family::task(&self.tasks, &name, request).await,
            Route::CreateTask => self.create(request, body).await,
            Route::ReplaceTask(name) => self.replace(&name, request, body).await,
            Route::UpdateTask(name) => self.update(&name, request, body).await,
            Route::DeleteTask(name) => {
                changes::delete(&self.changes(request), &name, request).await
            }
            Route::PlanDestruction(name) => {
                let key = parameters::request_key(request.query(), true)?;
                let _permit = self.wait(request)?;
                changes::plan_destruction(&self.changes(request), (&name, key), request.id).await
            }
            Route::ReleaseTask(name) => {
                let body = self.received(request, body, BodyLimit::Large).await;
                changes::release(&self.changes(request), &name, body, request).await
            }
            Route::TerraformState(name) => {
                changes::terraform_state(&self.tasks, &name, request).await
            }
            Route::DecideState(name) => {
                let body = self.received(request, body, BodyLimit::Small).await;
                changes::decide_state(&self.changes(request), &name, body, request).await
            }
            Route::ExplainTask(name) => runs::explanation(&self.tasks, &name, request).await,
            Route::Configuration => Ok(request.id_last(self.cluster.configuration().await?)),
            Route::Queue => Ok(request.id_last(self.runs.queue().await?)),
            Route::Overview => overview::overview(&self.overviews, request).await,
            Route::CurrentStates => overview::current_states(&self.overviews, request).await,
            Route::Times => {
                let since = parameters::times(request.query())?;
                Ok(request.id_first(StatusCode::OK, self.cluster.times(since).await?))
            }
            Route::Brake => overview::brake(&self.cluster, request).await,
            Route::ReleaseBrake => {
                let body = self.received(request, body, BodyLimit::Small).await;
                changes::release_brake(&self.cluster, body, request).await
            }
            Route::DrainWorker(worker) => overview::drain(&self.workers, &worker, request).await,
            Route::Runs => runs::runs(&self.runs, request).await,
            Route::Causes => runs::causes(&self.runs, request).await,
            Route::Run(run) => runs::run(&self.runs, &run, request).await,
            Route::CancelRun(run) => {
                runs::require_visible(&self.runs, &run, request).await?;
                let body = self.received(request, body, BodyLimit::Small).await;
                runs::cancel(&self.runs, &run, body, request).await
            }
            Route::RunPlan(run) => runs::plan(&self.runs, &run, request).await,
            Route::RunInput(run) => runs::input(&self.runs, &run, request).await,
            Route::Approvals => approvals::list(&self.approvals(request), request).await,
            Route::Approval(run) => approvals::show(&self.approvals(request), &run, request).await,
            Route::Approve(run) => self.decide(&run, false, request, body).await,
            Route::Reject(run) => self.decide(&run, true, request, body).await,
            Route::ApproveSet => {
                let body = self.received(request, body, BodyLimit::Large).await;
                approvals::approve_set(&self.approvals(request), body, request).await
            }
            Route::ReopenApprovals => {
                let body = self.received(request, body, BodyLimit::Small).await;
                approvals::reopen(&self.approvals(request), body, request).await
            }
            Route::RunLog(run) => {
                runs::require_visible(&self.runs, &run, request).await?;
                streams::log::log(&self.runs, &run, self.stream(request)?, request).await
            }
            Route::Events => {
                let answer = self.stream(request)?;
                streams::events::events((&self.events, &self.cluster), answer, request).await
            }
            Route::Follow => {
                let keys = streams::follow::keys(&self.runs, request).await?;
                let permit = self.followers.acquire(request.visitor.credential());
                let permit = permit.map_err(|why| Problem::crowded(why, "streams of versions"))?;
                let answer = (self.stream(request)?, permit);
                streams::follow::versions(&self.runs, &keys, answer, request).await
            }
            Route::Audit => {
                let query = parameters::audit(request.query())?;
                Ok(request.id_first(StatusCode::OK, self.audit.records(query).await?))
            }
            Route::Document(format) => Ok(document::answer(format)),
        }
    }

    /// Refuses a request that needs a scheduler if none is healthy, as soon as that is certain.
    async fn find_scheduler(&self, route: &Route) -> Result<(), Problem> {
        if matches!(
            route,
            Route::Preflight | Route::Refused(_) | Route::Document(_) | Route::Health
        ) {
            return Ok(());
        }
        let limit = match self.schedulers.unfit() {
            Some(_) => UNFIT_LIMIT,
            None => FIND_LIMIT,
        };
        let mut schedulers = self.schedulers.healthy();
        let found = schedulers.wait_for(|healthy| !healthy.is_empty());
        match timeout(limit, found).await {
            Ok(_found_or_ended) => Ok(()),
            Err(_elapsed) => Err(Problem::without_scheduler()),
        }
    }

    /// Changes for the client of a request.
    fn changes(&self, request: &ApiRequest) -> TaskChangeClient {
        TaskChangeClient::new(self.changes.clone(), request.on_behalf())
    }

    /// Calls about consent for the client of a request.
    fn approvals(&self, request: &ApiRequest) -> ApprovalClient {
        ApprovalClient::new(self.approvals.clone(), request.on_behalf())
    }

    async fn decide(
        &self,
        run: &str,
        rejects: bool,
        request: &ApiRequest,
        body: Body,
    ) -> Result<Response, Problem> {
        let body = self.received(request, body, BodyLimit::Small).await;
        approvals::decide(&self.approvals(request), run, (rejects, body), request).await
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
        let credential = match &request.session {
            Some(session) => self.access.session_credential(session),
            None => self.access.credential(&request.head.headers),
        };
        Ok(Answer::new(&request.connection, permit, credential))
    }

    fn client(&self, request: &ApiRequest) -> Option<IpAddr> {
        let peer = request.connection.peer.ip();
        self.clients.of(peer, &request.head.headers)
    }

    /// The answer of a replica that does not lead, where those do not serve.
    async fn intercepted(&self) -> Result<Option<Response>, Problem> {
        if self.mode != Mode::StrictFollower {
            return Ok(None);
        }
        let redirection = leader::intercept(&self.cluster).await?;
        // Documented without the request's id, in both families.
        Ok(redirection.map(|problem| problem.answer(Family::Legacy)))
    }

    async fn create(&self, request: &ApiRequest, body: Body) -> Result<Response, Problem> {
        let mode = RunMode::parse(request.query())?;
        // A creation waits for its run in any mode.
        parameters::waiting_mode(request.query(), RunMode::Later)?;
        parameters::request_key(request.query(), false)?;
        let _permit = self.wait(request)?;
        let body = self.received(request, body, BodyLimit::Large).await;
        let creation = changes::read_creation(mode, body, self.names, request)?;
        match self.intercepted().await? {
            Some(answer) => Ok(answer),
            None => changes::create(&self.changes(request), creation, request.id).await,
        }
    }

    async fn replace(
        &self,
        name: &str,
        request: &ApiRequest,
        body: Body,
    ) -> Result<Response, Problem> {
        let mode = RunMode::parse_for_replacement(request.query())?;
        let mode = parameters::waiting_mode(request.query(), mode)?;
        let release = parameters::replacement_releases(request.query())?;
        parameters::request_key(request.query(), false)?;
        let _permit = self.wait(request)?;
        let body = self.received(request, body, BodyLimit::Large).await;
        let headers = &request.head.headers;
        let (replacement, revision) =
            changes::read_replacement(mode, name, headers, body, self.names)?;
        if let Some(answer) = self.intercepted().await? {
            return Ok(answer);
        }
        let calls = self.changes(request);
        changes::replace(&calls, replacement, (revision, release), request.id).await
    }

    async fn update(
        &self,
        name: &str,
        request: &ApiRequest,
        body: Body,
    ) -> Result<Response, Problem> {
        let mode = RunMode::parse_legacy(request.query())?;
        let mode = parameters::waiting_mode(request.query(), mode)?;
        let run = (mode, parameters::request_key(request.query(), true)?);
        let _permit = self.wait(request)?;
        let body = self.received(request, body, BodyLimit::Small).await;
        changes::update(&self.changes(request), name, run, body, request).await
    }

    pub(crate) async fn received(
        &self,
        request: &ApiRequest,
        body: Body,
        limit: BodyLimit,
    ) -> Received {
        let headers = &request.head.headers;
        self.read_body(&request.connection, headers, (body, limit))
            .await
    }

    /// The body of a request with these headers.
    pub(crate) async fn read_body(
        &self,
        connection: &Connection,
        headers: &HeaderMap,
        (body, limit): (Body, BodyLimit),
    ) -> Received {
        let client = self.clients.of(connection.peer.ip(), headers);
        let memory = self.bodies.none_yet(client);
        let deadline = connection.activity.body_limit();
        body::read(body, limit, memory, deadline).await
    }
}
