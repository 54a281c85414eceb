//! Heads of HTTP/1.1 that are not complete. No library of HTTP sends them.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, split};
use tokio::time::sleep;

use crate::strangers::{PAUSE, Stranger};

const BEGINNING: &str = "GET /v1/status HTTP/1.1\r\nHost: localhost\r\nX-Long: ";

/// Bytes that the API takes without the end of the head.
const ALLOWED: usize = 31 << 10;

/// More than any server takes.
const HUGE: usize = 1 << 20;

/// Holds a head of the longest length.
pub(super) async fn open(stranger: Stranger, api: SocketAddr) {
    let rest = Parts {
        length: 1,
        pause: PAUSE,
    };
    stranger
        .again(PAUSE, async || send(&stranger, api, ALLOWED, rest).await)
        .await;
}

/// Sends a head byte by byte.
pub(super) async fn slow(stranger: Stranger, api: SocketAddr) {
    let rest = Parts {
        length: 1,
        pause: Duration::from_millis(200),
    };
    stranger
        .again(PAUSE, async || send(&stranger, api, 0, rest).await)
        .await;
}

/// Sends more than a head may have.
pub(super) async fn huge(stranger: Stranger, api: SocketAddr) {
    let rest = Parts {
        length: 16 << 10,
        pause: Duration::from_millis(20),
    };
    stranger
        .again(PAUSE, async || send(&stranger, api, 0, rest).await)
        .await;
}

#[derive(Debug, Clone, Copy)]
struct Parts {
    length: usize,
    pause: Duration,
}

/// Sends the beginning of a head, then the rest in parts, until the server answers or ends the connection.
async fn send(stranger: &Stranger, api: SocketAddr, first: usize, rest: Parts) -> Result<()> {
    let (mut answer, mut request) = split(stranger.http1(api).await?);
    let sending = async {
        request.write_all(BEGINNING.as_bytes()).await?;
        request.write_all(&vec![b'x'; first]).await?;
        request.flush().await?;
        let part = vec![b'x'; rest.length];
        for _ in 0..HUGE / rest.length {
            sleep(rest.pause).await;
            request.write_all(&part).await?;
            request.flush().await?;
        }
        anyhow::Ok(())
    };
    tokio::select! {
        sent = sending => sent,
        read = answer.read_u8() => Ok(read.map(drop)?),
    }
}
