//! Bodies of requests: complete, within limits of size, time and memory (docs/rest.md#transport).

use axum::body::{Body, HttpBody as _};
use cts_listen::{ClientLimit, ClientPermit, LimitReached};
use tokio::time::{Instant, timeout_at};
use tokio_stream::StreamExt as _;

/// Most bytes of the body of a request. The reference has no limit; these keep memory bounded whatever is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BodyLimit {
    /// The request may name many services, as a task or a release does: 1 MiB.
    Large,
    /// Any other request: 16 KiB.
    Small,
    /// A login, with a token of 16 KiB in the encoding of forms: 32 KiB.
    Login,
}

/// Memory of the bodies that are being read, in bytes.
pub(crate) const BODIES: ClientLimit = ClientLimit {
    total: 32 << 20,
    per_client: 8 << 20,
};

/// Memory that counts for each body, also before its first byte: a request that waits for its body takes as much.
const FIRST: usize = 32 << 10;

/// Memory that is reserved when the first bytes come.
const RESERVED: usize = 4096;

/// Why a body cannot be read. The texts are answers to clients.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the request body is larger than {0}")]
    TooLarge(&'static str),
    #[error("the request body was not complete in time")]
    TooSlow,
    #[error("the request body broke off")]
    Broken(#[source] axum::Error),
    #[error("request bodies take too much memory")]
    Crowded(LimitReached),
}

impl BodyLimit {
    const fn bytes(self) -> usize {
        match self {
            Self::Large => 1 << 20,
            Self::Small => 16 << 10,
            Self::Login => 32 << 10,
        }
    }

    const fn exceeded(self) -> BodyError {
        BodyError::TooLarge(match self {
            Self::Large => "1 MiB",
            Self::Small => "16 KiB",
            Self::Login => "32 KiB",
        })
    }
}

/// Reads all of `body` until `deadline`, and counts its memory in `memory`. A body whose declared length is too large
/// is not read at all.
pub(crate) async fn read(
    body: Body,
    limit: BodyLimit,
    mut memory: ClientPermit,
    deadline: Instant,
) -> Result<Vec<u8>, BodyError> {
    if body.size_hint().lower() > limit.bytes() as u64 {
        return Err(limit.exceeded());
    }
    let mut counted = FIRST;
    if !body.is_end_stream() {
        memory.add(FIRST).map_err(BodyError::Crowded)?;
    }
    let reading = async {
        let mut chunks = body.into_data_stream();
        let mut bytes = Vec::new();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(BodyError::Broken)?;
            let length = bytes.len() + chunk.len();
            if length > limit.bytes() {
                return Err(limit.exceeded());
            }
            if length > bytes.capacity() {
                let capacity = length.next_power_of_two().max(RESERVED);
                let more = capacity.saturating_sub(counted);
                memory.add(more).map_err(BodyError::Crowded)?;
                counted += more;
                bytes.reserve_exact(capacity - bytes.len());
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    };
    timeout_at(deadline, reading)
        .await
        .unwrap_or(Err(BodyError::TooSlow))
}
