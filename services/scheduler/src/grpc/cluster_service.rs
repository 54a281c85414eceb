//! `cts.cluster.v1.ClusterService`: the replicas and their leader.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, DurationRound as _, TimeDelta, Utc};
use cts_core::{Clock, Histogram, TaskDifference, TimeHistograms};
use cts_proto::cluster::v1 as proto;
use cts_proto::cluster::v1::cluster_service_server::ClusterService;
use cts_rpc::{HealthSwitch, Peers, convert};
use cts_store::{
    ConfigurationInForce, MemberConfiguration, MemberState, Store, StoreError, TIMES_KEPT,
};
use tokio::sync::Mutex;
use tonic::{Request, Response, Status};

use crate::configuration::{
    approvals_text, brake_text, has_approvals_in_force, has_brake_in_force,
};
use crate::grpc::brake::{brake_to_wire, release};
use crate::grpc::overview::Overviews;
use crate::leader::settings::other_settings;
use crate::liveness::LOST;
use crate::notifier::Notifier;
use crate::status::OrStatus as _;
use crate::wire::visible_tasks;

/// Why a scheduler does not serve.
const NO_WRITES: &str = "its database takes no writes";

#[derive(Debug)]
pub(crate) struct ClusterEndpoint {
    pub(crate) store: Arc<dyn Store>,
    /// Name of the cluster, where high availability is configured.
    pub(crate) cluster_name: Option<String>,
    pub(crate) member_id: String,
    /// Life of the leadership.
    pub(crate) time_to_live: Duration,
    pub(crate) watchers: Peers,
    /// Follows whether this replica can request the leadership, which is a write.
    pub(crate) health: HealthSwitch,
    pub(crate) overviews: Arc<Overviews>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Held while times of changes are read: a day has a row for each minute and scheduler.
    pub(crate) times: Mutex<()>,
    pub(crate) notifier: Arc<Notifier>,
}

#[tonic::async_trait]
impl ClusterService for ClusterEndpoint {
    async fn get_cluster(
        &self,
        _request: Request<proto::GetClusterRequest>,
    ) -> Result<Response<proto::GetClusterResponse>, Status> {
        let members = self
            .store
            .members(self.time_to_live * 3)
            .await
            .or_status()?;
        let to_wire = |state: MemberState| proto::Member {
            healthy: state.silent_for < self.time_to_live,
            silent_for: Some(convert::duration_to_wire(state.silent_for)),
            leader: state.leader,
            id: state.member.id,
            service_name: state.member.service_name,
            address: state.member.address,
        };
        Ok(Response::new(proto::GetClusterResponse {
            high_availability: self.cluster_name.is_some(),
            cluster_name: self.cluster_name.clone().unwrap_or_default(),
            members: members.into_iter().map(to_wire).collect(),
            answered_by: self.member_id.clone(),
            unhealthy: if self.health.is_serving() {
                String::new()
            } else {
                NO_WRITES.to_owned()
            },
        }))
    }

    async fn get_configuration(
        &self,
        _request: Request<proto::GetConfigurationRequest>,
    ) -> Result<Response<proto::GetConfigurationResponse>, Status> {
        let configuration = self.configuration().await;
        configuration.map(Response::new).or_status()
    }

    async fn get_overview(
        &self,
        _request: Request<proto::GetOverviewRequest>,
    ) -> Result<Response<proto::GetOverviewResponse>, Status> {
        let overview = self.overviews.newest(&self.watchers).await;
        overview.map(Response::new).or_status()
    }

    async fn get_limited_overview(
        &self,
        request: Request<proto::GetLimitedOverviewRequest>,
    ) -> Result<Response<proto::GetLimitedOverviewResponse>, Status> {
        let tasks = visible_tasks(request.into_inner().visible_tasks)?;
        let overview = self.overviews.limited(&self.watchers, &tasks).await;
        Ok(Response::new(proto::GetLimitedOverviewResponse {
            overview: Some(overview.or_status()?),
        }))
    }

    async fn get_times(
        &self,
        request: Request<proto::GetTimesRequest>,
    ) -> Result<Response<proto::GetTimesResponse>, Status> {
        let since = convert::duration_from_wire(request.into_inner().since.as_ref());
        let interval = match since.as_secs() {
            0..=3600 => TimeDelta::minutes(1),
            3601..=21_600 => TimeDelta::minutes(10),
            _ => TimeDelta::hours(1),
        };
        let begin = |at: DateTime<Utc>| at.duration_trunc(interval).unwrap_or(at);
        let from = begin(self.clock.now() - since.min(TIMES_KEPT));
        let _one_at_a_time = self.times.lock().await;
        let mut total = TimeHistograms::default();
        let mut intervals = BTreeMap::<_, TimeHistograms>::new();
        for (at, times) in self.store.times(from).await.or_status()? {
            total.add(&times);
            intervals.entry(begin(at)).or_default().add(&times);
        }
        let intervals = intervals.iter().map(times_to_wire);
        Ok(Response::new(proto::GetTimesResponse {
            interval: interval.to_std().ok().map(convert::duration_to_wire),
            total: Some(times_to_wire((&from, &total))),
            intervals: intervals.collect(),
        }))
    }

