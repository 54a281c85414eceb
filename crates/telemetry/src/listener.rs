//! Metrics and health checks over HTTP (docs/telemetry.md#endpoints).

use std::future::ready;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Extension, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use cts_core::Chain;
use cts_listen::{
    Accepted, Browsers, ClientLimiter, LimitedListener, OpenConnection, OpenedConnection,
    WarnThrottle,
};
use cts_tls::ServerTls;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::readiness::Readiness;
use crate::scrape_access::ScrapeAccess;
use crate::telemetry::Metrics;

/// From the connection to the end of its TLS handshake.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// Longest pause before a request, and from its first byte to the end of its headers.
const HEADER_LIMIT: Duration = Duration::from_secs(90);

/// Bytes that the head of a request may have. One read beyond them may still complete a head, so that it has twice as
/// many at most.
const HEAD: usize = 32 << 10;

/// Time for requests in progress when the listener ends.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// Serves `/metrics`, `/health/live` and `/health/ready`.
#[derive(Debug)]
pub struct Listener {
    /// The bound socket.
    pub socket: TcpListener,
    /// The certificate to show; `None` for plain HTTP. Clients that show a certificate are checked as it says.
    pub tls: Option<ServerTls>,
    /// How many clients it takes.
    pub limiter: ClientLimiter,
    /// Credentials that the metrics need.
    pub access: ScrapeAccess,
    /// Names and pages that browsers may use it by.
    pub browsers: Browsers,
    /// The metrics.
    pub metrics: Metrics,
    /// The answer of `/health/ready`.
    pub readiness: Readiness,
}

#[derive(Debug, Clone)]
struct Shown {
    access: ScrapeAccess,
    metrics: Metrics,
    readiness: Readiness,
}

/// The check of requests that browsers send.
#[derive(Debug, Clone)]
struct BrowserChecks {
    browsers: Arc<Browsers>,
    tls: bool,
}

/// A client of one connection.
#[derive(Debug, Clone, Copy)]
struct Client {
    address: SocketAddr,
    /// Whether it has shown a certificate of the services' authority.
    certified: bool,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<tokio_rustls::server::TlsStream<TcpStream>>),
}

impl Listener {
    /// Serves HTTP/1.1 until `shutdown` is cancelled. Requests in progress get 2 s then.
    ///
    /// # Errors
    /// If the socket is broken.
    pub async fn serve(self, shutdown: CancellationToken) -> io::Result<()> {
        let checks = BrowserChecks {
            browsers: Arc::new(self.browsers),
            tls: self.tls.is_some(),
        };
        let app = Router::new()
            .route("/metrics", get(metrics))
            .route("/health/live", get(|| ready("live\n")))
            .route("/health/ready", get(readiness))
            .with_state(Shown {
                access: self.access,
                metrics: self.metrics,
                readiness: self.readiness,
            })
            .layer(from_fn_with_state(checks, refuse_foreign_pages));
        let mut limited = LimitedListener::new(
            self.socket,
            self.limiter,
            HANDSHAKE_LIMIT,
            opening(self.tls),
        );
        let (refusals, failures) = (WarnThrottle::default(), WarnThrottle::default());
        let mut connections = JoinSet::new();
        loop {
            let arrival = tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                Some(_ended) = connections.join_next() => continue,
                arrival = limited.next() => arrival?,
            };
            match arrival {
                Accepted::Opened(opened) => {
                    connections.spawn(serve(opened, app.clone(), shutdown.clone()));
                }
                Accepted::Rejected(refused) if refusals.is_due() => {
                    let (client, why) = (refused.peer, refused.why);
                    tracing::warn!(%client, "a connection to telemetry.listen is refused: {why}");
                }
                Accepted::Failed { peer, error } if failures.is_due() => {
                    tracing::warn!(client = %peer, %error, "a TLS handshake at telemetry.listen failed");
                }
                Accepted::Rejected(_) | Accepted::Failed { .. } => {}
            }
        }
        drop(limited);
        let all_ended = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(SHUTDOWN_LIMIT, all_ended)
            .await
            .is_err()
        {
            connections.shutdown().await;
        }
        Ok(())
    }
}

fn opening(tls: Option<ServerTls>) -> OpenConnection<Stream> {
    let Some(tls) = tls else {
        return Box::new(|stream| Box::pin(ready(Ok(Stream::Plain(stream)))));
    };
    Box::new(move |stream| {
        // The files are those of gRPC, which speaks HTTP/2 alone. Probes have no certificate.
        let acceptor = TlsAcceptor::from(tls.lenient(&["http/1.1"]));
        Box::pin(async move { Ok(Stream::Tls(Box::new(acceptor.accept(stream).await?))) })
    })
}

async fn serve(opened: OpenedConnection<Stream>, app: Router, shutdown: CancellationToken) {
    let OpenedConnection {
        stream,
        peer,
        permit,
    } = opened;
    let mut client = Client {
        address: peer,
        certified: false,
    };
    match stream {
        Stream::Plain(stream) => serve_stream(stream, client, app, shutdown).await,
        Stream::Tls(stream) => {
            client.certified = stream.get_ref().1.peer_certificates().is_some();
            serve_stream(*stream, client, app, shutdown).await;
        }
    }
    drop(permit);
}

async fn serve_stream(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    client: Client,
    app: Router,
    shutdown: CancellationToken,
) {
    let app = TowerToHyperService::new(app.layer(Extension(client)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_LIMIT)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(stream), app);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(client = %client.address, error = %Chain(&error), "a connection to telemetry.listen ended");
    }
}

/// Refuses requests of browsers for names that are not known (docs/rest.md#browsers).
async fn refuse_foreign_pages(
    State(checks): State<BrowserChecks>,
    request: Request,
    next: Next,
) -> Response {
    let (method, uri, headers) = (request.method(), request.uri(), request.headers());
    match checks.browsers.check(method, uri, headers, checks.tls) {
        Ok(()) => next.run(request).await,
        Err(foreign) => (StatusCode::FORBIDDEN, format!("{foreign}\n")).into_response(),
    }
}

async fn metrics(
    State(shown): State<Shown>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
) -> Response {
    let permitted = shown
        .access
        .check(client.certified, &headers, client.address);
    if let Err(status) = permitted.await {
        let text = "a certificate of the services, or a token with the role read for all tasks, is needed\n";
        return (status, text).into_response();
    }
    match shown.metrics.text() {
        Ok(text) => ([(CONTENT_TYPE, Metrics::CONTENT_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(error = %Chain(&error), "metrics cannot be served");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

async fn readiness(State(shown): State<Shown>) -> Response {
    match shown.readiness.current() {
        Ok(()) => "ready\n".into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
    }
}
