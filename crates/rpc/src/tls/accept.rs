//! Accepts connections and does their handshakes.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use cts_tls::ServerTls;
use futures::{Stream, stream};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Time for one handshake.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// Handshakes at a time; further connections wait in the listener's queue.
const HANDSHAKES: usize = 128;

/// Pause after a failure to accept that only time can cure, such as running out of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);

/// At most one failed handshake is warned of in this time. The rest is for the debug log: a client
/// with a wrong certificate comes back every second, and any peer can connect.
const WARN_EVERY: Duration = Duration::from_secs(30);

/// The connections of a listener once their handshakes are done. A slow handshake delays no other.
/// Dropping the stream closes the listener and gives up handshakes.
pub(crate) fn tls_connections(
    listener: TcpListener,
    tls: ServerTls,
) -> impl Stream<Item = io::Result<TlsStream<TcpStream>>> {
    let entrance = Entrance {
        listener,
        tls,
        handshakes: JoinSet::new(),
        warned: None,
    };
    stream::unfold(entrance, |mut entrance| async move {
        let connection = entrance.next().await;
        Some((Ok(connection), entrance))
    })
}

struct Entrance {
    listener: TcpListener,
    tls: ServerTls,
    handshakes: JoinSet<Result<TlsStream<TcpStream>, FailedHandshake>>,
    warned: Option<Instant>,
}

struct FailedHandshake {
    client: SocketAddr,
    error: io::Error,
}

impl Entrance {
    async fn next(&mut self) -> TlsStream<TcpStream> {
        loop {
            tokio::select! {
                Some(ended) = self.handshakes.join_next() => match ended {
                    Ok(Ok(connection)) => return connection,
                    Ok(Err(failed)) => self.report(&failed),
                    Err(error) => tracing::error!(%error, "a TLS handshake was cut off"),
                },
                accepted = self.listener.accept(), if self.handshakes.len() < HANDSHAKES => {
                    match accepted {
                        Ok((stream, client)) => self.begin(stream, client),
                        Err(error) if is_of_one_connection(&error) => {}
                        Err(error) => {
                            tracing::warn!(%error, "cannot accept connections for the moment");
                            sleep(ACCEPT_PAUSE).await;
                        }
                    }
                }
            }
        }
    }

    fn begin(&mut self, stream: TcpStream, client: SocketAddr) {
        // Without it small answers may wait for the acknowledgement of the packet before them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot switch off Nagle's algorithm");
        }
        let handshake = TlsAcceptor::from(self.tls.current()).accept(stream);
        self.handshakes.spawn(async move {
            match timeout(HANDSHAKE_LIMIT, handshake).await {
                Ok(Ok(connection)) => Ok(connection),
                Ok(Err(error)) => Err(FailedHandshake { client, error }),
                Err(_elapsed) => Err(FailedHandshake {
                    client,
                    error: io::ErrorKind::TimedOut.into(),
                }),
            }
        });
    }

    fn report(&mut self, FailedHandshake { client, error }: &FailedHandshake) {
        if self.warned.is_some_and(|at| at.elapsed() < WARN_EVERY) {
            tracing::debug!(%client, %error, "a TLS handshake failed");
        } else {
            tracing::warn!(%client, %error, "a TLS handshake failed");
            self.warned = Some(Instant::now());
        }
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}
