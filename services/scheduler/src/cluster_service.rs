//! `cts.cluster.v1.ClusterService`: the replicas and their leader.

use std::sync::Arc;
use std::time::Duration;

use cts_proto::cluster::v1 as proto;
use cts_proto::cluster::v1::cluster_service_server::ClusterService;
use cts_rpc::{HealthSwitch, convert};
use cts_store::{MemberState, Store};
use tonic::{Request, Response, Status};

use crate::status::store_failure;

/// Why a scheduler does not serve.
const NO_WRITES: &str = "its database takes no writes";

/// See the module.
#[derive(Debug)]
pub(crate) struct ClusterEndpoint {
    pub(crate) store: Arc<dyn Store>,
    /// Name of the cluster, where high availability is configured.
    pub(crate) cluster_name: Option<String>,
    pub(crate) member_id: String,
    /// Life of the leadership.
    pub(crate) time_to_live: Duration,
    /// Follows whether the leadership, which is a write, can be asked for.
    pub(crate) health: HealthSwitch,
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
            .map_err(|error| store_failure(&error))?;
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
}
