//! Signed addresses, which need no token.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode};

use super::incoming::Incoming;
use super::model::{Model, Signed};
use super::shared::Shared;
use super::{answer, api};

const BINARY: &str = "application/octet-stream";

/// Answers a request to a signed address. A token there is an error of the client: 400.
pub(super) fn respond(
    shared: &Arc<Shared>,
    signature: &str,
    incoming: &Incoming,
) -> Response<Body> {
    if incoming.bearer().is_some() {
        return answer::plain(StatusCode::BAD_REQUEST);
    }
    let Some(object) = shared.read(|model| model.signed.object(signature)) else {
        return answer::plain(StatusCode::FORBIDDEN);
    };
    match incoming.parts.method.as_str() {
        "PUT" => put(shared, &object, &incoming.content),
        "GET" => match shared.read(|model| content(model, &object)) {
            Some(content) => answer::bytes(StatusCode::OK, BINARY, window(content, incoming)),
            None => answer::plain(StatusCode::NOT_FOUND),
        },
        _ => answer::plain(StatusCode::METHOD_NOT_ALLOWED),
    }
}

fn put(shared: &Arc<Shared>, object: &Signed, content: &[u8]) -> Response<Body> {
    let Signed::Upload(id) = object else {
        return answer::plain(StatusCode::METHOD_NOT_ALLOWED);
    };
    let taken = shared.change(|model| api::upload_configuration(model, id, content));
    match taken {
        Ok(()) => answer::bytes(StatusCode::OK, BINARY, Bytes::new()),
        Err(refusal) => answer::refusal(&refusal),
    }
}

fn content(model: &Model, object: &Signed) -> Option<Vec<u8>> {
    match object {
        Signed::Upload(_) => None,
        Signed::PlanLog(run) => Some(model.run(run)?.plan.log.clone()),
        Signed::ApplyLog(run) => Some(model.run(run)?.apply.log.clone()),
        Signed::State(id) => {
            let mut states = model.state_versions.iter();
            Some(states.find(|state| state.id == *id)?.content.clone())
        }
    }
}

/// The part that `limit` and `offset` of the query choose.
fn window(content: Vec<u8>, incoming: &Incoming) -> Bytes {
    let query = incoming.query();
    let number = |name: &str| {
        let mut found = query.iter().filter(|(known, _)| known == name);
        found
            .next()
            .and_then(|(_, value)| value.parse::<usize>().ok())
    };
    let from = number("offset").unwrap_or(0).min(content.len());
    let length = number("limit")
        .unwrap_or(usize::MAX)
        .min(content.len() - from);
    Bytes::from(content).slice(from..from + length)
}