    async fn get_brake(
        &self,
        _request: Request<proto::GetBrakeRequest>,
    ) -> Result<Response<proto::GetBrakeResponse>, Status> {
        let brake = self.store.brake().await.or_status()?;
        Ok(Response::new(proto::GetBrakeResponse {
            brake: Some(brake_to_wire(brake)),
        }))
    }

    async fn release_brake(
        &self,
        request: Request<proto::ReleaseBrakeRequest>,
    ) -> Result<Response<proto::ReleaseBrakeResponse>, Status> {
        let released = release(&self.store, &self.notifier, request).await?;
        Ok(Response::new(released))
    }
}

impl ClusterEndpoint {
    async fn configuration(&self) -> Result<proto::GetConfigurationResponse, StoreError> {
        let in_force = self.store.configuration_in_force().await?;
        let registered = self.store.configurations(self.time_to_live).await?;
        let members = self.store.members(self.time_to_live).await?;
        let members = members.into_iter().map(|state| {
            let incarnation = state.member.incarnation;
            let own = registered.iter().find(|own| own.incarnation == incarnation);
            member_to_wire(state, own, in_force.as_ref())
        });
        let settings = self.store.settings().await?;
        let workers = self.store.workers(LOST).await?;
        let workers = workers.into_iter().filter_map(|state| {
            let blocks = other_settings(&state.worker, &settings);
            (!blocks.is_empty()).then(|| proto::WorkerDifference {
                id: state.worker.id.to_string(),
                host: state.worker.host,
                blocks,
            })
        });
        Ok(proto::GetConfigurationResponse {
            members: members.collect(),
            workers: workers.collect(),
            in_force: in_force.as_ref().map(in_force_to_wire),
        })
    }
}

fn in_force_to_wire(in_force: &ConfigurationInForce) -> proto::ConfigurationInForce {
    let names = in_force.tasks.iter().map(|task| task.name().to_string());
    proto::ConfigurationInForce {
        number: in_force.number,
        digest: in_force.fingerprint.digest().to_string(),
        decided_by: in_force.decided_by.clone(),
        decided_at: Some(convert::timestamp_to_wire(in_force.decided_at)),
        task_names: names.collect(),
        fleet_max_shrink: brake_text(in_force.fleet_max_shrink).unwrap_or_default(),
        approvals: approvals_text(in_force.approvals).unwrap_or_default(),
    }
}

fn times_to_wire((at, times): (&DateTime<Utc>, &TimeHistograms)) -> proto::TimesOfChanges {
    let percentiles = |times: &Histogram| {
        let percentile = |percent| times.percentile(percent).map(convert::duration_to_wire);
        proto::Percentiles {
            count: times.count(),
            p50: percentile(50),
            p95: percentile(95),
            p99: percentile(99),
        }
    };
    let phases = times.0.iter();
    let phases = phases.map(|(phase, times)| (phase.clone(), percentiles(times)));
    proto::TimesOfChanges {
        at: Some(convert::timestamp_to_wire(*at)),
        phases: phases.collect(),
    }
}

fn member_to_wire(
    state: MemberState,
    own: Option<&MemberConfiguration>,
    in_force: Option<&ConfigurationInForce>,
) -> proto::MemberConfiguration {
    let compared = own.zip(in_force);
    let has_rules = compared.is_some_and(|(own, in_force)| {
        has_brake_in_force(&own.settings, in_force)
            && has_approvals_in_force(&own.settings, in_force)
    });
    let differences =
        compared.map(|(own, in_force)| own.fingerprint.differences(&in_force.fingerprint));
    proto::MemberConfiguration {
        id: state.member.id,
        address: state.member.address,
        leader: state.leader,
        digest: own.map(|own| own.fingerprint.digest().to_string()),
        in_force: has_rules && differences.as_ref().is_some_and(Vec::is_empty),
        differences: differences
            .unwrap_or_default()
            .into_iter()
            .map(|(name, difference)| proto::TaskDifference {
                task_name: name.to_string(),
                kind: kind_to_wire(difference).into(),
            })
            .collect(),
        settings: own
            .map(|own| own.settings.clone().into_iter().collect())
            .unwrap_or_default(),
        registered_at: own.map(|own| convert::timestamp_to_wire(own.registered_at)),
    }
}

const fn kind_to_wire(difference: TaskDifference) -> proto::TaskDifferenceKind {
    match difference {
        TaskDifference::Added => proto::TaskDifferenceKind::Added,
        TaskDifference::Changed => proto::TaskDifferenceKind::Changed,
        TaskDifference::Removed => proto::TaskDifferenceKind::Removed,
    }
}
