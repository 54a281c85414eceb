//! The page of the gateway: its routes, logins and answers (docs/page.md). `cts_page` renders it.
//!
//! Requests below the prefix come here before the API sees them, outside of its headers for other origins. `target`
//! takes the path apart, `service` finds out who makes the request, `screens` and `login` answer it, and `api_calls`
//! calls the handlers of the API with the rights of the person. `response` has the headers of every answer.

mod api_calls;
mod issuer_login;
mod login;
mod response;
mod screens;
mod service;
mod shared_fragments;
mod target;
mod way;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Router};
use cts_page::asset;
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE, REFRESH};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use tokio::time::Instant;
use tower::ServiceExt as _;

use self::api_calls::ApiCalls;
use self::response::{Content, mark_as_immutable, moved, sealed, see_other};
pub(crate) use self::service::PageService;
use self::service::{BrowserRequest, Person};
use self::target::Target;
use crate::authorization::visitor::Visitor;
use crate::body::BodyLimit;
use crate::options::RequestIds;
use crate::problem::{Family, Problem, refuse};
use crate::request_id::RequestId;
use crate::route::MissingEndpoint;
use crate::transport::browsers::Listened;
use crate::transport::connection::Connection;
use crate::transport::request_log::{Observed, observe};

/// Content type of the forms of the page.
const FORM: &str = "application/x-www-form-urlencoded";

/// Seconds after which a browser loads a screen again that no scheduler could answer for.
const AGAIN: HeaderValue = HeaderValue::from_static("5");

/// The message to a person who sends a form after the end of the session.
const LOGGED_OUT: &str = "Nothing was changed, because your login has ended. Log in again, then go back and send the form once more.";

/// The page alone. Requests must carry their `Connection` as an extension.
pub(crate) fn router(page: Arc<PageService>, request_ids: RequestIds) -> Router {
    // The address to return to after a login may be a secret, and so is what an issuer adds.
    let secret_queries = Some(format!("{}login", page.prefix()).into());
    let observed = Observed {
        request_ids,
        secret_queries,
    };
    Router::new()
        .fallback(dispatch)
        .with_state(page)
        .layer(from_fn_with_state(observed, observe))
}

/// The API with the page in front of it: `page` gets the requests that are for it.
pub(crate) fn in_front_of(api: Router, page: Router, prefix: &str) -> Router {
    let state = (page, Arc::<str>::from(prefix));
    api.layer(from_fn_with_state(state, answer_or_pass))
}

async fn answer_or_pass(
    State((page, prefix)): State<(Router, Arc<str>)>,
    request: Request,
    next: Next,
) -> Response {
    let is_for_page = match Target::of(&prefix, request.method(), request.uri().path()) {
        Target::Elsewhere => false,
        Target::Root => wants_page(request.method(), request.headers()),
        _ => true,
    };
    if is_for_page {
        let Ok(answer) = page.oneshot(request).await;
        answer
    } else {
        next.run(request).await
    }
}

/// Whether a request for `/` comes from a browser that wants to show a document.
fn wants_page(method: &Method, headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter();
    matches!(*method, Method::GET | Method::HEAD)
        && accepted.any(|value| {
            value
                .to_str()
                .is_ok_and(|value| value.contains("text/html"))
        })
}

async fn dispatch(
    State(page): State<Arc<PageService>>,
    Extension(id): Extension<RequestId>,
    Extension(connection): Extension<Connection>,
    Extension(listened): Extension<Listened>,
    request: Request,
) -> Response {
    let begun = Instant::now();
    let (head, body) = request.into_parts();
    let (method, path) = (head.method.clone(), head.uri.path().to_owned());
    let target = Target::of(page.prefix(), &method, &path);
    let request = page.request(head, id, connection, listened);
    let answer = Box::pin(answer(&page, &request, target, body)).await;
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(problem) => {
            let problem = page.app.explained(problem, id).await;
            refused(&page, &request, target, &problem)
        }
    };
    let (status, took) = (answer.status(), begun.elapsed());
    if status == StatusCode::SERVICE_UNAVAILABLE
        && matches!(target, Target::Screen(_))
        && !screens::is_fragment(&request)
    {
        answer.headers_mut().insert(REFRESH, AGAIN);
    }
    let metrics = &page.app.metrics;
    metrics.answered(&method, target.label(), status, took);
    sealed(answer)
}

