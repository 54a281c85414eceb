//! Accepts TLS connections (docs/rest.md#transport).

use std::future::Future;
use std::io;
use std::time::Duration;

use cts_tls::{PeerCertificate, ServerTls};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::transport::connection::Protocol;
use crate::transport::rejection::say_and_end;

/// First byte of every TLS connection: a handshake record.
const HANDSHAKE_RECORD: u8 = 0x16;

/// How requests begin that are answered although they are not TLS.
const REQUEST_BEGINNINGS: [&[u8; 5]; 7] = [
    b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO", b"PATCH", b"DELET",
];

const PLAIN_REQUEST_ANSWER: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// Longest time for the rest of a request in plain text.
const REST_LIMIT: Duration = Duration::from_secs(10);

/// Longest time for a refused client to take the alert.
const ALERT_LIMIT: Duration = Duration::from_secs(1);

/// Admits connections once they have shown the required credentials.
#[derive(Debug, Clone)]
pub(crate) struct TlsAcceptor {
    tls: ServerTls,
}

/// A connection over TLS.
pub(crate) struct OpenedConnection {
    pub(crate) stream: TlsStream<TcpStream>,
    pub(crate) protocol: Protocol,
    /// The certificate that the client has shown, if the server requested a certificate.
    pub(crate) certificate: Option<PeerCertificate>,
}

impl TlsAcceptor {
    pub(crate) fn new(tls: ServerTls) -> Self {
        Self { tls }
    }

    /// Keeps the certificate in view until `shutdown` is over.
    pub(crate) async fn follow_files(&self, shutdown: impl Future<Output = ()>) {
        self.tls.clone().follow_files(shutdown).await;
    }

    /// Does the handshake.
    pub(crate) async fn admit(self, mut stream: TcpStream) -> io::Result<OpenedConnection> {
        let mut first = [0];
        if stream.peek(&mut first).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if first != [HANDSHAKE_RECORD] {
            refuse_plain_text(&mut stream).await?;
            return Err(io::Error::other("it does not begin with a TLS handshake"));
        }
        let acceptor = tokio_rustls::TlsAcceptor::from(self.tls.current());
        let stream = match acceptor.accept(stream).into_fallible().await {
            Ok(stream) => stream,
            Err((error, mut stream)) => {
                // The alert is lost if the client has already sent its request.
                drop(say_and_end(&mut stream, &[], ALERT_LIMIT).await);
                return Err(error);
            }
        };
        let session = stream.get_ref().1;
        let protocol = match session.alpn_protocol() {
            Some(b"h2") => Protocol::Http2,
            _ => Protocol::Http1,
        };
        let certificates = session.peer_certificates().unwrap_or_default();
        let certificate = certificates.first().map(PeerCertificate::read);
        Ok(OpenedConnection {
            stream,
            protocol,
            certificate,
        })
    }
}

/// Answers a client that assumes a plain HTTP server, if the client would understand the answer.
async fn refuse_plain_text(stream: &mut TcpStream) -> io::Result<()> {
    let mut beginning = [0; 5];
    stream.read_exact(&mut beginning).await?;
    if !REQUEST_BEGINNINGS.contains(&&beginning) {
        return Ok(());
    }
    say_and_end(stream, PLAIN_REQUEST_ANSWER, REST_LIMIT).await
}
