//! `cts cluster`: the members, and which of them have a configuration that is not in force.

use cts_proto::cluster::v1::cluster_service_client::ClusterServiceClient;
use cts_proto::cluster::v1::{
    GetConfigurationRequest, GetConfigurationResponse, MemberConfiguration, TaskDifference,
    TaskDifferenceKind,
};
use cts_rpc::convert::timestamp_from_wire;
use serde_json::{Value, json};

use crate::arguments::{Output, TableWidth};
use crate::commands::scheduler_call::{SchedulerCalls, answered};
use crate::commands::table as columns;
use crate::commands::time_text::{local, moment};
use crate::error::CommandError;
use crate::output::print;

/// Number of tasks that one line of the table names.
const NAMED: usize = 5;

/// Runs `cts cluster status`.
pub(crate) async fn status(
    scheduler: &SchedulerCalls,
    output: Output,
    width: TableWidth,
) -> Result<(), CommandError> {
    let answer = answered(async {
        ClusterServiceClient::new(scheduler.channel())
            .get_configuration(scheduler.request(GetConfigurationRequest {}))
            .await
    });
    let configuration = answer.await?.into_inner();
    print(&output.text(|| table(&configuration, width), || document(&configuration)))
}

/// The members and the configuration in force, for people.
pub(crate) fn table(configuration: &GetConfigurationResponse, width: TableWidth) -> String {
    let rows = configuration.members.iter().map(|member| {
        [
            member.id.clone(),
            member.address.clone().unwrap_or_default(),
            if member.leader { "yes" } else { "no" }.to_owned(),
            in_force_text(member).to_owned(),
            differences(member, configuration),
        ]
    });
    let header = ["ID", "ADDRESS", "LEADER", "CONFIGURATION", "DIFFERENCES"];
    let in_force = configuration.in_force.as_ref().map_or_else(
        || "no configuration is in force yet".to_owned(),
        |in_force| {
            let at = moment(in_force.decided_at);
            let since = at.map_or_else(String::new, |at| format!(" since {}", local(at)));
            format!(
                "configuration {} with {} tasks is in force{since}, decided by {}",
                in_force.number,
                in_force.task_names.len(),
                in_force.decided_by
            )
        },
    );
    format!("{}\n{in_force}\n", columns::table(header, rows, width))
}

fn in_force_text(member: &MemberConfiguration) -> &'static str {
    match (&member.digest, member.in_force) {
        (None, _) => "not registered",
        (Some(_), true) => "in force",
        (Some(_), false) => "not in force",
    }
}

/// The tasks in which a member differs from the configuration in force; without one, the keys of the top level.
fn differences(member: &MemberConfiguration, configuration: &GetConfigurationResponse) -> String {
    let named = member.differences.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|difference| format!("{} ({})", difference.task_name, kind(difference)))
        .collect();
    let list = named.join(", ");
    match member.differences.len().saturating_sub(NAMED) {
        0 if list.is_empty() => other_keys(member, configuration),
        0 => list,
        more => format!("{list} and {more} more"),
    }
}

/// The keys of the top level in which a registered member differs from the configuration in force.
fn other_keys(member: &MemberConfiguration, configuration: &GetConfigurationResponse) -> String {
    let in_force = configuration.in_force.as_ref();
    let Some(in_force) = in_force.filter(|_| member.digest.is_some()) else {
        return String::new();
    };
    let keys = [
        ("fleet_max_shrink", &in_force.fleet_max_shrink),
        ("approval", &in_force.approvals),
    ];
    let own = |key| member.settings.get(key).map_or("", String::as_str);
    let differ = keys.into_iter().filter(|(key, text)| own(*key) != *text);
    differ
        .map(|(key, _text)| key)
        .collect::<Vec<_>>()
        .join(", ")
}

fn kind(difference: &TaskDifference) -> &'static str {
    match difference.kind() {
        TaskDifferenceKind::Added => "added",
        TaskDifferenceKind::Changed => "changed",
        TaskDifferenceKind::Removed => "removed",
        TaskDifferenceKind::Unspecified => "unknown",
    }
}

/// The members and the configuration in force, for programs.
pub(crate) fn document(configuration: &GetConfigurationResponse) -> Value {
    let time = |at: Option<&_>| timestamp_from_wire(at).map(|at| at.to_rfc3339());
    let members = configuration.members.iter().map(|member| {
        let differences = member.differences.iter().map(
            |difference| json!({"task_name": difference.task_name, "difference": kind(difference)}),
        );
        json!({
            "id": member.id,
            "address": member.address,
            "leader": member.leader,
            "digest": member.digest,
            "in_force": member.in_force,
            "differences": differences.collect::<Vec<_>>(),
            "settings": member.settings,
            "registered_at": time(member.registered_at.as_ref()),
        })
    });
    let in_force = configuration.in_force.as_ref().map(|in_force| {
        json!({
            "number": in_force.number,
            "digest": in_force.digest,
            "decided_by": in_force.decided_by,
            "decided_at": time(in_force.decided_at.as_ref()),
            "tasks": in_force.task_names,
            "fleet_max_shrink": Some(&in_force.fleet_max_shrink).filter(|text| !text.is_empty()),
            "approvals": Some(&in_force.approvals).filter(|text| !text.is_empty()),
        })
    });
    json!({"in_force": in_force, "members": members.collect::<Vec<_>>()})
}
