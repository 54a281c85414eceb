//! Servers: some services, health checking and reflection, so that `grpcurl` works against each.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::time::Duration;

use cts_listen::{ClientLimit, ClientLimiter};
use cts_tls::ServerTls;
use futures::future::try_join_all;
use futures::{Stream, StreamExt as _, stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::service::{Routes, RoutesBuilder};
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tonic_health::server::HealthReporter;
use tower::Service;

use crate::admission::{AccessLayer, AccessRules, ConnectedPeer};
use crate::call_limit::CallLimitLayer;
use crate::connection::Connection;
use crate::health::{HealthSwitch, set_all};
use crate::incoming::{divide, plain_connections, tls_connections};
use crate::memory::MemoryListener;
use crate::metrics::{CallMetrics, MeasuringLayer};

/// Pause before a silent connection gets a ping, and time for the answer. A stalled client is lost before a lease ends,
/// so that a call that it left waiting does not get the run again.
const KEEP_ALIVE: Duration = Duration::from_secs(2);

/// Time for calls in progress when a server ends. The pings of a connection that is about to be closed are
/// no help against a client that stands still.
const LONGEST_END: Duration = Duration::from_secs(5);

/// The services that one listener serves. Cheap to clone: one set can be served in memory and over TCP.
#[derive(Debug, Clone, Default)]
pub struct Endpoints {
    routes: RoutesBuilder,
    names: Vec<&'static str>,
    health: HealthSwitch,
    access: AccessRules,
    metrics: Option<CallMetrics>,
}

impl Endpoints {
    /// No service yet; what is built will still answer health checks and reflection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a generated server.
    #[must_use]
    pub fn with<S>(mut self, service: S) -> Self
    where
        S: Service<http::Request<Body>, Error = Infallible>
            + NamedService
            + Clone
            + Send
            + Sync
            + 'static,
        S::Response: axum::response::IntoResponse,
        S::Future: Send + 'static,
    {
        self.routes.add_service(service);
        self.names.push(S::NAME);
        self
    }

    /// Names of the services, health checking and reflection not among them.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Lets `switch` decide the answers to health checks. Without it the answer is `SERVING`.
    #[must_use]
    pub fn with_health(mut self, switch: HealthSwitch) -> Self {
        self.health = switch;
        self
    }

    /// Sets the rules of network listeners. In-memory callers are parts of this process and may call everything.
    #[must_use]
    pub fn with_access(mut self, access: AccessRules) -> Self {
        self.access = access;
        self
    }

    /// Measures the calls.
    #[must_use]
    pub fn with_metrics(mut self, metrics: CallMetrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Serves one in-memory listener until `shutdown` is over; calls in progress are finished.
    pub async fn serve_memory(
        self,
        listener: MemoryListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error> {
        // The server ends with `shutdown` alone, and not with its last client.
        let incoming = listener.into_stream().chain(stream::pending());
        let servers = vec![(Server::builder(), CallLimitLayer(None), incoming)];
        self.serve(servers, AccessLayer::memory(), shutdown).await
    }

    /// Serves one bound socket in plain text until `shutdown` is over; calls in progress are finished, if they take no
    /// longer than 5 s. A client that has stopped or is cut off loses its connection within 4 s; a client that does not
    /// begin, after 10 s. Connections without a permit in `limiter` are closed.
    pub async fn serve_tcp(
        self,
        listener: TcpListener,
        limiter: ClientLimiter,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error> {
        let incoming = plain_connections(listener, limiter);
        self.serve_network(incoming, false, shutdown).await
    }

    /// Like [`Endpoints::serve_tcp`], with TLS only. Each connection keeps the certificate that `tls` holds when the
    /// connection comes in.
    pub async fn serve_tls(
        self,
        listener: TcpListener,
        limiter: ClientLimiter,
        tls: ServerTls,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error> {
        let domain = self.access.domain.clone();
        let incoming = Box::pin(tls_connections(listener, limiter, tls, domain));
        self.serve_network(incoming, true, shutdown).await
    }

    /// Serves connections of services, and connections of other clients with smaller limits.
    async fn serve_network<S>(
        self,
        incoming: impl Stream<Item = io::Result<Connection<S>>>,
        tls: bool,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let access = AccessLayer::network(self.access.clone(), tls);
        let rules = self.access.clone();
        let is_service = move |peer: &ConnectedPeer| rules.may_be_service(peer.identity.as_deref());
        let ([services, others], dividing) = divide(incoming, is_service);
        // Dropping `dividing` closes the listener.
        let end = async {
            tokio::select! {
                () = shutdown => {}
                () = dividing => {}
            }
        };
        let calls = CallLimitLayer(Some(ClientLimiter::new(ALL_OTHER_CALLS)));
        let servers = vec![
            (service_server(), CallLimitLayer(None), services),
            (other_server(), calls, others),
        ];
        Box::pin(self.serve(servers, access, end)).await
    }

    async fn serve<IO>(
        self,
        servers: Vec<(Server, CallLimitLayer, impl Stream<Item = io::Result<IO>>)>,
        access: AccessLayer,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error>
    where
        IO: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
    {
        let measuring = MeasuringLayer(self.metrics.clone());
        let (health, names) = (self.health.clone(), self.names.clone());
        let (routes, reporter) = self.into_routes().await;
        let end = CancellationToken::new();
        let serving = servers.into_iter().map(|(server, calls, incoming)| {
            server
                .layer(measuring.clone())
                .layer(calls)
                .layer(access.clone())
                .add_routes(routes.clone())
                .serve_with_incoming_shutdown(incoming, end.clone().cancelled_owned())
        });
        let serving = try_join_all(serving);
        let overdue = async {
            shutdown.await;
            end.cancel();
            tokio::time::sleep(LONGEST_END).await;
        };
        tokio::select! {
            ended = serving => ended.map(drop),
            never = health.report(&reporter, &names) => match never {},
            () = overdue => {
                tracing::warn!("clients do not take leave and are left behind");
                Ok(())
            }
        }
    }

    async fn into_routes(mut self) -> (Routes, HealthReporter) {
        let (reporter, health_server) = tonic_health::server::health_reporter();
        set_all(&reporter, &self.names, self.health.is_serving()).await;
        let mut reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(cts_proto::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .with_service_name(tonic_health::pb::health_server::SERVICE_NAME)
            .with_service_name(tonic_reflection::pb::v1::server_reflection_server::SERVICE_NAME);
        for name in &self.names {
            reflection = reflection.with_service_name(*name);
        }
        let reflection = reflection
            .build_v1()
            .expect("the committed descriptors decode");
        self.routes
            .add_service(health_server)
            .add_service(reflection);
        (self.routes.routes().prepare(), reporter)
    }
}

/// Most calls in progress on one connection of a service; a gateway has one call for each of its clients that waits or
/// follows.
const SERVICE_CALLS: u32 = 8192;

/// Most calls in progress on one connection of a user, a program with a token, or an unknown client.
const OTHER_CALLS: u32 = 100;

/// Calls in progress on all their connections; each may last, and takes about 8 KiB as long.
const ALL_OTHER_CALLS: ClientLimit = ClientLimit {
    total: 4096,
    per_client: 1024,
};

/// Most bytes that other clients may send on one connection before they are read; HTTP/2 allows no smaller number.
const OTHER_WINDOW: u32 = 65_535;

fn service_server() -> Server {
    network_server().max_concurrent_streams(SERVICE_CALLS)
}

fn other_server() -> Server {
    network_server()
        .max_concurrent_streams(OTHER_CALLS)
        .initial_stream_window_size(OTHER_WINDOW)
        .initial_connection_window_size(OTHER_WINDOW)
}

/// Clients over a network can vanish without a word.
fn network_server() -> Server {
    Server::builder()
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE))
}
