//! The listener's side: accepting connections and ending them.

use std::future::ready;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware::from_fn;
use axum::{Extension, Router};
use cts_listen::{
    Accepted, ClientLimiter, LimitedListener, OpenConnection, OpenedConnection, RejectedConnection,
    WarnThrottle,
};
use cts_proto::access::v1::access_service_client::AccessServiceClient;
use cts_proto::access::v1::session_service_client::SessionServiceClient;
use cts_tls::ServerTls;
use futures::future::OptionFuture;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::app::{self, App};
use crate::authorization::Access;
use crate::options::{Deps, Options};
use crate::page::{self, PageService};
use crate::transport::browsers::Listened;
use crate::transport::connection::{Peer, Protocol, Times, serve_connection};
use crate::transport::http_validation;
use crate::transport::rejection::{Rejections, refuse};
use crate::transport::tls_acceptor::{OpenedConnection as TlsConnection, TlsAcceptor};

/// How long requests in progress may go on after the shutdown (docs/rest.md#transport).
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(5);

/// Longest time from the connection to the end of its TLS handshake.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(15);

/// The REST API, not serving yet.
#[derive(Debug)]
pub struct Gateway {
    api: Router,
    page: Option<PageRouter>,
    access: Arc<Access>,
    schedulers: AccessServiceClient<Channel>,
    sessions: SessionServiceClient<Channel>,
    limiter: ClientLimiter,
    times: Times,
    tls: Option<ServerTls>,
}

impl Gateway {
    /// Puts the API together. Makes no call before the first request.
    pub fn new(options: Options, deps: Deps) -> Self {
        let access = Arc::new(Access::new(options.access.clone()));
        let (limits, clock) = (options.limits, Arc::clone(&options.access.clock));
        let (request_id, page) = (Arc::clone(&options.request_id), options.page.clone());
        let (schedulers, sessions) = (deps.access.clone(), deps.sessions.clone());
        let app = Arc::new(App::new(options, deps, Arc::clone(&access)));
        let page = page.map(|page| {
            let page = PageService::new(Arc::clone(&app), page, sessions.clone(), clock);
            PageRouter {
                prefix: page.prefix().to_owned(),
                router: page::router(Arc::new(page), Arc::clone(&request_id)),
                listener: None,
            }
        });
        Self {
            schedulers,
            sessions,
            limiter: ClientLimiter::new(limits.connections),
            times: Times {
                request: limits.request_time,
                rate: limits.answer_rate,
            },
            api: app::router(app, request_id),
            page,
            access,
            tls: None,
        }
    }

