//! Connections whose end is noticed.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

use crate::connection::Connection;

/// A channel to `socket` that notifies `lost` when a connection of its own has ended for any reason.
pub(super) fn watched_channel(
    endpoint: &Endpoint,
    socket: SocketAddr,
    lost: Arc<Notify>,
) -> Channel {
    endpoint.connect_with_connector_lazy(service_fn(move |_: Uri| {
        let lost = Arc::clone(&lost);
        async move {
            let stream = TcpStream::connect(socket).await?;
            stream.set_nodelay(true)?;
            let connection = Connection::outgoing(stream, NotifyOnDrop(lost));
            Ok::<_, io::Error>(TokioIo::new(connection))
        }
    }))
}

/// Notifies when its connection ends.
struct NotifyOnDrop(Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
