//! One connection that is passed on.

use std::io;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::link::{Counts, Direction, Link, Route, reset};

/// Read at once.
const PIECE: usize = 16 * 1024;

/// Passes bytes both ways until both sides are done, one fails, or the link resets.
pub(super) async fn run(
    mut client: TcpStream,
    mut server: TcpStream,
    mut route: watch::Receiver<Route>,
    generation: u64,
    counts: &Counts,
) {
    let last = Mutex::new(Instant::now());
    for stream in [&client, &server] {
        // Small messages must not wait for each other; without it they are only slower.
        let _slower: io::Result<()> = stream.set_nodelay(true);
    }
    let (to_server, to_client) = (route.clone(), route.clone());
    let ended = quiet(route.clone(), &last);
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
                    (counts, &last)
                ),
                pass(
                    from_server,
                    into_client,
                    to_client,
                    Direction::ToClient,
                    (counts, &last)
                ),
            )
        };
        tokio::select! {
            passed = passing => passed.is_err(),
            () = ended => {
                counts.ended.fetch_add(1, Ordering::Relaxed);
                true
            }
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
    (counts, last): (&Counts, &Mutex<Instant>),
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece).await?;
        *last.lock() = Instant::now();
        if direction == Direction::ToServer && piece[..read].starts_with(b"GET ") {
            counts.reads.fetch_add(1, Ordering::Relaxed);
        }
        let passing = route.wait_for(|route| route.link.passes(direction)).await;
        let link = passing
            .map(|route| route.link)
            .map_err(|_closed| io::ErrorKind::ConnectionAborted)?;
        if let Link::Slow(delay) = link {
            sleep(delay).await;
        }
        if link.holds(direction, &piece[..read]) {
            counts.held.fetch_add(1, Ordering::Relaxed);
            let _closed = route.wait_for(|route| route.link != link).await;
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&piece[..read]).await?;
    }
}

/// Over when the link ends quiet connections and nothing has passed for as long as it says.
async fn quiet(mut route: watch::Receiver<Route>, last: &Mutex<Instant>) {
    loop {
        let link = route.borrow_and_update().link;
        let at = match link {
            Link::EndsQuiet(limit) => Some(*last.lock() + limit),
            _ => None,
        };
        if at.is_some_and(|at| at <= Instant::now()) {
            return;
        }
        let at = async {
            match at {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = at => {}
            changed = route.changed() => if changed.is_err() {
                return;
            }
        }
    }
}
