//! The way of a request: it is written down, faults strike, then it is answered.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Request, Response, StatusCode};
use serde_json::json;
use tokio::time::sleep;

use super::call::RefusedCall;
use super::faults::{FaultKind, HcpRequest, next_fault};
use super::incoming::Incoming;
use super::model::SignedAddresses;
use super::settings::BASE_PATH;
use super::shared::Shared;
use super::{answer, archive};

const DISCOVERY: &str = "/.well-known/terraform.json";

/// Which addresses a port serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    /// The API and its discovery.
    Api,
    /// Signed addresses.
    Archive,
}

/// The connection is closed without an answer.
#[derive(Debug)]
pub(super) struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the test has closed the connection")
    }
}

impl std::error::Error for Closed {}

pub(super) async fn pass(
    shared: Arc<Shared>,
    door: Door,
    request: Request<hyper::body::Incoming>,
) -> Result<Response<Body>, Closed> {
    let (parts, body) = request.into_parts();
    let content = to_bytes(Body::new(body), usize::MAX).await;
    let content = content.map_err(|_broken| Closed)?;
    let base = BASE_PATH.trim_end_matches('/');
    let below = parts.uri.path().strip_prefix(base).map(str::to_owned);
    let incoming = Incoming {
        body: serde_json::from_slice(&content).unwrap_or_default(),
        parts,
        content,
        below: below.filter(|path| path.starts_with('/') && door != Door::Archive),
    };
    let method = incoming.parts.method.as_str();
    shared.requests.lock().push(HcpRequest {
        method: method.to_owned(),
        path: incoming.path().to_owned(),
    });
    let fault = next_fault(&mut shared.faults.lock(), method, incoming.path());
    match fault {
        Some(FaultKind::Delay(delay)) => sleep(delay).await,
        Some(FaultKind::Status(status)) => return Ok(answer::plain(status)),
        Some(FaultKind::LoseAnswer) | None => {}
    }
    let response = respond(&shared, door, &incoming);
    match fault {
        Some(FaultKind::LoseAnswer) => Err(Closed),
        _ => Ok(response),
    }
}

fn respond(shared: &Arc<Shared>, door: Door, incoming: &Incoming) -> Response<Body> {
    let path = incoming.parts.uri.path();
    let signature = path.strip_prefix(SignedAddresses::PATH);
    match (door, signature, &incoming.below) {
        (Door::Archive, Some(signature), _) => archive::respond(shared, signature, incoming),
        (Door::Api, _, _) if path == DISCOVERY => answer::json(
            StatusCode::OK,
            &json!({"tfe.v2": BASE_PATH, "state.v2": BASE_PATH}),
        ),
        (Door::Api, _, Some(below)) => api(shared, incoming, below),
        _ => answer::plain(StatusCode::NOT_FOUND),
    }
}

fn api(shared: &Arc<Shared>, incoming: &Incoming, path: &str) -> Response<Body> {
    let caller = incoming
        .bearer()
        .and_then(|token| shared.read(|model| model.tokens.get(token).cloned()));
    let Some(caller) = caller else {
        return answer::refusal(&RefusedCall::unauthorized());
    };
    let answered = readable(incoming).and_then(|()| {
        let method = incoming.parts.method.clone();
        shared.call(method, path, &incoming.query(), &incoming.body, &caller)
    });
    match &answered {
        Ok(reply) => answer::reply(reply),
        Err(refusal) => answer::refusal(refusal),
    }
}

/// Refuses a body that is not JSON:API.
fn readable(incoming: &Incoming) -> Result<(), RefusedCall> {
    if incoming.content.is_empty() {
        return Ok(());
    }
    let kind = incoming.parts.headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind != answer::JSON_API {
        return Err(RefusedCall::media_type());
    }
    if incoming.body.is_object() {
        Ok(())
    } else {
        Err(RefusedCall::bad_request("The body is not a JSON object."))
    }
}
