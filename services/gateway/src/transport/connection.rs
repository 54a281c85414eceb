//! One connection, from its first byte to its end.

use std::future::ready;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware::map_response;
use axum::{Extension, Router};
use cts_access::Principal;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tower::Layer as _;

use crate::transport::activity::Activity;
use crate::transport::paced_body::paced;
use crate::transport::slow_client::SlowClientTimeout;
use crate::transport::timed_stream::TimedStream;

/// Bytes that the head of a request may have over HTTP/1. A single read beyond them may still complete a head, so that
/// a head has at most twice as many bytes.
const HEAD: usize = 32 << 10;

/// Requests in progress on one connection over HTTP/2.
const REQUESTS: u32 = 100;

/// Most bytes that a client may send over HTTP/2 before they are read: for one request, and for its connection.
const REQUEST_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 256 << 10;

/// Data of the connection that each request carries.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    /// The other end.
    pub(crate) peer: SocketAddr,
    /// The owner of the certificate that the client has shown.
    pub(crate) certificate: Option<Arc<Principal>>,
    /// Notified when a request is being answered, so that no limit of time holds during the answer.
    pub(crate) activity: Activity,
    /// Cancelled when answers that have no end of their own must end.
    pub(crate) closing: CancellationToken,
}

/// The other end of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// The owner of the certificate that the client has shown.
    pub(crate) certificate: Option<Arc<Principal>>,
}

/// Protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// How long a client may take, and how slow it may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// Longest time from the first byte of a request to its last.
    pub(crate) request: Duration,
    /// Bytes of an answer in a second.
    pub(crate) rate: NonZeroU32,
}