async fn answer(
    page: &PageService,
    request: &BrowserRequest,
    target: Target<'_>,
    body: Body,
) -> Result<Response, Problem> {
    let check = || -> Result<(), Problem> {
        request
            .listened
            .check_host(&page.app.browsers, &request.head)?;
        match request.head.method {
            Method::POST => page.check_origin(request),
            _ => Ok(()),
        }
    };
    check().inspect_err(|problem| {
        let visitor = &Visitor::default();
        page.app.access.note(visitor, &request.summary(), problem);
    })?;
    match target {
        Target::Root if wants_page(&request.head.method, &request.head.headers) => {
            Ok(see_other(page.prefix(), page.prefix()))
        }
        Target::Root | Target::Elsewhere => Ok(missing(&request.head.method)),
        Target::Prefix => {
            let query = request.head.uri.query();
            let query = query.map_or_else(String::new, |query| format!("?{query}"));
            let address = format!("{}{query}", page.prefix());
            Ok(moved(&address, page.prefix()))
        }
        Target::OtherMethod(allowed) => {
            Ok((StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, allowed)]).into_response())
        }
        Target::Asset(path) => Ok(asset_answer(request, path)),
        Target::LogIn => {
            let form = form(page, request, body, BodyLimit::Login).await?;
            login::log_in(page, request, &form).await
        }
        Target::LoginForm => {
            // The form is also for a person whose session cannot be looked for.
            let person = page.person(request).await.unwrap_or_default();
            Ok(login::form(page, request, person.as_ref()))
        }
        Target::LoginStart => issuer_login::start(page, request).await,
        Target::LoginCallback => issuer_login::finish(page, request).await,
        Target::LogOut => {
            let person = page.person(request).await?;
            login::log_out(page, request, person.as_ref()).await
        }
        Target::Stream(_) | Target::RawLog(_) | Target::Screen(_) | Target::Action(_) => {
            match page.person(request).await? {
                Some(person) => personal(page, request, &person, target, body).await,
                None => Ok(before_login(page, request, target)),
            }
        }
    }
}

/// The answer to a person that is known.
async fn personal(
    page: &PageService,
    request: &BrowserRequest,
    person: &Person,
    target: Target<'_>,
    body: Body,
) -> Result<Response, Problem> {
    let calls = ApiCalls::new(page, request, person);
    let streamed = match target {
        Target::Stream(path) => {
            let path = format!("/v1/{path}?{}", request.query());
            calls.stream(&path).await
        }
        Target::RawLog(run) => calls.raw_log(run).await,
        Target::Action(path) => {
            let form = form(page, request, body, BodyLimit::Large).await?;
            return Ok(screens::action(page, request, person, (path, &form)).await);
        }
        Target::Screen(path) => return Ok(screens::screen(page, request, person, path).await),
        _ => Ok(missing(&request.head.method)),
    };
    streamed.inspect_err(|problem| {
        let access = &page.app.access;
        access.note(&person.visitor, &request.summary(), problem);
    })
}

/// The answer before the login: documents lead to it, and scripts say so.
fn before_login(page: &PageService, request: &BrowserRequest, target: Target<'_>) -> Response {
    if let Target::Screen(path) = target
        && !screens::is_fragment(request)
    {
        let address = login::address(page, path, request.query());
        return see_other(&address, page.prefix());
    }
    let problem = Problem::unauthenticated("before the login");
    let visitor = Visitor::default();
    page.app.access.note(&visitor, &request.summary(), &problem);
    match target {
        Target::Action(_) => {
            let reason = (StatusCode::UNAUTHORIZED, LOGGED_OUT);
            let address = login::address(page, "", "");
            let link = format!("<p><a href=\"{address}\" target=\"_blank\">Log in</a></p>");
            screens::message(page, request, reason, link)
        }
        _ => problem.answer(Family::New(request.id)),
    }
}

/// The fields of a form, as sent.
async fn form(
    page: &PageService,
    request: &BrowserRequest,
    body: Body,
    limit: BodyLimit,
) -> Result<Vec<u8>, Problem> {
    let headers = &request.head.headers;
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    if !kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case(FORM)) {
        return Err(Problem::bad_request(&format!("the form must be {FORM}")));
    }
    let received = page
        .app
        .read_body(&request.connection, headers, (body, limit));
    let received = received.await;
    received.map_err(|error| Problem::without_body(&error, StatusCode::BAD_REQUEST))
}

fn asset_answer(request: &BrowserRequest, path: &str) -> Response {
    let Some(asset) = asset(path) else {
        return missing(&Method::GET);
    };
    let content = Content::new(asset.content_type, asset.content);
    let mut answer = content.answer(StatusCode::OK, &request.head.headers);
    mark_as_immutable(&mut answer);
    answer
}

fn refused(
    page: &PageService,
    request: &BrowserRequest,
    target: Target<'_>,
    problem: &Problem,
) -> Response {
    let answer = problem.answer(Family::New(request.id));
    if !target.is_document() || screens::is_fragment(request) {
        return answer;
    }
    // With the headers of the problem, such as the time to wait.
    let (head, _json) = answer.into_parts();
    let reason = (problem.status(), problem.message());
    let mut document = screens::message(page, request, reason, String::new());
    for (name, value) in &head.headers {
        if !document.headers().contains_key(name) && *name != http::header::CONTENT_LENGTH {
            document.headers_mut().insert(name, value.clone());
        }
    }
    document
}

fn missing(method: &Method) -> Response {
    refuse(&MissingEndpoint::UnknownPath, method)
}
