//! Connections over HTTP/2, with many calls or none.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures::future::join_all;
use h2::client::{Builder, SendRequest};
use http::Request;
use http::request::Builder as RequestBuilder;
use tokio::time::sleep;

use crate::strangers::{PAUSE, Stranger};

/// Calls of one connection that wait or last at once: more than a server may take.
const CALLS: usize = 150;

/// Bodies of one connection.
const BODIES: usize = 95;

/// Large bodies of one connection.
const LARGE_BODIES: usize = 2;

/// Time after which a call that was refused is made again.
const CALL_PAUSE: Duration = Duration::from_secs(10);

/// The beginning of paths of the API.
const API: &str = "/v1/";

/// Bytes of a head that is too large.
const HEAD: usize = 60 << 10;

/// Requests with such a head on one connection.
const HEADS: usize = 8;

/// A token that does not exist.
const WRONG: &str = "Bearer cts_wrong";

/// A message of gRPC without content.
const EMPTY: Bytes = Bytes::from_static(&[0; 5]);

/// The content of bodies: blanks, which neither JSON nor gRPC refuses before the end.
static BLANKS: [u8; 64 << 10] = [b' '; 64 << 10];

/// Bodies of one connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Upload {
    path: &'static str,
    count: usize,
    size: usize,
    part: usize,
    pause: Duration,
}

impl Upload {
    /// Bodies of 1 MiB each, sent in less than the time for a request.
    pub(super) const fn slow(path: &'static str) -> Self {
        Self {
            path,
            count: BODIES,
            size: 1 << 20,
            part: 16 << 10,
            pause: Duration::from_millis(200),
        }
    }

    /// Bodies of 16 MiB each, sent as fast as the server takes them.
    pub(super) const fn large(path: &'static str) -> Self {
        Self {
            path,
            count: LARGE_BODIES,
            size: 16 << 20,
            part: BLANKS.len(),
            pause: Duration::from_millis(5),
        }
    }
}

/// Holds a connection without a call.
pub(super) async fn idle(stranger: Stranger, address: SocketAddr) {
    let nothing = async |_client| std::future::pending().await;
    let hold = async || on_connection(&stranger, address, nothing).await;
    stranger.again(PAUSE, hold).await;
}

/// Keeps a connection full of calls of `Health/Watch`.
pub(super) async fn watch(stranger: Stranger, address: SocketAddr) {
    let all = async |client: SendRequest<Bytes>| {
        let call = || async {
            loop {
                if one_watch(&stranger, client.clone())
                    .await
                    .is_err_and(|error| ends(&error))
                {
                    return;
                }
                sleep(CALL_PAUSE).await;
            }
        };
        drop(join_all((0..CALLS).map(|_| call())).await);
    };
    let hold = async || on_connection(&stranger, address, all).await;
    stranger.again(PAUSE, hold).await;
}

/// Keeps a connection full of bodies.
pub(super) async fn uploads(stranger: Stranger, address: SocketAddr, upload: Upload) {
    let all = async |client: SendRequest<Bytes>| {
        let body = || async {
            loop {
                let sent = one_upload(&stranger, client.clone(), upload).await;
                if sent.is_err_and(|error| ends(&error)) {
                    return;
                }
                sleep(CALL_PAUSE).await;
            }
        };
        drop(join_all((0..upload.count).map(|_| body())).await);
    };
    let hold = async || on_connection(&stranger, address, all).await;
    stranger.again(PAUSE, hold).await;
}

/// Keeps a connection full of requests with a wrong token, whose answers come late.
pub(super) async fn guess(stranger: Stranger, api: SocketAddr) {
    let all = async |client: SendRequest<Bytes>| {
        let request = || async {
            while !one_guess(&stranger, client.clone())
                .await
                .is_err_and(|error| ends(&error))
            {
                sleep(CALL_PAUSE).await;
            }
        };
        drop(join_all((0..CALLS).map(|_| request())).await);
    };
    let hold = async || on_connection(&stranger, api, all).await;
    stranger.again(PAUSE, hold).await;
}

