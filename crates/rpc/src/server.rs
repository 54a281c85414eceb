//! Servers: some services, health checking and reflection, so that `grpcurl` works against each.

use std::convert::Infallible;
use std::future::Future;

use futures::{StreamExt as _, stream};
use tokio::net::TcpListener;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::service::{Routes, RoutesBuilder};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tower::Service;

use crate::memory::MemoryListener;

/// The services behind one listener. Cheap to clone: one set can be served in memory and over TCP.
#[derive(Debug, Clone, Default)]
pub struct Endpoints {
    routes: RoutesBuilder,
    names: Vec<&'static str>,
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

    /// Serves one in-memory listener until `shutdown` is over; calls in progress are finished.
    pub async fn serve_memory(
        self,
        listener: MemoryListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error> {
        // That the last client is gone is no reason to end: `shutdown` alone is.
        let incoming = listener.into_stream().chain(stream::pending());
        Server::builder()
            .add_routes(self.into_routes().await)
            .serve_with_incoming_shutdown(incoming, shutdown)
            .await
    }

    /// Serves one bound socket until `shutdown` is over; calls in progress are finished.
    pub async fn serve_tcp(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error> {
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        Server::builder()
            .add_routes(self.into_routes().await)
            .serve_with_incoming_shutdown(incoming, shutdown)
            .await
    }

    async fn into_routes(mut self) -> Routes {
        let (health, health_server) = tonic_health::server::health_reporter();
        let mut reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(cts_proto::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .with_service_name(tonic_health::pb::health_server::SERVICE_NAME)
            .with_service_name(tonic_reflection::pb::v1::server_reflection_server::SERVICE_NAME);
        for name in &self.names {
            health
                .set_service_status(*name, tonic_health::ServingStatus::Serving)
                .await;
            reflection = reflection.with_service_name(*name);
        }
        let reflection = reflection
            .build_v1()
            .expect("the committed descriptors decode");
        self.routes
            .add_service(health_server)
            .add_service(reflection);
        self.routes.routes().prepare()
    }
}
