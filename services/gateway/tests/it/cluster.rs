//! A scripted cluster service.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cts_proto::cluster::v1::cluster_service_server::ClusterService;
use cts_proto::cluster::v1::{
    Brake, GetBrakeRequest, GetBrakeResponse, GetClusterRequest, GetClusterResponse,
    GetConfigurationRequest, GetConfigurationResponse, GetLimitedOverviewRequest,
    GetLimitedOverviewResponse, GetOverviewRequest, GetOverviewResponse, GetTimesRequest,
    GetTimesResponse, Member, ReleaseBrakeRequest, ReleaseBrakeResponse,
};
use tokio::sync::Semaphore;
use tonic::metadata::MetadataValue;
use tonic::{Request, Response, Status};

/// Answers every call with its answer, after the first ones that are set. Clones are one service.
#[derive(Debug, Clone)]
pub(crate) struct MemoryCluster {
    answer: Arc<Mutex<Result<GetClusterResponse, Status>>>,
    configuration: Arc<Mutex<GetConfigurationResponse>>,
    overview: Arc<Mutex<GetOverviewResponse>>,
    brake: Arc<Mutex<Brake>>,
    /// The visible tasks of each request of a limited overview.
    pub(crate) visible: Arc<Mutex<Vec<Vec<String>>>>,
    /// How far back the times were asked for, in seconds, if the service has them.
    pub(crate) times: Arc<Mutex<Option<Vec<i64>>>>,
    first: Arc<Mutex<VecDeque<Status>>>,
    calls: Arc<AtomicUsize>,
    /// Each call takes a permit before it answers.
    pub(crate) gate: Arc<Semaphore>,
    /// Gets a permit for each call that has come as far as the gate.
    pub(crate) arrivals: Arc<Semaphore>,
}

/// One replica that leads, without high availability.
impl Default for MemoryCluster {
    fn default() -> Self {
        Self::new(GetClusterResponse {
            high_availability: false,
            cluster_name: String::new(),
            members: vec![member("cts-a", true, None)],
            answered_by: "cts-a".into(),
            ..GetClusterResponse::default()
        })
    }
}

impl MemoryCluster {
    pub(crate) fn new(answer: GetClusterResponse) -> Self {
        Self {
            answer: Arc::new(Mutex::new(Ok(answer))),
            configuration: Arc::default(),
            overview: Arc::default(),
            brake: Arc::default(),
            visible: Arc::default(),
            times: Arc::new(Mutex::new(Some(Vec::new()))),
            first: Arc::default(),
            calls: Arc::default(),
            gate: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            arrivals: Arc::new(Semaphore::new(0)),
        }
    }

    /// Answers nothing until its gate is opened.
    pub(crate) fn behind_a_closed_gate() -> Self {
        Self {
            gate: Arc::new(Semaphore::new(0)),
            ..Self::default()
        }
    }

    pub(crate) fn failing(failure: Status) -> Self {
        let cluster = Self::default();
        cluster.set(Err(failure));
        cluster
    }

    /// Answers with this from now on.
    pub(crate) fn set(&self, answer: Result<GetClusterResponse, Status>) {
        *self.answer.lock().unwrap() = answer;
    }

    /// Gives this configuration.
    pub(crate) fn configured(self, configuration: GetConfigurationResponse) -> Self {
        *self.configuration.lock().unwrap() = configuration;
        self
    }

    /// Gives this overview.
    pub(crate) fn overviewed(self, overview: GetOverviewResponse) -> Self {
        *self.overview.lock().unwrap() = overview;
        self
    }

    /// Has this brake.
    pub(crate) fn braked(self, brake: Brake) -> Self {
        *self.brake.lock().unwrap() = brake;
        self
    }

    /// Answers the next call with this failure.
    pub(crate) fn fail_once(&self, failure: Status) {
        self.first.lock().unwrap().push_back(failure);
    }

    /// How often it was asked.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

#[tonic::async_trait]
impl ClusterService for MemoryCluster {
    async fn get_cluster(
        &self,
        _request: Request<GetClusterRequest>,
    ) -> Result<Response<GetClusterResponse>, Status> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.arrivals.add_permits(1);
        self.gate.acquire().await.unwrap().forget();
        if let Some(failure) = self.first.lock().unwrap().pop_front() {
            return Err(failure);
        }
        self.answer.lock().unwrap().clone().map(Response::new)
    }

    async fn get_configuration(
        &self,
        _request: Request<GetConfigurationRequest>,
    ) -> Result<Response<GetConfigurationResponse>, Status> {
        Ok(Response::new(self.configuration.lock().unwrap().clone()))
    }

    async fn get_overview(
        &self,
        _request: Request<GetOverviewRequest>,
    ) -> Result<Response<GetOverviewResponse>, Status> {
        Ok(Response::new(self.overview.lock().unwrap().clone()))
    }

    async fn get_limited_overview(
        &self,
        request: Request<GetLimitedOverviewRequest>,
    ) -> Result<Response<GetLimitedOverviewResponse>, Status> {
        if let Some(failure) = self.first.lock().unwrap().pop_front() {
            return Err(failure);
        }
        let mut visible = self.visible.lock().unwrap();
        visible.push(request.into_inner().visible_tasks);
        Ok(Response::new(GetLimitedOverviewResponse {
            overview: Some(GetOverviewResponse::default()),
        }))
    }

    async fn get_times(
        &self,
        request: Request<GetTimesRequest>,
    ) -> Result<Response<GetTimesResponse>, Status> {
        let since = request.into_inner().since.unwrap_or_default();
        match &mut *self.times.lock().unwrap() {
            Some(asked) => asked.push(since.seconds),
            None => return Err(Status::unimplemented("an earlier version")),
        }
        Ok(Response::new(GetTimesResponse {
            interval: Some(since),
            ..GetTimesResponse::default()
        }))
    }

    async fn get_brake(
        &self,
        _request: Request<GetBrakeRequest>,
    ) -> Result<Response<GetBrakeResponse>, Status> {
        Ok(Response::new(GetBrakeResponse {
            brake: Some(self.brake.lock().unwrap().clone()),
        }))
    }

    async fn release_brake(
        &self,
        request: Request<ReleaseBrakeRequest>,
    ) -> Result<Response<ReleaseBrakeResponse>, Status> {
        let mut brake = self.brake.lock().unwrap();
        let seen = request.into_inner().seen;
        if seen.is_some_and(|seen| seen.lost < brake.lost) {
            let text = format!("{} of {} instances are lost by now", brake.lost, brake.of);
            let mut status = Status::aborted(text);
            let reason = MetadataValue::from_static("lost_more");
            status.metadata_mut().insert("cts-reason", reason);
            return Err(status);
        }
        let released = brake.set.then(|| std::mem::take(&mut *brake));
        Ok(Response::new(ReleaseBrakeResponse { released }))
    }
}

/// A healthy replica.
pub(crate) fn member(id: &str, leader: bool, address: Option<&str>) -> Member {
    Member {
        id: id.into(),
        service_name: "consul-terraform-sync".into(),
        healthy: true,
        leader,
        address: address.map(Into::into),
        silent_for: Some(prost_types::Duration {
            seconds: 1,
            nanos: 0,
        }),
    }
}

/// The cluster `edge` with these replicas, as `cts-a` shows it.
pub(crate) fn edge(members: Vec<Member>) -> GetClusterResponse {
    GetClusterResponse {
        high_availability: true,
        cluster_name: "edge".into(),
        members,
        answered_by: "cts-a".into(),
        ..GetClusterResponse::default()
    }
}