/// Sends heads that are too large.
pub(super) async fn big_heads(stranger: Stranger, address: SocketAddr) {
    let all = async |client: SendRequest<Bytes>| {
        let heads = (0..HEADS).map(|_| one_head(&stranger, client.clone()));
        drop(join_all(heads).await);
    };
    let hold = async || on_connection(&stranger, address, all).await;
    stranger.again(PAUSE, hold).await;
}

async fn on_connection(
    stranger: &Stranger,
    address: SocketAddr,
    work: impl AsyncFn(SendRequest<Bytes>),
) -> Result<()> {
    let stream = stranger.http2(address).await?;
    let handshake = Builder::new().handshake(stream).await;
    let (client, connection) = handshake.context("no connection over HTTP/2")?;
    tokio::select! {
        ended = connection => ended.context("the connection has ended"),
        () = work(client) => Ok(()),
    }
}

/// Whether no further call can be made on the connection.
fn ends(error: &h2::Error) -> bool {
    !error.is_reset()
}

/// A request that cannot be made ends its connection.
fn broken(_error: http::Error) -> h2::Error {
    h2::Error::from(h2::Reason::INTERNAL_ERROR)
}

impl Stranger {
    fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let uri = format!("https://localhost{path}");
        let request = Request::builder().method(method).uri(uri);
        match self.token() {
            // The certificate is the credential of calls.
            Some(token) if path.starts_with(API) => {
                request.header("authorization", format!("Bearer {token}"))
            }
            _ => request,
        }
    }
}

async fn one_head(stranger: &Stranger, client: SendRequest<Bytes>) -> Result<(), h2::Error> {
    let request = stranger
        .request("GET", "/v1/status")
        .header("x-long", "x".repeat(HEAD))
        .body(())
        .map_err(broken)?;
    let (answer, _body) = client.ready().await?.send_request(request, true)?;
    answer.await.map(|_| stranger.note())
}

async fn one_guess(stranger: &Stranger, client: SendRequest<Bytes>) -> Result<(), h2::Error> {
    let request = Request::get("https://localhost/v1/status")
        .header("authorization", WRONG)
        .body(())
        .map_err(broken)?;
    let (answer, _body) = client.ready().await?.send_request(request, true)?;
    answer.await.map(|_| stranger.note())
}

async fn one_watch(stranger: &Stranger, client: SendRequest<Bytes>) -> Result<(), h2::Error> {
    let request = stranger
        .request("POST", "/grpc.health.v1.Health/Watch")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .map_err(broken)?;
    let (answer, mut body) = client.ready().await?.send_request(request, false)?;
    body.send_data(EMPTY, true)?;
    let mut messages = answer.await?.into_body();
    stranger.note();
    while let Some(message) = messages.data().await {
        let length = message?.len();
        messages.flow_control().release_capacity(length)?;
    }
    Ok(())
}

async fn one_upload(
    stranger: &Stranger,
    client: SendRequest<Bytes>,
    upload: Upload,
) -> Result<(), h2::Error> {
    let content = if upload.path.starts_with(API) {
        "application/json"
    } else {
        "application/grpc"
    };
    let request = stranger
        .request("POST", upload.path)
        .header("content-type", content)
        .body(())
        .map_err(broken)?;
    let (mut answer, mut body) = client.ready().await?.send_request(request, false)?;
    let sending = async {
        let mut left = upload.size;
        while left > 0 {
            body.reserve_capacity(upload.part.min(left));
            let Some(room) = poll_fn(|context| body.poll_capacity(context)).await else {
                return Ok::<_, h2::Error>(());
            };
            let length = room?.min(upload.part).min(left);
            left -= length;
            body.send_data(Bytes::from_static(&BLANKS[..length]), left == 0)?;
            sleep(upload.pause).await;
        }
        Ok(())
    };
    tokio::select! {
        answered = &mut answer => return answered.map(|_| stranger.note()),
        sent = sending => sent?,
    }
    answer.await.map(|_| stranger.note())
}
