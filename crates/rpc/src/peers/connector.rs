//! Connections whose end is noticed.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

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
            Ok::<_, io::Error>(TokioIo::new(Watched { stream, lost }))
        }
    }))
}

struct Watched {
    stream: TcpStream,
    lost: Arc<Notify>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.lost.notify_one();
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
