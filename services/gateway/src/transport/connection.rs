//! One connection, from its first byte to its end.

use std::net::SocketAddr;

use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tower::Layer as _;

use crate::transport::timed_stream::{Activity, TimedStream};

/// What each request knows of its connection.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    /// The other end.
    pub(crate) peer: SocketAddr,
    /// Notified when a request is being answered, so that no limit of time holds meanwhile.
    pub(crate) activity: Activity,
    /// Cancelled when answers that have no end of their own must end.
    pub(crate) closing: CancellationToken,
}

/// What is spoken on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// Serves `protocol` until either end closes or a time limit passes. After `closing` the request in
/// progress is still answered, no further one is taken.
pub(crate) async fn serve_connection<S>(
    stream: S,
    peer: SocketAddr,
    protocol: Protocol,
    app: Router,
    closing: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let activity = match protocol {
        Protocol::Http1 => Activity::plain(),
        Protocol::Http2 => Activity::framed(),
    };
    let stream = TokioIo::new(TimedStream::new(stream, activity.clone()));
    let known = Connection {
        peer,
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
        // A peer that has said all it wants to say still gets its answer.
        .half_close(true)
        .title_case_headers(true);
    let connection = builder.serve_connection(stream, service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(remote_ip = %peer.ip(), error = ?error.to_string(), "connection cut off");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::extract::Request;
    use axum::middleware::{Next, from_fn};
    use axum::response::Response;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::task::JoinSet;
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::transport::timed_stream::{HEAD_LIMIT, IDLE_LIMIT, UNREAD_LIMIT};

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
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        connections.spawn(serve_connection(
            server,
            peer,
            Protocol::Http1,
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
            sleep(UNREAD_LIMIT.saturating_sub(Duration::from_secs(1))).await;
            let mut part = vec![0; 16 * 1024];
            match client.read(&mut part).await.unwrap() {
                0 => break,
                length => received += length,
            }
        }
        assert!(received > LARGE, "{received}");
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
