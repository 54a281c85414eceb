//! Calls of the API that the page makes for a person, without a connection in between: the same handlers answer them.
//!
//! The log has the request for the page, and metrics count it; calls are in neither. A refused change is an audit record
//! under the path of the API. Refused readings are not: a screen makes them on its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use axum::body::{Body, Bytes, to_bytes};
use axum::response::{IntoResponse as _, Response};
use cts_core::TraceContext;
use cts_page::{Api, ApiAnswer, ApiCall};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode, Uri};

use super::service::{BrowserRequest, PageService, Person};
use crate::api_request::ApiRequest;
use crate::authorization::RequestSummary;
use crate::endpoint::endpoint;
use crate::problem::{Family, Problem};
use crate::request_span::RequestSpan;
use crate::route::{Route, resolve};
use crate::transport::clients::FORWARDED_HEADERS;

/// Most bytes of an answer that the page takes.
const ANSWER: usize = 64 << 20;

/// Calls for one request of a person.
pub(super) struct ApiCalls<'a> {
    pub(super) service: &'a PageService,
    pub(super) request: &'a BrowserRequest,
    pub(super) person: &'a Person,
    has_failed: AtomicBool,
}

impl<'a> ApiCalls<'a> {
    pub(super) fn new(
        service: &'a PageService,
        request: &'a BrowserRequest,
        person: &'a Person,
    ) -> Self {
        Self {
            service,
            request,
            person,
            has_failed: AtomicBool::new(false),
        }
    }

    /// Whether the answer to a call was the error of a server, which may soon be over.
    pub(super) fn have_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// The answer of the API at `path`, passed on with its stream. It ends with the session.
    pub(super) async fn stream(&self, path: &str) -> Result<Response, Problem> {
        let request = self.api_request(Method::GET, uri(path)?);
        let route = resolve(&request.head.method, request.head.uri.path());
        let app = &self.service.app;
        app.answer_known(route, &request, Body::empty()).await
    }

    /// The whole log of a run as a file.
    pub(super) async fn raw_log(&self, run: &str) -> Result<Response, Problem> {
        let path = format!("/v1/runs/{run}/log?format=text");
        let mut answer = self.stream(&path).await?;
        if !answer.status().is_success() {
            return Ok(answer);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let name: String = run.chars().filter(|c| is_plain(*c)).collect();
        let disposition = format!("attachment; filename=\"run-{name}.log\"");
        if let Ok(disposition) = HeaderValue::try_from(disposition) {
            answer
                .headers_mut()
                .insert(CONTENT_DISPOSITION, disposition);
        }
        Ok(answer)
    }

    async fn respond(&self, call: ApiCall) -> Response {
        let (app, id) = (&self.service.app, self.request.id);
        let target = match uri(&call.path) {
            Ok(target) => target,
            Err(problem) => return problem.answer(Family::New(id)),
        };
        let mut request = self.api_request(call.method, target);
        let route = resolve(&request.head.method, request.head.uri.path());
        if matches!(route, Route::Events | Route::Follow | Route::Preflight) {
            // These have no body that ends.
            return StatusCode::NOT_IMPLEMENTED.into_response();
        }
        let family = endpoint(&route).family(id);
        let span = RequestSpan::begin(&app.traces, &route, &request.head);
        request.trace = span.as_ref().map(RequestSpan::context);
        let body = call.body.map_or_else(Body::empty, |body| {
            let json = HeaderValue::from_static("application/json");
            request.head.headers.insert(CONTENT_TYPE, json);
            Body::from(body)
        });
        let answer = match app.answer_known(route, &request, body).await {
            Ok(answer) => answer,
            Err(problem) => {
                let problem = app.explained(problem, id).await;
                if request.head.method != Method::GET {
                    let summary = RequestSummary {
                        method: request.head.method.clone(),
                        uri: request.head.uri.clone(),
                        ..self.request.summary()
                    };
                    app.access.note(&self.person.visitor, &summary, &problem);
                }
                problem.answer(family)
            }
        };
        if let Some(span) = span {
            span.answered(&app.traces, answer.status());
        }
        answer
    }

    /// A request of the API with the rights of the person. Of the headers only those come along that name the client;
    /// neither a cookie nor a token does.
    fn api_request(&self, method: Method, uri: Uri) -> ApiRequest {
        let request = self.request;
        let (mut head, ()) = http::Request::new(()).into_parts();
        head.method = method;
        head.uri = uri;
        for name in FORWARDED_HEADERS {
            for value in request.head.headers.get_all(&name) {
                head.headers.append(&name, value.clone());
            }
        }
        ApiRequest {
            head,
            connection: request.connection.clone(),
            visitor: self.person.visitor.clone(),
            session: self.person.session.clone(),
            address: request.address,
            id: request.id,
            trace: None::<TraceContext>,
            local_time: Arc::clone(&self.service.app.local_time),
        }
    }
}

#[async_trait]
impl Api for ApiCalls<'_> {
    async fn call(&self, call: ApiCall) -> ApiAnswer {
        let answer = self.respond(call).await;
        let (status, body) = (answer.status(), answer.into_body());
        let (status, body) = match to_bytes(body, ANSWER).await {
            Ok(body) => (status, body),
            Err(_broken_off) => (StatusCode::BAD_GATEWAY, Bytes::new()),
        };
        if status.is_server_error() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        ApiAnswer { status, body }
    }
}

fn uri(path: &str) -> Result<Uri, Problem> {
    path.parse()
        .map_err(|_invalid| Problem::bad_request(&"the path has an error"))
}
