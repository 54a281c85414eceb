//! A connection that keeps a guard as long as it lives: the permit of a client, or a notification of the end. At a
//! server the connection fails as timed out unless its client begins.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use cts_listen::ClientPermit;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tonic::transport::server::Connected;

use crate::admission::ConnectedPeer;

/// Length of the bytes with which every client of HTTP/2 begins. After them the client is probed for signs of
/// life.
const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();

/// Time for them.
const LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Connection<S, G = ClientPermit> {
    stream: S,
    _guard: G,
    peer: ConnectedPeer,
    /// There until the client of a server has begun.
    awaited: Option<Awaited>,
}

#[derive(Debug)]
struct Awaited {
    bytes: usize,
    limit: Pin<Box<Sleep>>,
}

impl<S, G> Connection<S, G> {
    /// A connection to a server.
    pub(crate) const fn outgoing(stream: S, guard: G) -> Self {
        Self {
            stream,
            _guard: guard,
            peer: ConnectedPeer {
                address: None,
                identity: None,
            },
            awaited: None,
        }
    }

    /// A connection of a client, whose time begins now.
    pub(crate) fn incoming(stream: S, guard: G, peer: ConnectedPeer) -> Self {
        Self {
            stream,
            _guard: guard,
            peer,
            awaited: Some(Awaited {
                bytes: PREFACE,
                limit: Box::pin(sleep(LIMIT)),
            }),
        }
    }
}

impl<S, G> Connected for Connection<S, G> {
    type ConnectInfo = ConnectedPeer;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.peer.clone()
    }
}

impl<S: AsyncRead + Unpin, G: Unpin> AsyncRead for Connection<S, G> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let Some(awaited) = &mut self.awaited else {
            return read;
        };
        match &read {
            Poll::Ready(_) => {
                let came = buffer.filled().len() - before;
                awaited.bytes = awaited.bytes.saturating_sub(came);
                if awaited.bytes == 0 {
                    self.awaited = None;
                }
                read
            }
            Poll::Pending => awaited
                .limit
                .as_mut()
                .poll(cx)
                .map(|()| Err(io::ErrorKind::TimedOut.into())),
        }
    }
}

impl<S: AsyncWrite + Unpin, G: Unpin> AsyncWrite for Connection<S, G> {
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
        slices: &[io::IoSlice<'_>],
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

#[cfg(test)]
mod tests {
    use cts_listen::{ClientLimit, ClientLimiter};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::timeout;

    use super::*;

    fn connection() -> (DuplexStream, Connection<DuplexStream>) {
        let limiter = ClientLimiter::new(ClientLimit {
            total: 1,
            per_client: 1,
        });
        let (client, server) = duplex(64);
        (
            client,
            Connection::incoming(
                server,
                limiter.acquire(None).unwrap(),
                ConnectedPeer::default(),
            ),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_begin_is_given_up() {
        let (mut client, mut server) = connection();
        client.write_all(b"PRI").await.unwrap();
        let mut bytes = [0; 4];
        let error = server.read_exact(&mut bytes).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn connection_may_be_silent_after_its_preface() {
        let (mut client, mut server) = connection();
        client.write_all(&[b'x'; PREFACE]).await.unwrap();
        server.read_exact(&mut [0; PREFACE]).await.unwrap();
        let silent = timeout(LIMIT * 10, server.read_u8()).await;
        assert!(silent.is_err(), "{silent:?}");
    }
}
