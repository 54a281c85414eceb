//! Makes connections that may be served of accepted sockets.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::timeout;

use crate::accept::accept;
use crate::client_limiter::{ClientLimiter, ClientPermit, LimitReached, client_key};
use crate::warn_throttle::WarnThrottle;

/// Makes a connection from an accepted socket, by a TLS handshake or as it is.
pub type OpenConnection<S> =
    Box<dyn Fn(TcpStream) -> BoxFuture<'static, io::Result<S>> + Send + Sync>;

/// Accepts connections, has them opened side by side, and keeps to the limits of a [`ClientLimiter`].
///
/// A connection that is being opened has a permit as any other, but not for good: if no other permit is free, the
/// oldest of the client that has most of them makes room. So sockets that stand still keep no client out.
pub struct LimitedListener<S> {
    listener: TcpListener,
    limiter: ClientLimiter,
    open: OpenConnection<S>,
    time: Duration,
    opening: JoinSet<io::Result<S>>,
    pending: HashMap<Id, PendingConnection>,
    arrivals: u64,
    warned: WarnThrottle,
}

/// A connection that is being opened.
#[derive(Debug)]
struct PendingConnection {
    peer: SocketAddr,
    permit: ClientPermit,
    number: u64,
    handle: AbortHandle,
}

/// An opened connection, or a socket that did not become one.
#[derive(Debug)]
pub enum Accepted<S> {
    /// A connection that may be served.
    Opened(OpenedConnection<S>),
    /// A socket that finds no free permit.
    Rejected(RejectedConnection),
    /// A socket that has not become a connection.
    Failed {
        /// The other end.
        peer: SocketAddr,
        /// The error.
        error: io::Error,
    },
}

/// A connection that may be served.
#[derive(Debug)]
pub struct OpenedConnection<S> {
    /// The opened stream.
    pub stream: S,
    /// The other end.
    pub peer: SocketAddr,
    /// Permit of the connection, to be kept as long as the connection.
    pub permit: ClientPermit,
}

/// A socket that finds no free permit. Dropping it closes it.
#[derive(Debug)]
pub struct RejectedConnection {
    /// The socket as accepted.
    pub stream: TcpStream,
    /// The other end.
    pub peer: SocketAddr,
    /// Reason: which places are all taken.
    pub why: LimitReached,
}

impl<S: Send + 'static> LimitedListener<S> {
    /// Limits the opening of a connection to `time`. Dropping the listener closes the socket and what is being opened.
    pub fn new(
        listener: TcpListener,
        limiter: ClientLimiter,
        time: Duration,
        open: OpenConnection<S>,
    ) -> Self {
        Self {
            listener,
            limiter,
            open,
            time,
            opening: JoinSet::new(),
            pending: HashMap::new(),
            arrivals: 0,
            warned: WarnThrottle::default(),
        }
    }

    /// Waits for the next arrival. Fails only if the listener is broken. Safe to cancel.
    pub async fn next(&mut self) -> io::Result<Accepted<S>> {
        loop {
            tokio::select! {
                Some(ended) = self.opening.join_next_with_id() => {
                    if let Some(arrival) = self.opened(ended) {
                        return Ok(arrival);
                    }
                }
                accepted = accept(&self.listener, &self.warned) => {
                    let (stream, peer) = accepted?;
                    if let Some(refused) = self.begin(stream, peer) {
                        return Ok(Accepted::Rejected(refused));
                    }
                }
            }
        }
    }

    fn begin(&mut self, stream: TcpStream, peer: SocketAddr) -> Option<RejectedConnection> {
        let owner = client_key(peer.ip());
        let permit = match self.limiter.acquire(owner) {
            Ok(permit) => permit,
            Err(why) => {
                self.make_room(why, owner);
                match self.limiter.acquire(owner) {
                    Ok(permit) => permit,
                    Err(why) => return Some(RejectedConnection { stream, peer, why }),
                }
            }
        };
        let opening = timeout(self.time, (self.open)(stream));
        let handle = self.opening.spawn(async {
            opening
                .await
                .unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()))
        });
        self.arrivals += 1;
        let connection = PendingConnection {
            peer,
            permit,
            number: self.arrivals,
            handle,
        };
        self.pending.insert(connection.handle.id(), connection);
        None
    }

    /// Gives up the oldest connection that is being opened: of this client if its own places are taken, else of the
    /// client that has most of them.
    fn make_room(&mut self, why: LimitReached, owner: Option<IpAddr>) {
        let loser = match why {
            LimitReached::Client => owner,
            LimitReached::Total => {
                let mut counts = HashMap::<_, usize>::new();
                for connection in self.pending.values() {
                    *counts.entry(client_key(connection.peer.ip())).or_default() += 1;
                }
                let most = counts.into_iter().max_by_key(|&(_client, count)| count);
                most.and_then(|(client, _count)| client)
            }
        };
        let of_loser = |connection: &&PendingConnection| client_key(connection.peer.ip()) == loser;
        let oldest = self.pending.values().filter(of_loser);
        let oldest = oldest.min_by_key(|connection| connection.number);
        if let Some(id) = oldest.map(|connection| connection.handle.id())
            && let Some(connection) = self.pending.remove(&id)
        {
            tracing::debug!(remote_ip = %connection.peer.ip(), "a connection that was being opened makes room");
            connection.handle.abort();
        }
    }

    fn opened(&mut self, ended: Result<(Id, io::Result<S>), JoinError>) -> Option<Accepted<S>> {
        let (id, opened) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                self.pending.remove(&error.id());
                if error.is_panic() {
                    tracing::error!(%error, "a connection could not be opened");
                }
                return None;
            }
        };
        // A connection that has just made room is gone, however far it came.
        let PendingConnection { peer, permit, .. } = self.pending.remove(&id)?;
        Some(match opened {
            Ok(stream) => Accepted::Opened(OpenedConnection {
                stream,
                peer,
                permit,
            }),
            Err(error) => Accepted::Failed { peer, error },
        })
    }
}

