//! Answers of the API while its scheduler cannot begin.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use cts_config::Config;
use cts_core::Clock;
use cts_proto::cluster::v1::cluster_service_server::{ClusterService, ClusterServiceServer};
use cts_proto::cluster::v1::{
    GetBrakeRequest, GetBrakeResponse, GetClusterRequest, GetClusterResponse,
    GetConfigurationRequest, GetConfigurationResponse, GetLimitedOverviewRequest,
    GetLimitedOverviewResponse, GetOverviewRequest, GetOverviewResponse, GetTimesRequest,
    GetTimesResponse, ObservedData, Problem, ReleaseBrakeRequest, ReleaseBrakeResponse,
};
use cts_proto::run::v1::GetQueueResponse;
use cts_rpc::{Endpoints, Peers, memory_transport};
use cts_runtime::{ProcessEnv, Tasks};
use cts_telemetry::Signals;
use cts_tls::ServerTls;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::{Request, Response, Status};

use crate::failure::Failure;
use crate::services::wiring::{self, Schedulers};

/// The API during the wait.
pub(crate) struct Api<'a> {
    /// Where it listens.
    pub(crate) listener: &'a TcpListener,
    /// Where the page listens, if it has a listener of its own.
    pub(crate) page: Option<&'a TcpListener>,
    /// Its certificate, if it has TLS.
    pub(crate) tls: Option<ServerTls>,
}

/// The API without a scheduler: its health reports the reason, and all other endpoints are unavailable.
pub(super) struct StandIn {
    reason: watch::Sender<String>,
    parts: Tasks,
    end: DropGuard,
}

impl StandIn {
    /// Serves on a duplicate of the socket, whose queue of connections later servers share.
    pub(super) fn begin(
        config: &Config,
        process_env: &ProcessEnv,
        api: &Api<'_>,
        reason: &str,
    ) -> Result<Self, Failure> {
        let duplicated = |listener: &TcpListener| {
            duplicate(listener).map_err(|source| Failure::Path {
                path: "the socket of the API".into(),
                source,
            })
        };
        let listener = duplicated(api.listener)?;
        let page = api.page.map(duplicated).transpose()?;
        let (reason, told) = watch::channel(reason.to_owned());
        let (cluster_listener, cluster) = memory_transport();
        // Calls fail as unavailable when the listener is gone.
        let (_gone, scheduler) = memory_transport();
        let schedulers = Schedulers {
            peers: Peers::fixed(scheduler),
            cluster,
        };
        let gateway = wiring::gateway(
            config,
            process_env,
            schedulers,
            api.tls.clone(),
            Signals::off(),
        )?;
        let gateway = gateway.with_page_listener(page);
        let end = CancellationToken::new();
        let parts = Tasks::new(end.clone());
        let cluster = ClusterServiceServer::new(Unready {
            reason: told,
            clock: Arc::clone(&process_env.clock),
        });
        let endpoints = Endpoints::new().with(cluster);
        parts.spawn(
            "stand-in",
            endpoints.serve_memory(cluster_listener, parts.until_shutdown()),
        );
        parts.spawn("waiting gateway", gateway.serve(listener, end.clone()));
        Ok(Self {
            reason,
            parts,
            end: end.drop_guard(),
        })
    }

    pub(super) fn tell(&self, reason: &str) {
        self.reason.send_replace(reason.to_owned());
    }

    pub(super) async fn end(self) -> Result<(), Failure> {
        drop(self.end);
        Ok(self.parts.wait().await?)
    }
}

fn duplicate(listener: &TcpListener) -> io::Result<TcpListener> {
    let descriptor = listener.as_fd().try_clone_to_owned()?;
    TcpListener::from_std(std::net::TcpListener::from(descriptor))
}

/// A scheduler that cannot do its work.
struct Unready {
    reason: watch::Receiver<String>,
    clock: Arc<dyn Clock>,
}

#[tonic::async_trait]
impl ClusterService for Unready {
    async fn get_cluster(
        &self,
        _request: Request<GetClusterRequest>,
    ) -> Result<Response<GetClusterResponse>, Status> {
        Ok(Response::new(GetClusterResponse {
            unhealthy: self.reason.borrow().clone(),
            ..GetClusterResponse::default()
        }))
    }

    async fn get_configuration(
        &self,
        _request: Request<GetConfigurationRequest>,
    ) -> Result<Response<GetConfigurationResponse>, Status> {
        Err(Status::unavailable(self.reason.borrow().clone()))
    }

    async fn get_times(
        &self,
        _request: Request<GetTimesRequest>,
    ) -> Result<Response<GetTimesResponse>, Status> {
        Err(Status::unavailable(self.reason.borrow().clone()))
    }

    async fn get_brake(
        &self,
        _request: Request<GetBrakeRequest>,
    ) -> Result<Response<GetBrakeResponse>, Status> {
        Err(Status::unavailable(self.reason.borrow().clone()))
    }

    async fn release_brake(
        &self,
        _request: Request<ReleaseBrakeRequest>,
    ) -> Result<Response<ReleaseBrakeResponse>, Status> {
        Err(Status::unavailable(self.reason.borrow().clone()))
    }

    async fn get_limited_overview(
        &self,
        _request: Request<GetLimitedOverviewRequest>,
    ) -> Result<Response<GetLimitedOverviewResponse>, Status> {
        Err(Status::unavailable(self.reason.borrow().clone()))
    }

    async fn get_overview(
        &self,
        _request: Request<GetOverviewRequest>,
    ) -> Result<Response<GetOverviewResponse>, Status> {
        let problem = Problem {
            text: format!(
                "{}; `cts doctor` checks the connection",
                *self.reason.borrow()
            ),
            ..Problem::default()
        };
        Ok(Response::new(GetOverviewResponse {
            problems: vec![problem],
            queue: Some(GetQueueResponse::default()),
            data: Some(ObservedData::default()),
            at: Some(cts_rpc::convert::timestamp_to_wire(self.clock.now())),
            ..GetOverviewResponse::default()
        }))
    }
}
