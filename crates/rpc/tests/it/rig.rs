//! Servers that give their names, and that can be killed and frozen.

use std::convert::Infallible;
use std::future::{Ready, pending, ready};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Poll};
use std::time::Duration;

use cts_listen::{ClientLimit, ClientLimiter};
use cts_rpc::admission::ConnectedPeer;
use cts_rpc::{Address, ClientTls, Endpoints, HealthSwitch, Peer, Peers, ProbeTimes, ServerTls};
use cts_runtime::SystemClock;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::transport::Channel;
use tower::{Service, ServiceExt as _};

/// More than anything here takes when it works.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// Answers any call with its name.
#[derive(Clone)]
struct Who(&'static str);

impl NamedService for Who {
    const NAME: &'static str = "test.Who";
}

impl Service<http::Request<Body>> for Who {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let shown = request
            .extensions()
            .get::<ConnectedPeer>()
            .and_then(|peer| peer.identity.as_ref())
            .map(|identity| identity.certificate.clone());
        let mut hash = DefaultHasher::new();
        shown.hash(&mut hash);
        let response = http::Response::builder()
            .header("who", self.0)
            .header("certificate", hash.finish());
        ready(Ok(response.body(Body::empty()).unwrap()))
    }
}

/// Asks the server behind a channel for its name.
pub(crate) async fn who(channel: Channel) -> Result<String, tonic::transport::Error> {
    ask(channel, "who").await
}

/// Asks which certificate the client showed.
pub(crate) async fn shown(channel: Channel) -> Result<String, tonic::transport::Error> {
    ask(channel, "certificate").await
}

async fn ask(mut channel: Channel, what: &str) -> Result<String, tonic::transport::Error> {
    let request = http::Request::post("/test.Who/Ask").body(Body::empty());
    let answer = async {
        let channel = channel.ready().await?;
        let response = channel.call(request.unwrap()).await?;
        Ok(response.headers()[what].to_str().unwrap().to_owned())
    };
    timeout(LIMIT, answer).await.unwrap()
}

/// A server in a runtime of its own, as a process is: when it is dropped, its connections break.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) health: HealthSwitch,
    runtime: Option<Runtime>,
}

impl Server {
    pub(crate) fn start(name: &'static str) -> Self {
        Self::on(bind(), name, None)
    }

    pub(crate) fn with_tls(name: &'static str, tls: ServerTls) -> Self {
        Self::on(bind(), name, Some(tls))
    }

    pub(crate) fn on(listener: TcpListener, name: &'static str, tls: Option<ServerTls>) -> Self {
        Self::of_size(ClientLimit::UNLIMITED, listener, name, tls)
    }

    pub(crate) fn of_size(
        size: ClientLimit,
        listener: TcpListener,
        name: &'static str,
        tls: Option<ServerTls>,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let health = HealthSwitch::new();
        let endpoints = Endpoints::new().with(Who(name)).with_health(health.clone());
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let limiter = ClientLimiter::new(size);
            match tls {
                Some(tls) => endpoints.serve_tls(listener, limiter, tls, pending()).await,
                None => endpoints.serve_tcp(listener, limiter, pending()).await,
            }
        });
        Self {
            address,
            health,
            runtime: Some(runtime),
        }
    }

    /// Stops all its work until what is returned is dropped. Connections stay as they are.
    pub(crate) fn freeze(&self) -> mpsc::Sender<()> {
        let (thaw, frozen) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        // The runtime has one thread only, which this keeps busy until the other end is dropped.
        self.runtime.as_ref().unwrap().spawn(async move {
            begin.send(()).unwrap();
            frozen.recv().unwrap_err();
        });
        begun.recv().unwrap();
        thaw
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

pub(crate) fn bind() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// Peers with their driver running, and short times.
pub(crate) struct Followed {
    pub(crate) peers: Peers,
    healthy: watch::Receiver<Arc<[Peer]>>,
    _driver: JoinSet<()>,
}

impl Followed {
    pub(crate) fn plain(addresses: &[String]) -> Self {
        Self::new(addresses, None)
    }

    pub(crate) fn new(addresses: &[String], tls: Option<&ClientTls>) -> Self {
        let addresses: Vec<Address> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let (peers, driver) = Peers::new("test", addresses, tls, Arc::new(SystemClock)).unwrap();
        let driver = driver.with_times(ProbeTimes {
            every: Duration::from_millis(200),
            limit: Duration::from_millis(500),
            retry_min: Duration::from_millis(20),
            retry_max: Duration::from_millis(200),
            resolve_every: Duration::from_secs(1),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(driver.run(pending()));
        Self {
            healthy: peers.healthy(),
            peers,
            _driver: tasks,
        }
    }

    /// Waits until exactly these are healthy.
    pub(crate) async fn until_healthy(&mut self, expected: &[SocketAddr]) -> Arc<[Peer]> {
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        let as_expected = |peers: &Arc<[Peer]>| {
            let sockets: Vec<_> = peers.iter().filter_map(Peer::address).collect();
            sockets == expected
        };
        let waiting = self.healthy.wait_for(as_expected);
        Arc::clone(&*timeout(LIMIT, waiting).await.unwrap().unwrap())
    }

    pub(crate) async fn who(&self) -> Result<String, tonic::transport::Error> {
        who(self.peers.channel()).await
    }

    /// Calls until all of these have answered.
    pub(crate) async fn until_heard(&self, names: &[&str]) {
        let mut missing = names.to_vec();
        for _ in 0..10_000 {
            let name = self.who().await.unwrap();
            missing.retain(|missing| *missing != name);
            if missing.is_empty() {
                return;
            }
        }
        panic!("never heard of {missing:?}");
    }

    /// Calls many times and demands that it is this one each time.
    pub(crate) async fn hears_only(&self, name: &str) {
        for _ in 0..50 {
            assert_eq!(self.who().await.unwrap(), name);
        }
    }
}
