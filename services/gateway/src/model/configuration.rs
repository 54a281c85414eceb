//! Task blocks in force, and members with different ones: a cts-only endpoint.

use std::collections::BTreeMap;

use cts_proto::cluster::v1 as proto;
use serde::Serialize;

use super::run::{ShownTime, shown, word};
use crate::original::time_text::TimeText;
use crate::transport::request_log::RequestId;

/// The configuration in force, and the living members by id.
#[derive(Debug, Serialize)]
pub(crate) struct ConfigurationAnswer<'a> {
    in_force: Option<InForceObject<'a>>,
    members: Vec<MemberObject<'a>>,
    workers: Vec<WorkerObject<'a>>,
    request_id: RequestId,
}

#[derive(Debug, Serialize)]
struct InForceObject<'a> {
    number: u64,
    digest: &'a str,
    decided_by: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<TimeText>,
    tasks: &'a [String],
}

/// Values of a member that has not registered its configuration yet are left out.
#[derive(Debug, Serialize)]
struct MemberObject<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'a str>,
    leader: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<&'a str>,
    in_force: bool,
    differences: Vec<DifferenceObject<'a>>,
    settings: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    registered_at: Option<TimeText>,
}

#[derive(Debug, Serialize)]
struct DifferenceObject<'a> {
    task_name: &'a str,
    difference: String,
}

/// A worker whose blocks are not those in force.
#[derive(Debug, Serialize)]
struct WorkerObject<'a> {
    id: &'a str,
    host: &'a str,
    blocks: &'a [String],
}

impl<'a> ConfigurationAnswer<'a> {
    /// Converts `configuration`, times shown by `local_time`.
    pub(crate) fn new(
        configuration: &'a proto::GetConfigurationResponse,
        local_time: ShownTime<'_>,
        request_id: RequestId,
    ) -> Self {
        let members = configuration.members.iter().map(|member| MemberObject {
            id: &member.id,
            address: member.address.as_deref(),
            leader: member.leader,
            digest: member.digest.as_deref(),
            in_force: member.in_force,
            differences: member.differences.iter().map(difference).collect(),
            settings: &member.settings,
            registered_at: shown(member.registered_at.as_ref(), local_time),
        });
        let workers = configuration.workers.iter().map(|worker| WorkerObject {
            id: &worker.id,
            host: &worker.host,
            blocks: &worker.blocks,
        });
        Self {
            members: members.collect(),
            workers: workers.collect(),
            in_force: configuration
                .in_force
                .as_ref()
                .map(|in_force| InForceObject {
                    number: in_force.number,
                    digest: &in_force.digest,
                    decided_by: &in_force.decided_by,
                    decided_at: shown(in_force.decided_at.as_ref(), local_time),
                    tasks: &in_force.task_names,
                }),
            request_id,
        }
    }
}

fn difference(difference: &proto::TaskDifference) -> DifferenceObject<'_> {
    DifferenceObject {
        task_name: &difference.task_name,
        difference: word(difference.kind().as_str_name(), "TASK_DIFFERENCE_KIND_"),
    }
}
