//! The connections of a network listener, within the limits (docs/configuration.md#limits).

use std::future::ready;
use std::io;
use std::time::Duration;

use cts_listen::{Admitted, Arrival, Entrance, Room, Seldom};
use cts_tls::ServerTls;
use futures::{Stream, stream};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::connection::Connection;

/// Time for one handshake.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// Connections in plain text.
pub(crate) fn plain_connections(
    listener: TcpListener,
    room: Room,
) -> impl Stream<Item = io::Result<Connection<TcpStream>>> {
    let open = Box::new(|stream| Box::pin(ready(Ok(stream))) as _);
    connections(Entrance::new(listener, room, HANDSHAKE_LIMIT, open))
}

/// Connections once their handshakes are done. A slow handshake delays no other.
/// Each uses the certificate that `tls` holds when it comes in.
pub(crate) fn tls_connections(
    listener: TcpListener,
    room: Room,
    tls: ServerTls,
) -> impl Stream<Item = io::Result<Connection<TlsStream<TcpStream>>>> {
    let open =
        Box::new(move |stream| Box::pin(TlsAcceptor::from(tls.current()).accept(stream)) as _);
    connections(Entrance::new(listener, room, HANDSHAKE_LIMIT, open))
}

struct Incoming<S> {
    entrance: Entrance<S>,
    refusals: Seldom,
    failures: Seldom,
}

/// Dropping the stream closes the listener and gives up handshakes. The stream ends with an error if the
/// listener is broken.
fn connections<S: Send + 'static>(
    entrance: Entrance<S>,
) -> impl Stream<Item = io::Result<Connection<S>>> {
    let incoming = Incoming {
        entrance,
        refusals: Seldom::default(),
        failures: Seldom::default(),
    };
    stream::unfold(Some(incoming), |incoming| async {
        let mut incoming = incoming?;
        match incoming.next().await {
            Ok(connection) => Some((Ok(connection), Some(incoming))),
            Err(error) => Some((Err(error), None)),
        }
    })
}

impl<S: Send + 'static> Incoming<S> {
    async fn next(&mut self) -> io::Result<Connection<S>> {
        loop {
            match self.entrance.next().await? {
                Arrival::Admitted(Admitted { stream, place, .. }) => {
                    return Ok(Connection::new(stream, place));
                }
                Arrival::Refused(refused) => {
                    let (client, why) = (refused.peer, refused.why);
                    if self.refusals.is_due() {
                        tracing::warn!(%client, "a gRPC connection is refused: {why}; see services.limits");
                    } else {
                        tracing::debug!(%client, "a gRPC connection is refused: {why}");
                    }
                }
                Arrival::Failed { peer, error } => {
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
