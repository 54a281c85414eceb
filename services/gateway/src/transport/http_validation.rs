//! Requests that the reference's HTTP server answers before the API sees them: they get no CORS headers and
//! are not logged (docs/rest.md#transport). Requests that hyper cannot read at all do not get here.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{Method, StatusCode, Version, header};

use crate::original::percent::{Plus, decode};

/// Answers invalid requests and passes on all other requests.
pub(crate) async fn answer_or_pass(request: Request, next: Next) -> Response {
    if let Some(problem) = problem(&request) {
        let headers = [
            (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
            (header::CONNECTION, "close"),
        ];
        let text = format!("400 Bad Request: {problem}");
        return (StatusCode::BAD_REQUEST, headers, text).into_response();
    }
    if *request.method() == Method::OPTIONS && request.uri().path() == "*" {
        return StatusCode::OK.into_response();
    }
    next.run(request).await
}

fn problem(request: &Request) -> Option<&'static str> {
    let hosts = request.headers().get_all(header::HOST).iter().count();
    if hosts > 1 {
        return Some("more than one Host header");
    }
    if hosts == 0 && request.version() == Version::HTTP_11 && *request.method() != Method::CONNECT {
        return Some("the Host header is missing");
    }
    if decode(request.uri().path(), Plus::Itself).is_none() {
        return Some("the path contains an invalid escape");
    }
    None
}
