//! The reason that a server has for ending a connection.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};

use crate::address::Address;

/// Longest time for the second connection.
const LIMIT: Duration = Duration::from_secs(2);

/// Connects once more, without a request, and returns the alert with which the server ends that connection.
///
/// A server that rejects the client's certificate sends an alert and closes. In TLS 1.3 the client writes its
/// request by then, which the server does not read. So the system resets the connection, and the client may see
/// that instead of the alert.
pub(crate) async fn alert(address: &Address, tls: &Arc<ClientConfig>) -> Option<io::Error> {
    let (host, port) = address.host_and_port()?;
    let ended = async {
        let stream = TcpStream::connect((host, port)).await.ok()?;
        let name = ServerName::try_from(host.to_owned()).ok()?;
        match TlsConnector::from(Arc::clone(tls))
            .connect(name, stream)
            .await
        {
            Ok(mut stream) => stream.read(&mut [0]).await.err(),
            Err(error) => Some(error),
        }
    };
    let error = timeout(LIMIT, ended).await.ok()??;
    let inner = error.get_ref()?.downcast_ref();
    matches!(inner, Some(rustls::Error::AlertReceived(_))).then_some(error)
}
