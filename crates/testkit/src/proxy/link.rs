//! State of the connections through a proxy.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio::net::TcpStream;

/// State of connections through a [`TcpProxy`](super::TcpProxy). A new value counts for open connections, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Everything passes.
    Open,
    /// Everything passes, each piece so much later.
    Slow(Duration),
    /// Open connections are reset, and so is every new one.
    Cut,
    /// Connections are accepted and stay open; nothing passes until the link changes.
    HalfOpen,
    /// Only what the server sends passes; what the client sends waits.
    ToClient,
    /// Only what the client sends passes; what the server sends waits.
    ToServer,
    /// Open connections are reset; every HTTP request is answered with this status and text.
    Answer(u16, &'static str),
    /// Everything passes but HTTP requests that begin with this text: they wait until the link changes, and are
    /// lost then, with their connections. [`TcpProxy::held`](super::TcpProxy::held) counts them.
    Hold(&'static str),
    /// Everything passes; a connection over which nothing has passed for this long is reset.
    EndsQuiet(Duration),
}

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    ToClient,
    ToServer,
}

impl Link {
    /// Its name in figures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Slow(_) => "slow",
            Self::Cut => "cut",
            Self::HalfOpen => "half-open",
            Self::ToClient => "one-way to the client",
            Self::ToServer => "one-way to the server",
            Self::Answer(..) => "answer",
            Self::Hold(_) => "hold",
            Self::EndsQuiet(_) => "ends quiet connections",
        }
    }

    pub(super) const fn passes(self, direction: Direction) -> bool {
        match self {
            Self::Open | Self::Slow(_) | Self::Hold(_) | Self::EndsQuiet(_) => true,
            Self::ToClient => matches!(direction, Direction::ToClient),
            Self::ToServer => matches!(direction, Direction::ToServer),
            Self::Cut | Self::HalfOpen | Self::Answer(..) => false,
        }
    }

    /// Whether a request that begins like this waits.
    pub(super) fn holds(self, direction: Direction, piece: &[u8]) -> bool {
        let Self::Hold(begin) = self else {
            return false;
        };
        direction == Direction::ToServer && piece.starts_with(begin.as_bytes())
    }

    pub(super) const fn resets(self) -> bool {
        matches!(self, Self::Cut | Self::Answer(..))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) server: SocketAddr,
    pub(super) link: Link,
    /// Counts changes of the server: connections to an earlier one are reset.
    pub(super) generation: u64,
}

/// Numbers of what has happened so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) held: AtomicUsize,
    pub(super) reads: AtomicUsize,
    pub(super) ended: AtomicUsize,
}

/// Ends the connection without an orderly goodbye, as soon as it is dropped.
pub(super) fn reset(stream: &TcpStream) {
    let _closed: io::Result<()> = stream.set_zero_linger();
}
