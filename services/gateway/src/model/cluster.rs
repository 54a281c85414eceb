//! The scheduler replicas (docs/rest.md#cluster-status).

use std::cmp::Reverse;

use cts_proto::cluster::v1 as proto;
use serde::Serialize;

use crate::request_id::RequestId;

/// The cluster. Its schema is closed: nothing can be added.
#[derive(Debug, Serialize)]
pub(crate) struct ClusterAnswer<'a> {
    cluster_name: &'a str,
    members: Vec<MemberObject<'a>>,
    request_id: RequestId,
}

#[derive(Debug, Serialize)]
struct MemberObject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'a str>,
    healthy: bool,
    id: &'a str,
    leader: bool,
    service_name: &'a str,
}

impl<'a> ClusterAnswer<'a> {
    /// Members of `cluster`, the leader first and the others by id.
    pub(crate) fn new(cluster: &'a proto::GetClusterResponse, request_id: RequestId) -> Self {
        let mut members: Vec<_> = cluster.members.iter().map(MemberObject::from).collect();
        members.sort_by_key(|member| (Reverse(member.leader), member.id));
        Self {
            cluster_name: &cluster.cluster_name,
            members,
            request_id,
        }
    }
}

impl<'a> From<&'a proto::Member> for MemberObject<'a> {
    fn from(member: &'a proto::Member) -> Self {
        Self {
            address: member
                .address
                .as_deref()
                .filter(|address| member.healthy && !address.is_empty()),
            healthy: member.healthy,
            id: &member.id,
            leader: member.leader,
            service_name: &member.service_name,
        }
    }
}
