//! The connections of a network listener, within the limits (docs/configuration.md#limits).

use std::future::{Future, ready};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use cts_listen::{Accepted, ClientLimiter, LimitedListener, OpenedConnection, WarnThrottle};
use cts_tls::ServerTls;
use futures::{Stream, StreamExt as _, stream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Connected as _;

use crate::admission::{ConnectedPeer, Identified};
use crate::connection::Connection;

const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn plain_connections(
    listener: TcpListener,
    limiter: ClientLimiter,
) -> impl Stream<Item = io::Result<Connection<TcpStream>>> {
    let open = Box::new(|stream| Box::pin(ready(Ok(stream))) as _);
    let listener = LimitedListener::new(listener, limiter, HANDSHAKE_LIMIT, open);
    connections(listener, None)
}

/// Connections once their handshakes are done. A slow handshake delays no other. Each connection uses the certificate
/// that `tls` holds when the connection comes in. Names in the certificate of its client give roles below `domain`
/// only.
pub(crate) fn tls_connections(
    listener: TcpListener,
    limiter: ClientLimiter,
    tls: ServerTls,
    domain: Option<String>,
) -> impl Stream<Item = io::Result<Connection<TlsStream<TcpStream>>>> {
    let open =
        Box::new(move |stream| Box::pin(TlsAcceptor::from(tls.current()).accept(stream)) as _);
    let listener = LimitedListener::new(listener, limiter, HANDSHAKE_LIMIT, open);
    connections(listener, domain)
}

/// Divides connections into connections of services and all other connections. The second value does the work as long
/// as it is polled, and ends with `incoming`.
pub(crate) fn divide<S: Send + 'static>(
    incoming: impl Stream<Item = io::Result<Connection<S>>>,
    is_service: impl Fn(&ConnectedPeer) -> bool,
) -> ([Arrivals<S>; 2], impl Future<Output = ()>) {
    let (services, of_services) = mpsc::channel(1);
    let (others, of_others) = mpsc::channel(1);
    let dividing = async move {
        let mut incoming = std::pin::pin!(incoming);
        while let Some(arrival) = incoming.next().await {
            let is_service = match &arrival {
                Ok(connection) => is_service(&connection.connect_info()),
                Err(_broken) => true,
            };
            let way = if is_service { &services } else { &others };
            // A server that takes no more connections has ended.
            drop(way.send(arrival).await);
        }
    };
    let arrivals = [of_services, of_others].map(ReceiverStream::new);
    (arrivals, dividing)
}

/// Connections that a server gets.
type Arrivals<S> = ReceiverStream<io::Result<Connection<S>>>;

struct Incoming<S> {
    listener: LimitedListener<S>,
    domain: Option<String>,
    refusals: WarnThrottle,
    failures: WarnThrottle,
}

/// Dropping the stream closes the listener and gives up handshakes. The stream ends with an error if the
/// listener is broken.
fn connections<S: Identified + Send + 'static>(
    listener: LimitedListener<S>,
    domain: Option<String>,
) -> impl Stream<Item = io::Result<Connection<S>>> {
    let incoming = Incoming {
        listener,
        domain,
        refusals: WarnThrottle::default(),
        failures: WarnThrottle::default(),
    };
    stream::unfold(Some(incoming), |incoming| async {
        let mut incoming = incoming?;
        match incoming.next().await {
            Ok(connection) => Some((Ok(connection), Some(incoming))),
            Err(error) => Some((Err(error), None)),
        }
    })
}

impl<S: Identified + Send + 'static> Incoming<S> {
    async fn next(&mut self) -> io::Result<Connection<S>> {
        loop {
            match self.listener.next().await? {
                Accepted::Opened(OpenedConnection {
                    stream,
                    permit,
                    peer,
                }) => {
                    let identity = stream.identity(self.domain.as_deref());
                    let peer = ConnectedPeer {
                        address: Some(peer),
                        identity: identity.map(Arc::new),
                    };
                    return Ok(Connection::incoming(stream, permit, peer));
                }
                Accepted::Rejected(refused) => {
                    let (client, why) = (refused.peer, refused.why);
                    if self.refusals.is_due() {
                        tracing::warn!(%client, "a gRPC connection is refused: {why}; see services.limits");
                    } else {
                        tracing::debug!(%client, "a gRPC connection is refused: {why}");
                    }
                }
                Accepted::Failed { peer, error } => {
                    if self.failures.is_due() {
                        tracing::warn!(client = %peer, %error, "a TLS handshake failed");
                    } else {
                        tracing::debug!(client = %peer, %error, "a TLS handshake failed");
                    }
                }
            }
        }
    }
}
