//! One connection that is passed on.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::time::sleep;

use super::{Direction, Link, Route, reset};

/// Read at once.
const PIECE: usize = 16 * 1024;

/// Passes bytes both ways until both sides are done, one fails, or the link resets.
pub(super) async fn run(
    mut client: TcpStream,
    mut server: TcpStream,
    mut route: watch::Receiver<Route>,
    generation: u64,
    held: &AtomicUsize,
) {
    for stream in [&client, &server] {
        // Small messages must not wait for each other; without it they are only slower.
        let _slower: io::Result<()> = stream.set_nodelay(true);
    }
    let (to_server, to_client) = (route.clone(), route.clone());
    let broken = {
        let (from_client, into_client) = client.split();
        let (from_server, into_server) = server.split();
        let passing = async {
            tokio::try_join!(
                pass(
                    from_client,
                    into_server,
                    to_server,
                    Direction::ToServer,
                    held
                ),
                pass(
                    from_server,
                    into_client,
                    to_client,
                    Direction::ToClient,
                    held
                ),
            )
        };
        tokio::select! {
            passed = passing => passed.is_err(),
            _reset = route.wait_for(|now| now.link.resets() || now.generation != generation) => true,
        }
    };
    if broken {
        reset(&client);
        reset(&server);
    }
}

async fn pass(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    mut route: watch::Receiver<Route>,
    direction: Direction,
    held: &AtomicUsize,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece).await?;
        let passing = route.wait_for(|route| route.link.passes(direction)).await;
        let link = passing
            .map(|route| route.link)
            .map_err(|_closed| io::ErrorKind::ConnectionAborted)?;
        if let Link::Slow(delay) = link {
            sleep(delay).await;
        }
        if link.holds(direction, &piece[..read]) {
            held.fetch_add(1, Ordering::Relaxed);
            let _closed = route.wait_for(|route| route.link != link).await;
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&piece[..read]).await?;
    }
}