    /// The application protocols that are served over TLS, for [`ServerFiles`](cts_tls::ServerFiles).
    pub const TLS_PROTOCOLS: [&'static str; 2] = ["h2", "http/1.1"];

    /// Serves TLS only. Each connection uses the files that `tls` holds when it comes in; these files are followed as
    /// long as the API is served.
    #[must_use]
    pub fn with_tls(mut self, tls: ServerTls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// With a listener for the page, serves the page there and not on the listener of the API, with the same TLS and the
    /// same limits.
    #[must_use]
    pub fn with_page_listener(mut self, listener: Option<TcpListener>) -> Self {
        if let Some(page) = &mut self.page {
            page.listener = listener;
        }
        self
    }

    /// Serves HTTP/1.1 on `listener` until `shutdown` is cancelled; with TLS also HTTP/2, for clients that
    /// request it.
    ///
    /// Then the listener is closed at once and requests in progress get 5 seconds; a request that is not done
    /// by then loses its connection without an answer. Fails only if the listener itself is broken. Dropping
    /// the future closes listener and connections at once.
    pub async fn serve(self, listener: TcpListener, shutdown: CancellationToken) -> io::Result<()> {
        let (api, page) = match self.page {
            None => (self.api, None),
            Some(page) => match page.listener {
                Some(listener) => (self.api, Some((page.router, listener))),
                None => (page::in_front_of(self.api, page.router, &page.prefix), None),
            },
        };
        let tls_acceptor = self.tls.map(TlsAcceptor::new);
        let following_files = async {
            if let Some(tls_acceptor) = &tls_acceptor {
                let shutdown = shutdown.clone().cancelled_owned();
                tls_acceptor.follow_files(shutdown).await;
            }
        };
        let following_access =
            self.access
                .follow(self.schedulers.clone(), self.sessions, &shutdown);
        let following = async { tokio::join!(following_files, following_access) };
        let rejections = tls_acceptor.is_none().then(Rejections::new).map(Arc::new);
        let serve = |app: Router, listener: TcpListener| {
            let local = listener.local_addr()?;
            let listened = Listened {
                on_loopback: local.ip().is_loopback(),
                tls: tls_acceptor.is_some(),
                port: local.port(),
            };
            let app = app.layer(from_fn(http_validation::answer_or_pass));
            let acceptor = Acceptor {
                app: app.layer(Extension(listened)),
                times: self.times,
                rejections: rejections.clone(),
                refusals: WarnThrottle::default(),
                failures: WarnThrottle::default(),
                connections: JoinSet::new(),
                closing: shutdown.child_token(),
                access: Arc::clone(&self.access),
            };
            let (limiter, opening) = (self.limiter.clone(), opening(tls_acceptor.clone()));
            let limited = LimitedListener::new(listener, limiter, HANDSHAKE_LIMIT, opening);
            io::Result::Ok(acceptor.accept(limited, &shutdown))
        };
        let serving_api = serve(api, listener)?;
        let serving_page = page.map(|(page, listener)| serve(page, listener));
        let serving_page = OptionFuture::from(serving_page.transpose()?);
        // Accepting ends after the shutdown, or when a listener is broken. The last refused requests are recorded then.
        let end = CancellationToken::new();
        let accepting = async {
            let serving_page = async { serving_page.await.unwrap_or(Ok(())) };
            let outcome = tokio::try_join!(serving_api, serving_page);
            end.cancel();
            outcome.map(|((), ())| ())
        };
        let recording = self.access.record_refusals(self.schedulers.clone(), &end);
        let following = end.run_until_cancelled(following);
        let (outcome, (), _ended) = tokio::join!(accepting, recording, following);
        outcome
    }
}

/// The page, with the listener that it has for itself.
#[derive(Debug)]
struct PageRouter {
    router: Router,
    prefix: String,
    listener: Option<TcpListener>,
}

/// A connection as it may be served.
enum Opened {
    Plain(TcpStream),
    Tls(Box<TlsConnection>),
}

fn opening(tls_acceptor: Option<TlsAcceptor>) -> OpenConnection<Opened> {
    let Some(tls_acceptor) = tls_acceptor else {
        return Box::new(|stream| Box::pin(ready(Ok(Opened::Plain(stream)))));
    };
    Box::new(move |stream| {
        let tls_acceptor = tls_acceptor.clone();
        Box::pin(async {
            let connection = tls_acceptor.admit(stream).await?;
            Ok(Opened::Tls(Box::new(connection)))
        })
    })
}

/// Lets connections in until the shutdown.
struct Acceptor {
    app: Router,
    times: Times,
    /// For plain HTTP only.
    rejections: Option<Arc<Rejections>>,
    refusals: WarnThrottle,
    failures: WarnThrottle,
    connections: JoinSet<()>,
    closing: CancellationToken,
    access: Arc<Access>,
}

impl Acceptor {
    async fn accept(
        mut self,
        mut limited: LimitedListener<Opened>,
        shutdown: &CancellationToken,
    ) -> io::Result<()> {
        let outcome = loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => break Ok(()),
                Some(ended) = self.connections.join_next() => report(ended),
                arrival = limited.next() => match arrival {
                    Ok(Accepted::Opened(admitted)) => self.start(admitted),
                    Ok(Accepted::Rejected(refused)) => self.refuse(refused),
                    Ok(Accepted::Failed { peer, error }) => self.failed(peer, &error),
                    Err(error) => break Err(error),
                },
            }
        };
        drop(limited);
        self.closing.cancel();
        let all_ended = async {
            while let Some(ended) = self.connections.join_next().await {
                report(ended);
            }
        };
        if timeout(SHUTDOWN_LIMIT, all_ended).await.is_err() {
            tracing::warn!(
                connections = self.connections.len(),
                "requests did not finish in time, closing their connections"
            );
            self.connections.shutdown().await;
        }
        outcome
    }

    fn start(&mut self, admitted: OpenedConnection<Opened>) {
        let OpenedConnection {
            stream,
            peer,
            permit,
        } = admitted;
        let (times, app, closing) = (self.times, self.app.clone(), self.closing.clone());
        let access = Arc::clone(&self.access);
        self.connections.spawn(async move {
            let mut peer = Peer {
                address: peer,
                certificate: None,
            };
            match stream {
                Opened::Plain(stream) => {
                    serve_connection(stream, peer, Protocol::Http1, times, app, closing).await;
                }
                Opened::Tls(connection) => {
                    let TlsConnection {
                        stream,
                        protocol,
                        certificate,
                    } = *connection;
                    let holder = certificate.map(|certificate| access.holder(&certificate));
                    peer.certificate = holder.map(Arc::new);
                    serve_connection(stream, peer, protocol, times, app, closing).await;
                }
            }
            drop(permit);
        });
    }

    fn refuse(&mut self, refused: RejectedConnection) {
        let RejectedConnection { stream, peer, why } = refused;
        let remote_ip = peer.ip();
        if self.refusals.is_due() {
            tracing::warn!(target: "api", %remote_ip, "a connection is refused: {why} (gateway.limits.connections)");
        } else {
            tracing::debug!(target: "api", %remote_ip, "a connection is refused: {why}");
        }
        let rejection = self.rejections.as_deref();
        if let Some(permit) = rejection.and_then(|rejections| rejections.acquire(remote_ip)) {
            self.connections.spawn(refuse(stream, why, permit));
        }
    }

    fn failed(&self, peer: SocketAddr, error: &io::Error) {
        let (remote_ip, error) = (peer.ip(), error.to_string());
        if self.failures.is_due() {
            tracing::warn!(target: "api", %remote_ip, error, "a TLS handshake failed");
        } else {
            tracing::debug!(target: "api", %remote_ip, error, "a TLS handshake failed");
        }
    }
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(error = ?error.to_string(), "a connection ended in a panic");
    }
}