/// Serves `protocol` until either end closes or a time limit passes. After `closing` the request in progress is still
/// answered, but no further request is taken.
pub(crate) async fn serve_connection<S>(
    stream: S,
    peer: Peer,
    protocol: Protocol,
    times: Times,
    app: Router,
    closing: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let timeout = move || SlowClientTimeout::new(times.rate);
    let (activity, app) = match protocol {
        Protocol::Http1 => (Activity::plain(times.request), app),
        Protocol::Http2 => {
            let activity = Activity::framed(times.request);
            let offers = Arc::clone(activity.offers());
            let pace = move |answer| ready(paced(answer, &offers, timeout()));
            (activity, app.layer(map_response(pace)))
        }
    };
    let offers = Arc::clone(activity.offers());
    let stream = TokioIo::new(TimedStream::new(stream, activity.clone(), timeout()));
    let remote_ip = peer.address.ip();
    let known = Connection {
        peer: peer.address,
        certificate: peer.certificate,
        activity,
        closing: closing.clone(),
    };
    let service = TowerToHyperService::new(Extension(known).layer(app));

    let builder = auto::Builder::new(TokioExecutor::new());
    let mut builder = match protocol {
        Protocol::Http1 => builder.http1_only(),
        Protocol::Http2 => builder.http2_only(),
    };
    builder
        .http1()
        // `TimedStream` has the limits.
        .header_read_timeout(None)
        // A peer that has sent everything still gets its answer.
        .half_close(true)
        .max_buf_size(HEAD)
        .title_case_headers(true);
    builder
        .http2()
        .max_concurrent_streams(REQUESTS)
        .initial_stream_window_size(REQUEST_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    let connection = builder.serve_connection(stream, service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = offers.overdue(), if protocol == Protocol::Http2 => {
            Err(io::Error::from(io::ErrorKind::TimedOut).into())
        }
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%remote_ip, error = ?error.to_string(), "connection cut off");
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use axum::extract::Request;
    use axum::middleware::{Next, from_fn};
    use axum::response::Response;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::task::JoinSet;
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::transport::slow_client::UNREAD_LIMIT;
    use crate::transport::timed_stream::IDLE_LIMIT;

    const HEAD_LIMIT: Duration = Duration::from_secs(15);
    const TIMES: Times = Times {
        request: HEAD_LIMIT,
        rate: NonZeroU32::new(1024).unwrap(),
    };
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    const SLOW: Duration = Duration::from_mins(10);
    const LARGE: usize = 256 * 1024;

    async fn track(
        Extension(connection): Extension<Connection>,
        request: Request,
        next: Next,
    ) -> Response {
        let answering = connection.activity.answering();
        let response = next.run(request).await;
        drop(answering);
        response
    }

    fn client(connections: &mut JoinSet<()>) -> DuplexStream {
        client_of(Protocol::Http1, connections)
    }

    fn client_of(protocol: Protocol, connections: &mut JoinSet<()>) -> DuplexStream {
        let slow = || async {
            sleep(SLOW).await;
            "done"
        };
        let app = Router::new()
            .route("/slow", axum::routing::get(slow))
            .route("/large", axum::routing::get(|| async { vec![b'x'; LARGE] }))
            .fallback(|| async { "done" })
            .layer(from_fn(track));
        let (client, server) = tokio::io::duplex(4096);
        let peer = Peer {
            address: SocketAddr::from(([127, 0, 0, 1], 1)),
            certificate: None,
        };
        connections.spawn(serve_connection(
            server,
            peer,
            protocol,
            TIMES,
            app,
            CancellationToken::new(),
        ));
        client
    }

    async fn answer(client: &mut DuplexStream) -> String {
        let mut text = String::new();
        while !text.ends_with("done") {
            let mut part = [0; 1024];
            let length = client.read(&mut part).await.unwrap();
            assert_ne!(length, 0, "closed after {text:?}");
            text.push_str(std::str::from_utf8(&part[..length]).unwrap());
        }
        text
    }

    /// Time until the connection is closed; anything received before that fails the test.
    async fn closed_after(client: &mut DuplexStream) -> Duration {
        let start = Instant::now();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&rest), "");
        start.elapsed()
    }

    fn about(measured: Duration, expected: Duration) -> bool {
        measured >= expected && measured < expected + Duration::from_millis(10)
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_does_not_end_is_cut_off_without_an_answer() {
        let mut connections = JoinSet::new();
        let mut client = client(&mut connections);
        client.write_all(b"GET / HT").await.unwrap();
        sleep(Duration::from_secs(10)).await;
        client.write_all(b"TP/1.1\r\n").await.unwrap();
        let measured = closed_after(&mut client).await;
        assert!(
            about(measured + Duration::from_secs(10), HEAD_LIMIT),
            "{measured:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_kept_for_a_minute() {
        let mut connections = JoinSet::new();
        let mut client = client(&mut connections);
        client.write_all(REQUEST).await.unwrap();
        answer(&mut client).await;
        sleep(Duration::from_secs(59)).await;
        client.write_all(REQUEST).await.unwrap();
        answer(&mut client).await;
        let measured = closed_after(&mut client).await;
        assert!(about(measured, IDLE_LIMIT), "{measured:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_head_has_its_own_limit() {
        let mut connections = JoinSet::new();
        let mut client = client(&mut connections);
        client.write_all(REQUEST).await.unwrap();
        answer(&mut client).await;
        sleep(Duration::from_secs(50)).await;
        client.write_all(b"GET / HT").await.unwrap();
        let measured = closed_after(&mut client).await;
        assert!(about(measured, HEAD_LIMIT), "{measured:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_may_take_any_time() {
        let mut connections = JoinSet::new();
        let mut client = client(&mut connections);
        let start = Instant::now();
        client
            .write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
            .await
            .unwrap();
        assert!(answer(&mut client).await.starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(start.elapsed() >= SLOW);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_nothing_loses_its_connection() {
        let mut connections = JoinSet::new();
        let mut client = client(&mut connections);
        let start = Instant::now();
        client
            .write_all(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
            .await
            .unwrap();
        connections.join_next().await.unwrap().unwrap();
        assert!(
            about(start.elapsed(), UNREAD_LIMIT),
            "{:?}",
            start.elapsed()
        );
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_slowly_gets_all() {
        let mut connections = JoinSet::new();
        let mut client = client(&mut connections);
        client
            .write_all(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut received = 0;
        loop {
            sleep(Duration::from_secs(3)).await;
            let mut part = vec![0; 16 * 1024];
            match client.read(&mut part).await.unwrap() {
                0 => break,
                length => received += length,
            }
        }
        assert!(received > LARGE, "{received}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_too_slowly_loses_its_connection() {
        let mut connections = JoinSet::new();
        let mut client = client(&mut connections);
        client
            .write_all(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
            .await
            .unwrap();
        let mut received = 0;
        loop {
            sleep(UNREAD_LIMIT / 2).await;
            let mut part = vec![0; 4 * 1024];
            match client.read(&mut part).await.unwrap() {
                0 => break,
                length => received += length,
            }
        }
        assert!(received < LARGE / 4, "{received}");
    }

    /// Asks for something large over HTTP/2 with streams whose windows have `window` bytes, reads the answer with
    /// `pause` before each part, and shows signs of life. Gives the bytes and whether that was all.
    async fn read_over_http2(window: u32, pause: Duration) -> (usize, bool) {
        let mut connections = JoinSet::new();
        let socket = client_of(Protocol::Http2, &mut connections);
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(window);
        let (mut client, mut connection) = builder.handshake::<_, Bytes>(socket).await.unwrap();
        let mut pings = connection.ping_pong().unwrap();
        connections.spawn(async move { drop(connection.await) });
        connections.spawn(async move {
            while pings.ping(h2::Ping::opaque()).await.is_ok() {
                sleep(Duration::from_secs(5)).await;
            }
        });
        let request = http::Request::get("https://a/large").body(()).unwrap();
        let (answer, _) = client.send_request(request, true).unwrap();
        let mut body = answer.await.unwrap().into_body();
        let mut received = 0;
        loop {
            sleep(pause).await;
            match body.data().await {
                None => return (received, true),
                Some(Err(_gone)) => return (received, false),
                Some(Ok(part)) => {
                    received += part.len();
                    body.flow_control().release_capacity(part.len()).unwrap();
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_window_of_zero_does_not_hold_a_connection() {
        let begin = Instant::now();
        let (received, whole) = read_over_http2(0, Duration::ZERO).await;
        assert_eq!((received, whole), (0, false));
        let took = begin.elapsed();
        assert!(took >= UNREAD_LIMIT && took < UNREAD_LIMIT * 2, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_window_that_opens_too_slowly_does_not_either() {
        let (received, whole) = read_over_http2(1024, Duration::from_secs(5)).await;
        assert!(received > 0 && received < LARGE / 4 && !whole, "{received}");
        let (received, whole) = read_over_http2(64 * 1024, Duration::from_secs(5)).await;
        assert_eq!((received, whole), (LARGE, true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_over_http2_has_100_requests() {
        let mut connections = JoinSet::new();
        let socket = client_of(Protocol::Http2, &mut connections);
        let (client, mut connection) = h2::client::handshake(socket).await.unwrap();
        let mut pings = connection.ping_pong().unwrap();
        // The settings of the server precede its answer.
        let settled = pings.ping(h2::Ping::opaque());
        tokio::select! {
            ended = &mut connection => panic!("{ended:?}"),
            answered = settled => drop(answered.unwrap()),
        }
        assert_eq!(connection.max_concurrent_send_streams(), 100);
        drop(client);
    }

    /// The answer to a request whose head has `length` bytes.
    async fn answer_to_head_of(length: usize) -> String {
        let mut connections = JoinSet::new();
        let mut client = client(&mut connections);
        let mut head = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ".to_vec();
        head.resize(length - 4, b'x');
        head.extend_from_slice(b"\r\n\r\n");
        // The server may close before it has read everything.
        drop(client.write_all(&head).await);
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_less_than_64_kib() {
        let answer = answer_to_head_of(30 << 10).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        let answer = answer_to_head_of(65 << 10).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_closes_its_half_still_gets_the_answer() {
        let mut connections = JoinSet::new();
        let mut client = client(&mut connections);
        client
            .write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
            .await
            .unwrap();
        client.shutdown().await.unwrap();
        answer(&mut client).await;
    }
}
