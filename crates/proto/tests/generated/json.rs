//! Serde's attributes of the messages that are answers of the REST API (`src/json.rs` has the helpers).

use prost_types::field_descriptor_proto::Type;
use prost_types::{FieldDescriptorProto, FileDescriptorSet};
use tonic_prost_build::Builder;

/// The messages. A member that is missing in an answer has its default.
const MESSAGES: [&str; 38] = [
    "cts.access.v1.AuditRecord",
    "cts.access.v1.ListAuditRecordsResponse",
    "cts.cluster.v1.ConfigurationInForce",
    "cts.cluster.v1.GetConfigurationResponse",
    "cts.cluster.v1.GetOverviewResponse",
    "cts.cluster.v1.MemberConfiguration",
    "cts.cluster.v1.ObservedData",
    "cts.cluster.v1.OverviewMember",
    "cts.cluster.v1.OverviewWatcher",
    "cts.cluster.v1.OverviewWorker",
    "cts.cluster.v1.Problem",
    "cts.cluster.v1.TaskDifference",
    "cts.cluster.v1.WorkerDifference",
    "cts.log.v1.LogLine",
    "cts.run.v1.AttemptRecord",
    "cts.run.v1.Diagnostic",
    "cts.run.v1.FollowRunsResponse",
    "cts.run.v1.GetQueueResponse",
    "cts.run.v1.ListRunsResponse",
    "cts.run.v1.PhaseTimes",
    "cts.run.v1.Planned",
    "cts.run.v1.RemoteConfiguration",
    "cts.run.v1.RemoteRun",
    "cts.run.v1.RemoteWorkspace",
    "cts.run.v1.ResourceChange",
    "cts.run.v1.ResourceCounts",
    "cts.run.v1.Run",
    "cts.run.v1.RunDetails",
    "cts.run.v1.StateAt",
    "cts.run.v1.WaitingRuns",
    "cts.task.v1.CurrentState",
    "cts.task.v1.Decision",
    "cts.task.v1.Explanation",
    "cts.task.v1.Hold",
    "cts.task.v1.Loss",
    "cts.task.v1.ObservedView",
    "cts.task.v1.Obstacle",
    "cts.task.v1.ViewProblem",
];

/// Messages that are not what they should be if a member is missing.
const COMPLETE: [&str; 2] = ["cts.log.v1.ReadLogResponse", "cts.run.v1.TerraformState"];

/// Members with another name than their field.
const RENAMED: [(&str, &str); 11] = [
    ("cts.cluster.v1.ConfigurationInForce.task_names", "tasks"),
    (
        "cts.cluster.v1.OverviewMember.silent_for",
        "silent_for_seconds",
    ),
    (
        "cts.cluster.v1.OverviewWorker.silent_for",
        "silent_for_seconds",
    ),
    ("cts.cluster.v1.TaskDifference.kind", "difference"),
    ("cts.run.v1.AttemptRecord.phases", "phases_ms"),
    ("cts.run.v1.AttemptRecord.retry_after", "retry_after_ms"),
    ("cts.run.v1.FollowRunsResponse.run_id", "id"),
    (
        "cts.run.v1.GetQueueResponse.oldest_ready",
        "oldest_ready_seconds",
    ),
    ("cts.run.v1.ListRunsResponse.next_page_token", "next"),
    ("cts.run.v1.RunDetails.phases", "phases_ms"),
    ("cts.run.v1.WaitingRuns.oldest", "oldest_seconds"),
];

/// Members that are left out while they are empty or 0.
const LEFT_OUT: [&str; 44] = [
    "cts.access.v1.AuditRecord.address",
    "cts.access.v1.AuditRecord.arguments",
    "cts.access.v1.AuditRecord.issuer",
    "cts.access.v1.AuditRecord.reason",
    "cts.access.v1.AuditRecord.request_id",
    "cts.cluster.v1.ObservedData.reason",
    "cts.cluster.v1.OverviewWatcher.reason",
    "cts.cluster.v1.OverviewWatcher.socket",
    "cts.cluster.v1.OverviewWorker.problem",
    "cts.cluster.v1.Problem.task_name",
    "cts.run.v1.AttemptRecord.error",
    "cts.run.v1.AttemptRecord.phase",
    "cts.run.v1.Diagnostic.address",
    "cts.run.v1.Diagnostic.detail",
    "cts.run.v1.Diagnostic.file",
    "cts.run.v1.Diagnostic.line",
    "cts.run.v1.Diagnostic.snippet",
    "cts.run.v1.ListRunsResponse.next_page_token",
    "cts.run.v1.Planned.text",
    "cts.run.v1.RemoteRun.id",
    "cts.run.v1.RemoteRun.status",
    "cts.run.v1.RemoteRun.url",
    "cts.run.v1.RemoteRun.waiting_for",
    "cts.run.v1.RemoteWorkspace.project",
    "cts.run.v1.Run.attempt_records",
    "cts.run.v1.Run.cause",
    "cts.run.v1.Run.error",
    "cts.run.v1.Run.phase",
    "cts.run.v1.Run.requested_by",
    "cts.run.v1.Run.waiting_for",
    "cts.run.v1.Run.worker_id",
    "cts.run.v1.Planned.remote_url",
    "cts.run.v1.RunDetails.changes",
    "cts.run.v1.RunDetails.diagnostics",
    "cts.run.v1.RunDetails.error_code",
    "cts.run.v1.RunDetails.more_changes",
    "cts.run.v1.RunDetails.more_diagnostics",
    "cts.run.v1.RunDetails.outputs",
    "cts.run.v1.RunDetails.remote_url",
    "cts.task.v1.CurrentState.phase",
    "cts.task.v1.CurrentState.run_id",
    "cts.task.v1.CurrentState.text",
    "cts.task.v1.CurrentState.worker",
    "cts.task.v1.Decision.run_id",
];

