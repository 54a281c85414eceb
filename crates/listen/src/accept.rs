//! Accepting a connection, whatever errors the system reports in between.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use nix::errno::Errno;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::warn_throttle::WarnThrottle;

/// Pause after a failure to accept that only time can cure, such as running out of descriptors.
const PAUSE: Duration = Duration::from_millis(500);

/// Silence after which a peer's machine is probed, the interval of the probes, and their number before the
/// connection is given up: after 25 s.
const PROBE_AFTER: Duration = Duration::from_secs(10);
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
const PROBES: u32 = 3;

/// The next connection. The address of a peer that reached an IPv6 socket by IPv4 is the IPv4 one. Fails only if the
/// listener itself is broken. Safe to cancel.
pub(crate) async fn accept(
    listener: &TcpListener,
    warned: &WarnThrottle,
) -> io::Result<(TcpStream, SocketAddr)> {
    loop {
        let error = match listener.accept().await {
            Ok((stream, peer)) => {
                prepare(&stream);
                let canonical = SocketAddr::new(peer.ip().to_canonical(), peer.port());
                return Ok((stream, canonical));
            }
            Err(error) => error,
        };
        match after(&error) {
            After::GoOn => {}
            After::Pause => {
                if warned.is_due() {
                    tracing::warn!(%error, "cannot accept connections for the moment");
                }
                sleep(PAUSE).await;
            }
            After::GiveUp => return Err(error),
        }
    }
}

fn prepare(stream: &TcpStream) {
    // Without it small answers may wait for the acknowledgement of the packet before them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot switch off Nagle's algorithm");
    }
    let keepalive = TcpKeepalive::new()
        .with_time(PROBE_AFTER)
        .with_interval(PROBE_INTERVAL)
        .with_retries(PROBES);
    if let Err(error) = SockRef::from(stream).set_tcp_keepalive(&keepalive) {
        tracing::debug!(%error, "a machine that vanishes will not be noticed");
    }
}

#[derive(Debug, PartialEq, Eq)]
enum After {
    /// The error belongs to one connection that is gone.
    GoOn,
    /// The next attempt would fail the same way.
    Pause,
    /// The listener is of no use any more.
    GiveUp,
}

fn after(error: &io::Error) -> After {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EBADF | Errno::EINVAL | Errno::ENOTSOCK | Errno::EOPNOTSUPP) => After::GiveUp,
        Some(Errno::ECONNABORTED | Errno::ECONNRESET | Errno::EINTR | Errno::EPROTO) => After::GoOn,
        _ => After::Pause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_broken_listener_ends_serving() {
        let cases = [
            (Errno::ECONNABORTED, After::GoOn),
            (Errno::EMFILE, After::Pause),
            (Errno::ENFILE, After::Pause),
            (Errno::EBADF, After::GiveUp),
        ];
        for (errno, expected) in cases {
            let error = io::Error::from_raw_os_error(errno as i32);
            assert_eq!(after(&error), expected, "{errno}");
        }
    }

    #[tokio::test]
    async fn a_peer_that_comes_by_ipv4_has_an_address_of_ipv4() {
        let listener = TcpListener::bind("[::]:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let _client = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let (_stream, peer) = accept(&listener, &WarnThrottle::default()).await.unwrap();
        assert_eq!(peer.ip().to_string(), "127.0.0.1");
    }
}
