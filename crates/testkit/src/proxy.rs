//! A TCP proxy that makes a connection between two processes slow, broken or silent.

mod http;
mod link;
mod relay;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use self::link::Link;
use self::link::{Counts, Direction, Route, reset};

/// Listens on a loopback port of its own and passes connections on to a server. Ends with all its connections
/// when dropped.
#[derive(Debug)]
pub struct TcpProxy {
    address: SocketAddr,
    route: watch::Sender<Route>,
    counts: Arc<Counts>,
    _connections: JoinSet<()>,
}

impl TcpProxy {
    /// A proxy whose link is open. Nothing need listen at `server` yet.
    pub async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.unwrap_or_else(|error| panic!("no loopback port: {error}"));
        let address = listener.local_addr();
        let address = address.unwrap_or_else(|error| panic!("no loopback address: {error}"));
        let route = watch::Sender::new(Route {
            server,
            link: Link::Open,
            generation: 0,
        });
        let counts = Arc::default();
        let mut connections = JoinSet::new();
        connections.spawn(accept(listener, route.subscribe(), Arc::clone(&counts)));
        Self {
            address,
            route,
            counts,
            _connections: connections,
        }
    }

    /// Where clients connect.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The link that is in force.
    pub fn link(&self) -> Link {
        self.route.borrow().link
    }

    /// How many requests have been held so far.
    pub fn held(&self) -> usize {
        self.counts.held.load(Ordering::Relaxed)
    }

    /// How many HTTP requests with `GET` have come so far.
    pub fn reads(&self) -> usize {
        self.counts.reads.load(Ordering::Relaxed)
    }

    /// How many connections have been reset because they were quiet.
    pub fn ended(&self) -> usize {
        self.counts.ended.load(Ordering::Relaxed)
    }

    /// From now on the link is this one.
    pub fn set_link(&self, link: Link) {
        self.route.send_modify(|route| route.link = link);
    }

    /// Connects to a different server from now on. Connections to the one before are reset.
    pub fn set_server(&self, server: SocketAddr) {
        self.route.send_modify(|route| {
            route.server = server;
            route.generation += 1;
        });
    }
}

async fn accept(listener: TcpListener, route: watch::Receiver<Route>, counts: Arc<Counts>) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    open.spawn(serve(client, route.clone(), Arc::clone(&counts)));
                }
                // Such as too many open files: the next may be accepted again.
                Err(_refused) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(_ended) = open.join_next() => {}
        }
    }
}

async fn serve(client: TcpStream, mut route: watch::Receiver<Route>, counts: Arc<Counts>) {
    // Waits where the link is silent, so that the server is not connected to before it is not.
    let accepted = route.borrow_and_update().generation;
    let settled = route.wait_for(|route| {
        let link = route.link;
        link.resets() || link.passes(Direction::ToServer) || route.generation != accepted
    });
    let Ok(now) = settled.await.map(|route| *route) else {
        return;
    };
    match now.link {
        Link::Answer(status, text) => {
            http::answer(client, status, text, &mut route).await;
        }
        Link::Cut => reset(&client),
        _ if now.generation != accepted => reset(&client),
        _ => match TcpStream::connect(now.server).await {
            Ok(server) => relay::run(client, server, route, now.generation, &counts).await,
            Err(_refused) => reset(&client),
        },
    }
}
