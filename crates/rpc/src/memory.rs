//! The transport of the embedded mode: the full HTTP/2 stack over pipes in memory.
//!
//! Embedded services thus run the same code as across machines, conversions, deadlines and graceful ends
//! included, without a socket. The connector makes a new pipe for every connection, so a client reconnects as
//! it would over the network.

use std::io;

use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

use crate::client::STATUS_BYTES;

/// Bytes that a pipe holds in each direction before the writer waits.
const PIPE_BYTES: usize = 256 * 1024;

/// The server's end: hands out connections as they are made.
#[derive(Debug)]
pub struct MemoryListener(mpsc::UnboundedReceiver<DuplexStream>);

impl MemoryListener {
    /// The connections, for `serve_with_incoming`.
    pub fn into_stream(self) -> impl Stream<Item = io::Result<DuplexStream>> {
        UnboundedReceiverStream::new(self.0).map(Ok)
    }
}

/// A listener and a channel to it. The channel connects with its first call; calls fail as
/// unavailable when the listener is gone.
pub fn memory_transport() -> (MemoryListener, Channel) {
    let (listener, [channel]) = memory_transports();
    (listener, channel)
}

/// Makes several channels, each with its own connection: if the answers of one channel are read slowly, the calls of
/// the others continue.
pub fn memory_transports<const CHANNELS: usize>() -> (MemoryListener, [Channel; CHANNELS]) {
    let (connections, accepted) = mpsc::unbounded_channel();
    let channels = std::array::from_fn(|_| channel(connections.clone()));
    (MemoryListener(accepted), channels)
}

fn channel(connections: mpsc::UnboundedSender<DuplexStream>) -> Channel {
    let connector = service_fn(move |_: Uri| {
        let (client, server) = tokio::io::duplex(PIPE_BYTES);
        let sent = connections.send(server);
        async move {
            match sent {
                Ok(()) => Ok(TokioIo::new(client)),
                Err(_closed) => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
            }
        }
    });
    Endpoint::from_static("http://memory.invalid")
        .http2_max_header_list_size(STATUS_BYTES)
        .connect_with_connector_lazy(connector)
}
