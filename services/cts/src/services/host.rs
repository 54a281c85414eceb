//! The life of a process that serves: its parts begin in any order and end from the outside in.
//!
//! Gateway and worker end first, then the scheduler, then the watcher; then the database is closed. Terraform gets an
//! interrupt, and a run that did not finish goes back to the queue without counting.

use std::net::SocketAddr;

use cts_config::Config;
use cts_listen::ClientLimiter;
use cts_rpc::Endpoints;
use cts_runtime::{ProcessEnv, Tasks};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::services::client_limits::services_limiter;
use crate::services::connections::Links;
use crate::services::database::Database;
use crate::services::reload::Parts;
use crate::services::telemetry::Observation;

/// The parts of a process. A part that ends before its time ends the process.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) links: Links,
    pub(crate) observation: Observation,
    limiter: ClientLimiter,
    shutdown: CancellationToken,
    /// API and worker, which interrupts Terraform gently and reports the outcome.
    pub(crate) outside: Tasks,
    /// The scheduler, which takes those reports and resigns.
    pub(crate) between: Tasks,
    /// The watcher, which would look lost if it ended before the scheduler, and the dependencies of all parts.
    pub(crate) inside: Tasks,
}

impl Host {
    /// A process that ends when `shutdown` is cancelled, or a part fails.
    pub(crate) fn new(
        links: Links,
        observation: Observation,
        limiter: ClientLimiter,
        shutdown: CancellationToken,
    ) -> Self {
        let inside = Tasks::new(CancellationToken::new());
        links.follow_files(&inside);
        Self {
            links,
            observation,
            limiter,
            shutdown,
            outside: Tasks::new(CancellationToken::new()),
            between: Tasks::new(CancellationToken::new()),
            inside,
        }
    }

    /// The process of one service alone, and its socket for gRPC at `grpc`.
    pub(crate) async fn of_service(
        config: &Config,
        process_env: &ProcessEnv,
        grpc: SocketAddr,
        observation: Observation,
        shutdown: CancellationToken,
    ) -> Result<(Self, TcpListener), Failure> {
        let mut links = Links::of_service(config).await?;
        links.measure(observation.calls.clone());
        let grpc = links.listen(grpc).await?;
        let limiter = services_limiter(config, process_env);
        Ok((Self::new(links, observation, limiter, shutdown), grpc))
    }

    /// Result of `preparing`; `None` if the shutdown comes first.
    pub(crate) async fn unless_ended<T>(
        &self,
        preparing: impl Future<Output = Result<T, Failure>>,
    ) -> Result<Option<T>, Failure> {
        let prepared = self.shutdown.run_until_cancelled(preparing).await;
        prepared.transpose()
    }

    /// Serves `endpoints` for gRPC as one of `tasks`.
    pub(crate) fn serve(&self, endpoints: Endpoints, socket: TcpListener, tasks: &Tasks) {
        let limiter = self.limiter.clone();
        self.links.serve(endpoints, limiter, socket, tasks);
    }

    /// Serves metrics and health checks, and keeps the credentials of callers in view.
    pub(crate) fn observe(&mut self) {
        self.links.follow_credentials(&self.inside);
        let authenticator = self.links.authenticator();
        let tls = self.links.server_tls();
        self.observation.serve(tls, authenticator, &self.inside);
    }

    /// Reports readiness. `parts` can be read again from now on.
    pub(crate) fn ready(&self, parts: Parts) {
        self.observation.reloads.serve(parts);
        self.observation.readiness.ready();
    }

    /// Waits for the shutdown, and begins it if a part fails. Returns whether a part failed.
    pub(crate) async fn stopping(&self, reason: &str) -> bool {
        let [outside, between, inside] =
            [&self.outside, &self.between, &self.inside].map(Tasks::token);
        let failed = tokio::select! {
            () = self.shutdown.cancelled() => false,
            () = outside.cancelled() => true,
            () = between.cancelled() => true,
            () = inside.cancelled() => true,
        };
        self.shutdown.cancel();
        self.observation.readiness.not_ready(reason);
        failed
    }

    /// Ends all parts, then `database`. Fails with the innermost part that ended before its time.
    pub(crate) async fn end(self, database: Option<&Database>) -> Result<(), Failure> {
        let outer_end = self.outside.end().await;
        let middle_end = self.between.end().await;
        let inner_end = self.inside.end().await;
        if let Some(database) = database {
            database.close().await;
        }
        self.observation.end().await;
        inner_end?;
        middle_end?;
        Ok(outer_end?)
    }
}