impl<S> fmt::Debug for LimitedListener<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LimitedListener")
            .field("listener", &self.listener)
            .field("limiter", &self.limiter)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::client_limiter::ClientLimit;

    const TIME: Duration = Duration::from_mins(10);

    async fn listener(
        total: usize,
        open: OpenConnection<TcpStream>,
    ) -> (SocketAddr, LimitedListener<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let limiter = ClientLimiter::new(ClientLimit {
            total,
            per_client: 1,
        });
        (address, LimitedListener::new(listener, limiter, TIME, open))
    }

    fn at_once() -> OpenConnection<TcpStream> {
        Box::new(|stream| Box::pin(ready(Ok(stream))))
    }

    /// Opens a socket once it has sent a byte.
    fn with_a_word() -> OpenConnection<TcpStream> {
        Box::new(|mut stream| {
            Box::pin(async {
                stream.read_u8().await?;
                Ok(stream)
            })
        })
    }

    #[tokio::test]
    async fn connections_beyond_the_limit_are_rejected_until_a_permit_is_free() {
        let (address, mut listener) = listener(1, at_once()).await;
        let _one = TcpStream::connect(address).await.unwrap();
        let Accepted::Opened(first) = listener.next().await.unwrap() else {
            panic!("the first has a permit");
        };
        let _other = TcpStream::connect(address).await.unwrap();
        let Accepted::Rejected(refused) = listener.next().await.unwrap() else {
            panic!("there is one permit");
        };
        assert_eq!(refused.why, LimitReached::Total);
        drop(first);
        let _third = TcpStream::connect(address).await.unwrap();
        let arrival = listener.next().await.unwrap();
        assert!(matches!(arrival, Accepted::Opened(_)), "{arrival:?}");
    }

    #[tokio::test]
    async fn sockets_that_stand_still_keep_nobody_out() {
        let (address, mut listener) = listener(8, with_a_word()).await;
        let mut silent = Vec::new();
        for _ in 0..8 {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let mut speaking = TcpStream::connect(address).await.unwrap();
        tokio::io::AsyncWriteExt::write_u8(&mut speaking, b'x')
            .await
            .unwrap();
        let arrival = listener.next().await.unwrap();
        let Accepted::Opened(admitted) = arrival else {
            panic!("{arrival:?}");
        };
        assert_eq!(admitted.peer, speaking.local_addr().unwrap());
        let mut rest = [0];
        assert_eq!(
            silent[0].read(&mut rest).await.unwrap(),
            0,
            "the oldest is gone"
        );
    }
}
