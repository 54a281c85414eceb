//! Answers of HTTP.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use futures::stream;
use serde_json::Value;
use tokio::time::sleep;

use super::call::{Refusal, Reply};
use super::rates::Allowance;
use super::settings::Flavour;

pub(super) const JSON_API: &str = "application/vnd.api+json";
/// Time for the first half of a cut answer to be on its way.
const HALF: Duration = Duration::from_millis(50);

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
    let mut response = if let Some(body) = &reply.body {
        bytes(reply.status, JSON_API, body.to_string())
    } else {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = reply.status;
        response
    };
    if let Some(location) = &reply.location {
        set(&mut response, LOCATION, location);
    }
    response
}

pub(super) fn refusal(refusal: &Refusal) -> Response<Body> {
    bytes(refusal.status, JSON_API, refusal.document().to_string())
}

pub(super) fn limited(mut response: Response<Body>, allowance: &Allowance) -> Response<Body> {
    let reset = format!("{:.3}", allowance.reset.as_secs_f64());
    let headers = [
        ("x-ratelimit-limit", allowance.limit.to_string()),
        ("x-ratelimit-remaining", allowance.remaining.to_string()),
        ("x-ratelimit-reset", reset),
    ];
    for (name, value) in headers {
        set(&mut response, HeaderName::from_static(name), &value);
    }
    response
}

pub(super) fn name_product(response: &mut Response<Body>, flavour: Flavour) {
    let version = HeaderName::from_static("tfp-api-version");
    set(
        response,
        version,
        if flavour == Flavour::Hcp {
            "2.6"
        } else {
            "2.5"
        },
    );
    if flavour == Flavour::Hcp {
        set(
            response,
            HeaderName::from_static("tfp-appname"),
            "HCP Terraform",
        );
    }
}

/// The answer with half of its body, after which the connection ends.
pub(super) async fn cut(response: Response<Body>) -> Response<Body> {
    let (parts, body) = response.into_parts();
    let whole = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let half = whole.slice(..whole.len() / 2);
    let pieces = stream::unfold(0, move |step| {
        let half = half.clone();
        async move {
            if step == 0 {
                return Some((Ok(half), 1));
            }
            sleep(HALF).await;
            Some((Err(io::Error::from(io::ErrorKind::ConnectionReset)), 2))
        }
    });
    let mut response = Response::from_parts(parts, Body::from_stream(pieces));
    // One byte more than an empty body has, so that it is cut, too.
    set(
        &mut response,
        CONTENT_LENGTH,
        &whole.len().max(1).to_string(),
    );
    response
}

fn set(response: &mut Response<Body>, name: HeaderName, value: &str) {
    let value = HeaderValue::from_str(value);
    let value = value.unwrap_or_else(|error| panic!("{name}: {error}"));
    response.headers_mut().insert(name, value);
}
