//! The identity of each request and its two log lines (docs/rest.md#request-ids-and-the-log).
//!
//! Texts of the client are recorded as strings, never as `Display`: so every subscriber quotes them
//! and none of them can pass for a line or a field of its own. The subscriber adds `time`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header;
use tokio::time::Instant;
use tracing::Level;

use crate::options::RequestIds;
use crate::request_id::RequestId;
use crate::transport::connection::Connection;

/// Target of the log lines.
const TARGET: &str = "api";

/// How requests are identified and logged.
#[derive(Clone)]
pub(crate) struct Observed {
    pub(crate) request_ids: RequestIds,
    /// Queries of paths that begin with this text are not logged, because they may have secrets; `None` if all are.
    pub(crate) secret_queries: Option<Arc<str>>,
}

/// Gives the request its id, logs the request, and suspends the time limits of its connection for that time.
pub(crate) async fn observe(
    State(observed): State<Observed>,
    Extension(connection): Extension<Connection>,
    mut request: Request,
    next: Next,
) -> Response {
    let answering = connection.activity.answering();
    let id = RequestId((observed.request_ids)());
    request.extensions_mut().insert(id);
    let is_logged =
        tracing::enabled!(target: TARGET, Level::DEBUG) && *request.uri() != "/v1/health";
    if is_logged {
        log_arrival(
            id,
            &connection,
            &request,
            observed.secret_queries.as_deref(),
        );
    }
    let start = Instant::now();
    let response = next.run(request).await;
    if is_logged {
        tracing::debug!(
            target: TARGET,
            request_id = %id,
            duration = %format_args!("{}us", start.elapsed().as_micros()),
            status_code = response.status().as_u16(),
            "request answered"
        );
    }
    drop(answering);
    response
}

fn log_arrival(
    id: RequestId,
    connection: &Connection,
    request: &Request,
    secret_queries: Option<&str>,
) {
    let path = request.uri().path();
    let uri = if secret_queries.is_some_and(|secret| path.starts_with(secret)) {
        path.to_owned()
    } else {
        request.uri().to_string()
    };
    let host = request
        .headers()
        .get(header::HOST)
        .map(|host| String::from_utf8_lossy(host.as_bytes()));
    tracing::debug!(
        target: TARGET,
        remote_ip = %connection.peer.ip(),
        uri,
        method = request.method().as_str(),
        host = host.as_deref().unwrap_or_default(),
        request_id = %id,
        "request received"
    );
}
