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
use crate::room::{Full, Place, Room, client};
use crate::seldom::Seldom;

/// Makes a connection from an accepted socket, by a TLS handshake or as it is.
pub type Opening<S> = Box<dyn Fn(TcpStream) -> BoxFuture<'static, io::Result<S>> + Send + Sync>;

/// Accepts connections, has them opened side by side, and keeps to the places of a [`Room`].
///
/// A connection that is being opened has a place as any other, but not for good: if no other place is free, the
/// oldest of the client that has most of them makes room. So sockets that stand still keep no client out.
pub struct Entrance<S> {
    listener: TcpListener,
    room: Room,
    open: Opening<S>,
    time: Duration,
    opening: JoinSet<io::Result<S>>,
    guests: HashMap<Id, Guest>,
    arrivals: u64,
    warned: Seldom,
}

/// A connection that is being opened.
#[derive(Debug)]
struct Guest {
    peer: SocketAddr,
    place: Place,
    number: u64,
    handle: AbortHandle,
}

/// An opened connection, or a socket that did not become one.
#[derive(Debug)]
pub enum Arrival<S> {
    /// A connection that may be served.
    Admitted(Admitted<S>),
    /// A socket that finds no free place.
    Refused(Refused),
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
pub struct Admitted<S> {
    /// The opened stream.
    pub stream: S,
    /// The other end.
    pub peer: SocketAddr,
    /// Place of the connection, to be kept as long as the connection.
    pub place: Place,
}

/// A socket that finds no free place. Dropping it closes it.
#[derive(Debug)]
pub struct Refused {
    /// The socket as accepted.
    pub stream: TcpStream,
    /// The other end.
    pub peer: SocketAddr,
    /// Reason: which places are all taken.
    pub why: Full,
}

impl<S: Send + 'static> Entrance<S> {
    /// Opening a connection may take `time`. Dropping the entrance closes the listener and what is being opened.
    pub fn new(listener: TcpListener, room: Room, time: Duration, open: Opening<S>) -> Self {
        Self {
            listener,
            room,
            open,
            time,
            opening: JoinSet::new(),
            guests: HashMap::new(),
            arrivals: 0,
            warned: Seldom::default(),
        }
    }

    /// Waits for the next arrival. Fails only if the listener is broken. Safe to cancel.
    pub async fn next(&mut self) -> io::Result<Arrival<S>> {
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
                        return Ok(Arrival::Refused(refused));
                    }
                }
            }
        }
    }

    fn begin(&mut self, stream: TcpStream, peer: SocketAddr) -> Option<Refused> {
        let owner = client(peer.ip());
        let place = match self.room.take(owner) {
            Ok(place) => place,
            Err(why) => {
                self.make_room(why, owner);
                match self.room.take(owner) {
                    Ok(place) => place,
                    Err(why) => return Some(Refused { stream, peer, why }),
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
        let guest = Guest {
            peer,
            place,
            number: self.arrivals,
            handle,
        };
        self.guests.insert(guest.handle.id(), guest);
        None
    }

    /// Gives up the oldest connection that is being opened: of this client if its own places are taken, else of the
    /// client that has most of them.
    fn make_room(&mut self, why: Full, owner: Option<IpAddr>) {
        let loser = match why {
            Full::Client => owner,
            Full::All => {
                let mut counts = HashMap::<_, usize>::new();
                for guest in self.guests.values() {
                    *counts.entry(client(guest.peer.ip())).or_default() += 1;
                }
                let most = counts.into_iter().max_by_key(|&(_client, count)| count);
                most.and_then(|(client, _count)| client)
            }
        };
        let of_loser = |guest: &&Guest| client(guest.peer.ip()) == loser;
        let oldest = self.guests.values().filter(of_loser);
        let oldest = oldest.min_by_key(|guest| guest.number);
        if let Some(id) = oldest.map(|guest| guest.handle.id())
            && let Some(guest) = self.guests.remove(&id)
        {
            tracing::debug!(remote_ip = %guest.peer.ip(), "a connection that was being opened makes room");
            guest.handle.abort();
        }
    }

    fn opened(&mut self, ended: Result<(Id, io::Result<S>), JoinError>) -> Option<Arrival<S>> {
        let (id, opened) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                self.guests.remove(&error.id());
                if error.is_panic() {
                    tracing::error!(%error, "a connection could not be opened");
                }
                return None;
            }
        };
        // A connection that has just made room is gone, however far it came.
        let Guest { peer, place, .. } = self.guests.remove(&id)?;
        Some(match opened {
            Ok(stream) => Arrival::Admitted(Admitted {
                stream,
                peer,
                place,
            }),
            Err(error) => Arrival::Failed { peer, error },
        })
    }
}

impl<S> fmt::Debug for Entrance<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entrance")
            .field("listener", &self.listener)
            .field("room", &self.room)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::room::Size;

    const TIME: Duration = Duration::from_mins(10);

    async fn entrance(total: usize, open: Opening<TcpStream>) -> (SocketAddr, Entrance<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let room = Room::new(Size {
            total,
            per_client: 1,
        });
        (address, Entrance::new(listener, room, TIME, open))
    }

    fn at_once() -> Opening<TcpStream> {
        Box::new(|stream| Box::pin(ready(Ok(stream))))
    }

    /// Opens a socket once it has sent a byte.
    fn with_a_word() -> Opening<TcpStream> {
        Box::new(|mut stream| {
            Box::pin(async {
                stream.read_u8().await?;
                Ok(stream)
            })
        })
    }

    #[tokio::test]
    async fn who_finds_no_place_is_refused_until_one_is_free() {
        let (address, mut entrance) = entrance(1, at_once()).await;
        let _one = TcpStream::connect(address).await.unwrap();
        let Arrival::Admitted(first) = entrance.next().await.unwrap() else {
            panic!("the first has a place");
        };
        let _other = TcpStream::connect(address).await.unwrap();
        let Arrival::Refused(refused) = entrance.next().await.unwrap() else {
            panic!("there is one place");
        };
        assert_eq!(refused.why, Full::All);
        drop(first);
        let _third = TcpStream::connect(address).await.unwrap();
        let arrival = entrance.next().await.unwrap();
        assert!(matches!(arrival, Arrival::Admitted(_)), "{arrival:?}");
    }

    #[tokio::test]
    async fn sockets_that_stand_still_keep_nobody_out() {
        let (address, mut entrance) = entrance(8, with_a_word()).await;
        let mut silent = Vec::new();
        for _ in 0..8 {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let mut speaking = TcpStream::connect(address).await.unwrap();
        tokio::io::AsyncWriteExt::write_u8(&mut speaking, b'x')
            .await
            .unwrap();
        let arrival = entrance.next().await.unwrap();
        let Arrival::Admitted(admitted) = arrival else {
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