/// Members in a form that does not follow from the type of their field.
const FORMS: [(&str, &str); 7] = [
    ("cts.cluster.v1.GetConfigurationResponse.in_force", ""),
    (
        "cts.cluster.v1.OverviewMember.silent_for",
        r#"with = "crate::json::seconds_or_zero""#,
    ),
    (
        "cts.cluster.v1.OverviewWorker.silent_for",
        r#"with = "crate::json::seconds_or_zero""#,
    ),
    (
        "cts.run.v1.GetQueueResponse.oldest_ready",
        r#"with = "crate::json::seconds""#,
    ),
    (
        "cts.run.v1.RunDetails.phases",
        r#"with = "crate::json::or_empty""#,
    ),
    ("cts.run.v1.StateAt.state", "flatten"),
    (
        "cts.run.v1.WaitingRuns.oldest",
        r#"with = "crate::json::seconds_or_zero""#,
    ),
];

/// Adds the attributes.
pub(crate) fn with_json(mut builder: Builder, files: &FileDescriptorSet) -> Builder {
    const DERIVE: &str = "#[derive(::serde::Serialize, ::serde::Deserialize)]";
    let mut fields = Vec::new();
    for file in &files.file {
        for message in &file.message_type {
            let name = format!("{}.{}", file.package(), message.name());
            let has_defaults = MESSAGES.contains(&name.as_str());
            if !has_defaults && !COMPLETE.contains(&name.as_str()) {
                continue;
            }
            builder = builder.message_attribute(&name, DERIVE);
            if has_defaults {
                builder = builder.message_attribute(&name, "#[serde(default)]");
            }
            let field = |field| {
                (
                    format!("{name}.{}", FieldDescriptorProto::name(field)),
                    field,
                )
            };
            fields.extend(message.field.iter().map(field));
        }
    }
    for list in [
        &RENAMED.map(|(path, _)| path)[..],
        &FORMS.map(|(path, _)| path),
        &LEFT_OUT,
    ] {
        for path in list {
            let exists = fields.iter().any(|(name, _)| name == path);
            assert!(exists, "{path} is not a field of an answer");
        }
    }
    for (path, field) in fields {
        for argument in arguments(&path, field) {
            builder = builder.field_attribute(&path, format!("#[serde({argument})]"));
        }
    }
    builder
}

/// Arguments of the attributes of a field.
fn arguments(path: &str, field: &FieldDescriptorProto) -> Vec<String> {
    let mut arguments = Vec::new();
    if let Some((_, name)) = RENAMED.iter().find(|(renamed, _)| *renamed == path) {
        arguments.push(format!("rename = \"{name}\""));
    }
    if LEFT_OUT.contains(&path) {
        arguments.push("skip_serializing_if = \"crate::json::is_empty\"".to_owned());
    }
    let form = match FORMS.iter().find(|(formed, _)| *formed == path) {
        Some((_, form)) => (*form).to_owned(),
        None => form(field),
    };
    if !form.is_empty() {
        arguments.push(form);
    }
    arguments
}

/// The form of a field that follows from its type.
fn form(field: &FieldDescriptorProto) -> String {
    let with = |with: &str, absent: &str| {
        format!("with = \"crate::json::{with}\", skip_serializing_if = \"{absent}\"")
    };
    let is_list = field.label() == prost_types::field_descriptor_proto::Label::Repeated;
    match (field.r#type(), field.type_name()) {
        (Type::Enum, name) => {
            let name = name.replacen(".cts.", "crate::", 1).replace('.', "::");
            format!("with = \"crate::json::Words::<{name}>\"")
        }
        (Type::Message, ".google.protobuf.Timestamp") => {
            with("time", "crate::json::time::is_absent")
        }
        (Type::Message, ".google.protobuf.Duration") => with("milliseconds", "Option::is_none"),
        (Type::Message, _) if !is_list => "skip_serializing_if = \"Option::is_none\"".to_owned(),
        _ if field.proto3_optional() => "skip_serializing_if = \"Option::is_none\"".to_owned(),
        _ => String::new(),
    }
}
