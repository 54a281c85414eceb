//! The listener's side: accepting connections and ending them.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use cts_tls::ServerTls;
use nix::errno::Errno;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::app;
use crate::options::{Deps, Options};
use crate::transport::connection::{Protocol, serve_connection};
use crate::transport::tls_acceptor::TlsAcceptor;

/// How long requests in progress may go on after the shutdown (docs/rest.md#transport).
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(5);

/// Pause after a failure to accept that only time can cure, such as running out of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Silence after which a peer's machine is asked whether it is there, in which intervals, and how often before the
/// connection is given up: after 25 s.
const PROBE_AFTER: Duration = Duration::from_secs(10);
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
const PROBES: u32 = 3;

/// The REST API, not serving yet.
#[derive(Debug)]
pub struct Gateway {
    app: Router,
    tls: Option<ServerTls>,
}

impl Gateway {
    /// Puts the API together. Nothing is called before the first request.
    pub fn new(options: Options, deps: Deps) -> Self {
        Self {
            app: app::router(options, deps),
            tls: None,
        }
    }

    /// The application protocols that are served over TLS, for [`ServerFiles`](cts_tls::ServerFiles).
    pub const TLS_PROTOCOLS: [&'static str; 2] = ["h2", "http/1.1"];

    /// Serves TLS only. Each connection uses what `tls` holds when it comes in; its files are followed
    /// as long as the API is served.
    #[must_use]
    pub fn with_tls(mut self, tls: ServerTls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Serves HTTP/1.1 on `listener` until `shutdown` is cancelled; with TLS also HTTP/2, for those who
    /// ask for it.
    ///
    /// Then the listener is closed at once and requests in progress get 5 seconds; what is not done by
    /// then loses its connection without an answer. Fails only if the listener itself is broken.
    /// Dropping the future closes listener and connections at once.
    pub async fn serve(self, listener: TcpListener, shutdown: CancellationToken) -> io::Result<()> {
        let tls_acceptor = self.tls.map(TlsAcceptor::new);
        let following = async {
            match &tls_acceptor {
                Some(tls_acceptor) => {
                    tls_acceptor
                        .follow_files(shutdown.clone().cancelled_owned())
                        .await;
                }
                None => shutdown.cancelled().await,
            }
        };
        let accepting = accept(self.app, tls_acceptor.clone(), listener, shutdown.clone());
        // Following ends with the shutdown, accepting after it or when the listener is broken.
        tokio::pin!(accepting);
        tokio::select! {
            outcome = &mut accepting => outcome,
            () = following => accepting.await,
        }
    }
}

async fn accept(
    app: Router,
    tls_acceptor: Option<TlsAcceptor>,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let mut connections = JoinSet::new();
    let closing = shutdown.child_token();
    let outcome = loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => break Ok(()),
            Some(ended) = connections.join_next() => report(ended),
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    start(&mut connections, stream, peer, tls_acceptor.clone(), app.clone(), closing.clone());
                }
                Err(error) => match after_accept_error(&error) {
                    AfterError::GoOn => {}
                    AfterError::Pause => {
                        tracing::warn!(%error, "cannot accept connections for the moment");
                        // Cut short by the shutdown; the next turn sees which of both it was.
                        drop(timeout(ACCEPT_PAUSE, shutdown.cancelled()).await);
                    }
                    AfterError::GiveUp => break Err(error),
                },
            },
        }
    };
    drop(listener);
    closing.cancel();
    let all_ended = async {
        while let Some(ended) = connections.join_next().await {
            report(ended);
        }
    };
    if timeout(SHUTDOWN_LIMIT, all_ended).await.is_err() {
        tracing::warn!(
            connections = connections.len(),
            "requests did not finish in time, closing their connections"
        );
        connections.shutdown().await;
    }
    outcome
}

fn start(
    connections: &mut JoinSet<()>,
    stream: TcpStream,
    peer: SocketAddr,
    tls_acceptor: Option<TlsAcceptor>,
    app: Router,
    closing: CancellationToken,
) {
    // Without it small answers may wait for the acknowledgement of the packet before them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot switch off Nagle's algorithm");
    }
    let keepalive = TcpKeepalive::new()
        .with_time(PROBE_AFTER)
        .with_interval(PROBE_INTERVAL)
        .with_retries(PROBES);
    if let Err(error) = SockRef::from(&stream).set_tcp_keepalive(&keepalive) {
        tracing::debug!(%error, "a machine that vanishes will not be noticed");
    }
    connections.spawn(async move {
        let Some(tls_acceptor) = tls_acceptor else {
            return serve_connection(stream, peer, Protocol::Http1, app, closing).await;
        };
        let admitted = tokio::select! {
            admitted = tls_acceptor.admit(stream, peer) => admitted,
            // Nothing was asked yet.
            () = closing.cancelled() => None,
        };
        if let Some((stream, protocol)) = admitted {
            serve_connection(stream, peer, protocol, app, closing).await;
        }
    });
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(error = ?error.to_string(), "a connection ended in a panic");
    }
}

#[derive(Debug, PartialEq, Eq)]
enum AfterError {
    /// The error belongs to one connection that is gone.
    GoOn,
    /// The next attempt would fail the same way.
    Pause,
    /// The listener is of no use any more.
    GiveUp,
}

fn after_accept_error(error: &io::Error) -> AfterError {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EBADF | Errno::EINVAL | Errno::ENOTSOCK | Errno::EOPNOTSUPP) => {
            AfterError::GiveUp
        }
        Some(Errno::ECONNABORTED | Errno::ECONNRESET | Errno::EINTR | Errno::EPROTO) => {
            AfterError::GoOn
        }
        _ => AfterError::Pause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_broken_listener_ends_serving() {
        let cases = [
            (Errno::ECONNABORTED, AfterError::GoOn),
            (Errno::EMFILE, AfterError::Pause),
            (Errno::ENFILE, AfterError::Pause),
            (Errno::EBADF, AfterError::GiveUp),
        ];
        for (errno, expected) in cases {
            let error = io::Error::from_raw_os_error(errno as i32);
            assert_eq!(after_accept_error(&error), expected, "{errno}");
        }
    }
}
