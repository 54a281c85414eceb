//! Answers of HTTP.

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use serde_json::Value;

use super::call::{RefusedCall, Reply};

pub(super) const JSON_API: &str = "application/vnd.api+json";

pub(super) fn plain(status: StatusCode) -> Response<Body> {
    bytes(status, "text/html", format!("<h1>{status}</h1>\n"))
}

pub(super) fn bytes(status: StatusCode, kind: &str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from(body.into()));
    *response.status_mut() = status;
    set(&mut response, CONTENT_TYPE, kind);
    response
}

pub(super) fn json(status: StatusCode, body: &Value) -> Response<Body> {
    bytes(status, "application/json", body.to_string())
}

pub(super) fn reply(reply: &Reply) -> Response<Body> {
    if let Some(body) = &reply.body {
        return bytes(reply.status, JSON_API, body.to_string());
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = reply.status;
    response
}

pub(super) fn refusal(refusal: &RefusedCall) -> Response<Body> {
    bytes(refusal.status, JSON_API, refusal.document().to_string())
}

fn set(response: &mut Response<Body>, name: HeaderName, value: &str) {
    let value = HeaderValue::from_str(value);
    let value = value.unwrap_or_else(|error| panic!("{name}: {error}"));
    response.headers_mut().insert(name, value);
}
