//! Loads of callers without a credential, or with the weakest one: what they send and hold open is bounded by their
//! pace, so that two servers get the same.

mod heads;
mod http2;
mod sockets;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::FutureExt as _;
use futures::future::{LocalBoxFuture, join_all};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::measures::report::say;
use crate::strangers::http2::{Upload, big_heads, guess, idle, uploads, watch};

/// Name in the certificates of all servers.
const NAME: &str = "localhost";

/// Between the end of something that is held and the next attempt.
const PAUSE: Duration = Duration::from_secs(1);

/// Connections at each gRPC listener that are full of calls of `Health/Watch`: half of them with a credential.
const WATCHING: usize = 24;

/// Connections that are full of requests with a wrong token.
const GUESSING: usize = 8;

/// Connections with slow bodies at each listener: half of them with a credential. Two have 190 bodies.
const UPLOADING: usize = 4;

/// Connections with large bodies, and with huge heads.
const LARGE: usize = 4;

/// Clients that do one handshake after the other.
const HANDSHAKES: usize = 4;

/// Servers that strangers reach.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) api: SocketAddr,
    /// Listeners for gRPC.
    pub(crate) grpc: Vec<SocketAddr>,
    /// A token with few rights, which half of the strangers have.
    pub(crate) token: Arc<str>,
    /// For HTTP/1.1, without a certificate of the client.
    pub(crate) http1: Arc<ClientConfig>,
    /// For HTTP/2, without a certificate of the client.
    pub(crate) http2: Arc<ClientConfig>,
    /// For HTTP/2, with a certificate of few rights, which half of the strangers have.
    pub(crate) known: Arc<ClientConfig>,
}

/// Strangers at work, on a thread of their own; dropping it ends them.
#[derive(Debug)]
pub(crate) struct Strangers {
    attempts: Arc<AtomicU64>,
    stop: CancellationToken,
    working: Option<JoinHandle<()>>,
}

impl Strangers {
    /// Lets the strangers begin. `connections` is the number of connections of each kind that is held open.
    pub(crate) fn start(target: &Target, connections: usize) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("no runtime")?;
        let attempts = Arc::<AtomicU64>::default();
        let stop = CancellationToken::new();
        let (target, counted, stopped) = (target.clone(), Arc::clone(&attempts), stop.clone());
        let work = move || {
            let crowd = Crowd::of(&target, &counted, connections);
            runtime.block_on(stopped.run_until_cancelled(join_all(crowd.all)));
        };
        let working = Builder::new().name("strangers".to_owned()).spawn(work)?;
        Ok(Self {
            attempts,
            stop,
            working: Some(working),
        })
    }

    /// Connections that they have begun, and calls and requests that were answered.
    pub(crate) fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }
}

impl Drop for Strangers {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(Err(_panicked)) = self.working.take().map(JoinHandle::join) {
            say("the strangers have ended early");
        }
    }
}

struct Crowd<'a> {
    target: &'a Target,
    attempts: &'a Arc<AtomicU64>,
    all: Vec<LocalBoxFuture<'static, ()>>,
}

impl<'a> Crowd<'a> {
    fn of(target: &'a Target, attempts: &'a Arc<AtomicU64>, connections: usize) -> Self {
        let all = Vec::new();
        let mut crowd = Self {
            target,
            attempts,
            all,
        };
        crowd.at_api(connections);
        for address in &target.grpc {
            crowd.at_grpc(*address, connections);
        }
        crowd
    }

    fn at_api(&mut self, connections: usize) {
        let api = self.target.api;
        self.at_any(api, connections);
        self.repeat(connections, move |one| heads::open(one, api));
        self.repeat(connections, move |one| heads::slow(one, api));
        self.repeat(LARGE, move |one| heads::huge(one, api));
        self.repeat(GUESSING, move |one| guess(one, api));
        self.repeat(UPLOADING, move |one| {
            uploads(one, api, Upload::slow("/v1/tasks/task-0001/release"))
        });
        self.repeat(LARGE, move |one| {
            uploads(one, api, Upload::large("/v1/tasks"))
        });
    }

    fn at_grpc(&mut self, address: SocketAddr, connections: usize) {
        self.at_any(address, connections);
        self.repeat(WATCHING, move |one| watch(one, address));
        self.repeat(UPLOADING, move |one| {
            uploads(
                one,
                address,
                Upload::slow("/cts.task.v1.TaskService/CreateTask"),
            )
        });
    }

    fn at_any(&mut self, address: SocketAddr, connections: usize) {
        self.repeat(connections, move |one| sockets::silent(one, address));
        self.repeat(connections, move |one| idle(one, address));
        self.repeat(HANDSHAKES, move |one| sockets::handshakes(one, address));
        self.repeat(LARGE, move |one| big_heads(one, address));
    }

    /// So many strangers that attempt something again and again; every other one has a credential.
    fn repeat<Attempt>(&mut self, count: usize, attempt: impl Fn(Stranger) -> Attempt)
    where
        Attempt: Future<Output = ()> + 'static,
    {
        for number in 0..count {
            let stranger = Stranger {
                target: self.target.clone(),
                attempts: Arc::clone(self.attempts),
                is_known: number % 2 == 1,
            };
            self.all.push(attempt(stranger).boxed_local());
        }
    }
}

/// One of them.
#[derive(Debug, Clone)]
struct Stranger {
    target: Target,
    attempts: Arc<AtomicU64>,
    is_known: bool,
}

impl Stranger {
    fn token(&self) -> Option<&str> {
        self.is_known.then_some(&*self.target.token)
    }

    fn note(&self) {
        self.attempts.fetch_add(1, Ordering::Relaxed);
    }

    /// Holds something again and again: servers may refuse it, and end it.
    async fn again<T>(&self, pause: Duration, hold: impl AsyncFn() -> Result<T>) {
        loop {
            self.note();
            drop(hold().await);
            sleep(pause).await;
        }
    }

    async fn http1(&self, address: SocketAddr) -> Result<TlsStream<TcpStream>> {
        connect(address, &self.target.http1).await
    }

    async fn http2(&self, address: SocketAddr) -> Result<TlsStream<TcpStream>> {
        let tls = if self.is_known {
            &self.target.known
        } else {
            &self.target.http2
        };
        connect(address, tls).await
    }
}

async fn connect(address: SocketAddr, tls: &Arc<ClientConfig>) -> Result<TlsStream<TcpStream>> {
    let socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let connector = TlsConnector::from(Arc::clone(tls));
    let stream = connector
        .connect(ServerName::try_from(NAME)?, socket)
        .await?;
    Ok(stream)
}
