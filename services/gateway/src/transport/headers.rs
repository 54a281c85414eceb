//! The headers that every answer carries (docs/rest.md#headers).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue};

const ANY: HeaderValue = HeaderValue::from_static("*");
const METHODS: HeaderValue = HeaderValue::from_static("GET, PUT, PATCH, POST, DELETE");

/// The origins whose pages may read answers.
#[derive(Debug, Clone)]
pub(crate) enum ReadableBy {
    /// Every page: authentication is off.
    All,
    /// Pages of these; they send a token.
    Origins(Arc<[String]>),
}

/// Opens the API to pages of other origins.
pub(crate) async fn allow_origins(
    State(readable): State<ReadableBy>,
    request: Request,
    next: Next,
) -> Response {
    let (origin, headers) = match &readable {
        ReadableBy::All => (Some(ANY), "Content-Type"),
        ReadableBy::Origins(known) => (
            known_origin(request.headers(), known),
            "Authorization, Content-Type",
        ),
    };
    let mut response = next.run(request).await;
    let answered = response.headers_mut();
    if let Some(origin) = origin {
        answered.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let headers = HeaderValue::from_static(headers);
        answered.insert(ACCESS_CONTROL_ALLOW_HEADERS, headers);
        answered.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    }
    if let ReadableBy::Origins(_) = readable {
        answered.insert(VARY, HeaderValue::from_static("Origin"));
    }
    response
}

/// The origin of a request, if it is known.
fn known_origin(headers: &HeaderMap, known: &[String]) -> Option<HeaderValue> {
    let mut origins = headers.get_all(ORIGIN).iter();
    let (origin, None) = (origins.next()?, origins.next()) else {
        return None;
    };
    let is_known = known
        .iter()
        .any(|known| known.as_bytes() == origin.as_bytes());
    is_known.then(|| origin.clone())
}
