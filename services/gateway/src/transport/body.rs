//! Bodies of requests: complete, within limits of size and time (docs/rest.md#transport).

use axum::body::{Body, HttpBody as _};
use tokio::time::{Instant, timeout_at};
use tokio_stream::StreamExt as _;

/// Most bytes of a body. The reference has no limit; this one keeps memory bounded whatever is sent.
pub(crate) const BODY_LIMIT: usize = 1024 * 1024;

/// Why a body cannot be read. The texts are answers to clients.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the request body is larger than 1 MiB")]
    TooLarge,
    #[error("the request body was not complete in time")]
    TooSlow,
    #[error("the request body broke off")]
    Broken(#[source] axum::Error),
}

/// Reads all of `body` until `limit`. A body whose declared length is too large is not read at all.
pub(crate) async fn read(body: Body, limit: Instant) -> Result<Vec<u8>, BodyError> {
    if body.size_hint().lower() > BODY_LIMIT as u64 {
        return Err(BodyError::TooLarge);
    }
    let reading = async {
        let mut chunks = body.into_data_stream();
        let mut bytes = Vec::new();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(BodyError::Broken)?;
            if bytes.len() + chunk.len() > BODY_LIMIT {
                return Err(BodyError::TooLarge);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    };
    timeout_at(limit, reading)
        .await
        .unwrap_or(Err(BodyError::TooSlow))
}
