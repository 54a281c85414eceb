//! Connections that are not served, and the answers that name the reason (docs/rest.md#limits).

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use cts_core::ErrorCode;
use cts_listen::{ClientLimit, ClientLimiter, ClientPermit, LimitReached, client_key};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::json;
use crate::model::{CodedError, ErrorAnswer};
use crate::problem::RETRY_AFTER;

/// Time for the peer to take an answer before the connection is closed.
const REJECTION_LIMIT: Duration = Duration::from_secs(1);

/// Longest pause of a peer that is still sending its request.
const PAUSE_LIMIT: Duration = Duration::from_secs(1);

/// Answers to connections beyond the limits; more than these are just closed.
const REJECTIONS: ClientLimit = ClientLimit {
    total: 64,
    per_client: 8,
};

/// Answers clients of plain HTTP with the reason why they are not served.
#[derive(Debug)]
pub(crate) struct Rejections(ClientLimiter);

impl Rejections {
    pub(crate) fn new() -> Self {
        Self(ClientLimiter::new(REJECTIONS))
    }

    /// Permit for one more answer.
    pub(crate) fn acquire(&self, peer: IpAddr) -> Option<ClientPermit> {
        self.0.acquire(client_key(peer)).ok()
    }
}

/// Answers whatever request comes, and ends.
pub(crate) async fn refuse(mut stream: TcpStream, why: LimitReached, permit: ClientPermit) {
    let status = match why {
        LimitReached::Total => "503 Service Unavailable",
        LimitReached::Client => "429 Too Many Requests",
    };
    let body = json::line(&ErrorAnswer {
        error: CodedError {
            code: ErrorCode::TooManyRequests.as_str(),
            message: &format!("no connection is free: {why}"),
        },
        request_id: None,
    });
    let head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\nContent-Type: application/json\r\nRetry-After: {RETRY_AFTER}\r\n\r\n",
        body.len()
    );
    let answer = [head.as_bytes(), &body].concat();
    drop(say_and_end(&mut stream, &answer, REJECTION_LIMIT).await);
    drop(permit);
}

/// Sends `bytes` and closes the connection, whatever the peer has sent. The rest of its request is read until
/// `limit`.
pub(crate) async fn say_and_end(
    stream: &mut TcpStream,
    bytes: &[u8],
    limit: Duration,
) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.shutdown().await?;
    // Closing with unread bytes would reset the connection, and the answer might be lost.
    let mut rest = [0; 4096];
    let reading =
        async { while let Ok(Ok(1..)) = timeout(PAUSE_LIMIT, stream.read(&mut rest)).await {} };
    drop(timeout(limit, reading).await);
    Ok(())
}
