//! The identity of each request and its two log lines (docs/rest.md#request-ids-and-the-log).
//!
//! Texts of the client are recorded as strings, never as `Display`: so every subscriber quotes them
//! and none of them can pass for a line or a field of its own. The subscriber adds `time`.

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

/// Gives the request its id, logs the request, and suspends the time limits of its connection for that time.
pub(crate) async fn observe(
    State(request_ids): State<RequestIds>,
    Extension(connection): Extension<Connection>,
    mut request: Request,
    next: Next,
) -> Response {
    let answering = connection.activity.answering();
    let id = RequestId(request_ids());
    request.extensions_mut().insert(id);
    let is_logged =
        tracing::enabled!(target: TARGET, Level::DEBUG) && *request.uri() != "/v1/health";
    if is_logged {
        log_arrival(id, &connection, &request);
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

fn log_arrival(id: RequestId, connection: &Connection, request: &Request) {
    let host = request
        .headers()
        .get(header::HOST)
        .map(|host| String::from_utf8_lossy(host.as_bytes()));
    tracing::debug!(
        target: TARGET,
        remote_ip = %connection.peer.ip(),
        uri = request.uri().to_string(),
        method = request.method().as_str(),
        host = host.as_deref().unwrap_or_default(),
        request_id = %id,
        "request received"
    );
}
