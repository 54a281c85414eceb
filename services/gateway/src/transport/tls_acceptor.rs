//! Accepts TLS connections (docs/rest.md#transport).

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cts_tls::ServerTls;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::server::TlsStream;

use crate::transport::connection::Protocol;

/// From the connection to the end of its handshake, as for the head of a request.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(15);

/// First byte of every TLS connection: a handshake record.
const HANDSHAKE_RECORD: u8 = 0x16;

/// How requests begin that are answered although they are not TLS.
const REQUEST_BEGINNINGS: [&[u8; 5]; 5] = [b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO"];

const PLAIN_REQUEST_ANSWER: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nAn HTTP request was sent to an HTTPS server.\n";

/// Time for the peer to take that answer before the connection is closed.
const FAREWELL_LIMIT: Duration = Duration::from_secs(1);

/// At most one failed handshake is warned of in this time, the rest is for the debug log: any peer can
/// connect, and one with a wrong certificate comes again and again.
const WARN_EVERY: Duration = Duration::from_secs(30);

/// Lets connections in once they have shown what they must.
#[derive(Debug, Clone)]
pub(crate) struct TlsAcceptor {
    tls: ServerTls,
    warned: Arc<Mutex<Option<Instant>>>,
}

/// A connection over TLS, and what is spoken on it.
pub(crate) type Admitted = (TlsStream<TcpStream>, Protocol);

impl TlsAcceptor {
    pub(crate) fn new(tls: ServerTls) -> Self {
        Self {
            tls,
            warned: Arc::default(),
        }
    }

    /// Keeps the certificate in view until `shutdown` is over.
    pub(crate) async fn follow_files(&self, shutdown: impl Future<Output = ()>) {
        self.tls.clone().follow_files(shutdown).await;
    }

    /// Does the handshake. `None`: the connection is closed, and why is logged.
    pub(crate) async fn admit(&self, stream: TcpStream, peer: SocketAddr) -> Option<Admitted> {
        let error = match timeout(HANDSHAKE_LIMIT, self.handshake(stream)).await {
            Ok(Ok(admitted)) => return Some(admitted),
            Ok(Err(error)) => error,
            Err(_elapsed) => io::ErrorKind::TimedOut.into(),
        };
        self.report(peer, &error);
        None
    }

    async fn handshake(&self, mut stream: TcpStream) -> io::Result<Admitted> {
        let mut first = [0];
        if stream.peek(&mut first).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if first != [HANDSHAKE_RECORD] {
            refuse_plain_text(&mut stream).await?;
            return Err(io::Error::other("it does not begin with a TLS handshake"));
        }
        let stream = tokio_rustls::TlsAcceptor::from(self.tls.current())
            .accept(stream)
            .await?;
        let protocol = match stream.get_ref().1.alpn_protocol() {
            Some(b"h2") => Protocol::Http2,
            _ => Protocol::Http1,
        };
        Ok((stream, protocol))
    }

    fn report(&self, peer: SocketAddr, error: &io::Error) {
        let (remote_ip, error) = (peer.ip(), error.to_string());
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.is_some_and(|at| at.elapsed() < WARN_EVERY) {
            tracing::debug!(target: "api", %remote_ip, error, "a TLS handshake failed");
        } else {
            *warned = Some(Instant::now());
            tracing::warn!(target: "api", %remote_ip, error, "a TLS handshake failed");
        }
    }
}

/// Answers a client that takes this for a plain HTTP server, if it would understand.
async fn refuse_plain_text(stream: &mut TcpStream) -> io::Result<()> {
    let mut beginning = [0; 5];
    stream.read_exact(&mut beginning).await?;
    if !REQUEST_BEGINNINGS.contains(&&beginning) {
        return Ok(());
    }
    stream.write_all(PLAIN_REQUEST_ANSWER).await?;
    stream.shutdown().await?;
    // Closing with unread bytes would reset the connection, and the answer might be lost.
    let mut rest = [0; 4096];
    let reading = async { while let Ok(1..) = stream.read(&mut rest).await {} };
    drop(timeout(FAREWELL_LIMIT, reading).await);
    Ok(())
}
