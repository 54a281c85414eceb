//! Results of a run, in answers about runs.

use cts_proto::run::v1 as proto;
use cts_rpc::convert::duration_from_wire;
use serde::Serialize;
use serde_json::Value;

use super::run::word;

/// Results of the last attempt of a run. Lists contain neither changes nor diagnostics.
#[derive(Debug, Serialize)]
pub(super) struct DetailsObject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<ResourcesObject>,
    phases_ms: PhasesObject,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<ChangeObject<'a>>,
    #[serde(skip_serializing_if = "is_zero")]
    more_changes: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<DiagnosticObject<'a>>,
    #[serde(skip_serializing_if = "is_zero")]
    more_diagnostics: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outputs: Vec<OutputObject<'a>>,
}

/// Has one of `value`, `sensitive` and `too_long`.
#[derive(Debug, Serialize)]
struct OutputObject<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sensitive: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    too_long: Option<bool>,
}

#[derive(Debug, Serialize)]
pub(super) struct ResourcesObject {
    added: u32,
    changed: u32,
    destroyed: u32,
    imported: u32,
}

/// Milliseconds; what was not begun is left out.
#[derive(Debug, Serialize)]
struct PhasesObject {
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    render: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    init: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    validate: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    apply: Option<u64>,
}

#[derive(Debug, Serialize)]
struct ChangeObject<'a> {
    address: &'a str,
    action: String,
}

#[derive(Debug, Serialize)]
struct DiagnosticObject<'a> {
    severity: String,
    summary: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    address: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
    #[serde(skip_serializing_if = "is_zero")]
    line: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    snippet: &'a str,
}

impl From<proto::ResourceCounts> for ResourcesObject {
    fn from(counts: proto::ResourceCounts) -> Self {
        Self {
            added: counts.added,
            changed: counts.changed,
            destroyed: counts.destroyed,
            imported: counts.imported,
        }
    }
}

impl<'a> From<&'a proto::RunDetails> for DetailsObject<'a> {
    fn from(details: &'a proto::RunDetails) -> Self {
        let phases = details.phases.unwrap_or_default();
        Self {
            resources: details.resources.map(ResourcesObject::from),
            phases_ms: PhasesObject {
                queue: millis(phases.queue.as_ref()),
                render: millis(phases.render.as_ref()),
                init: millis(phases.init.as_ref()),
                validate: millis(phases.validate.as_ref()),
                plan: millis(phases.plan.as_ref()),
                apply: millis(phases.apply.as_ref()),
            },
            changes: details.changes.iter().map(ChangeObject::from).collect(),
            more_changes: details.more_changes,
            diagnostics: details
                .diagnostics
                .iter()
                .map(DiagnosticObject::from)
                .collect(),
            more_diagnostics: details.more_diagnostics,
            outputs: details.outputs.iter().map(OutputObject::from).collect(),
        }
    }
}

impl<'a> From<&'a proto::RunOutput> for OutputObject<'a> {
    fn from(output: &'a proto::RunOutput) -> Self {
        use proto::run_output::Value as Wire;
        let mut object = Self {
            name: &output.name,
            value: None,
            sensitive: None,
            too_long: None,
        };
        match &output.value {
            Some(Wire::Json(text)) => match serde_json::from_str(text) {
                Ok(value) => object.value = Some(value),
                Err(_unreadable) => object.too_long = Some(true),
            },
            Some(Wire::Sensitive(_)) | None => object.sensitive = Some(true),
            Some(Wire::TooLong(_)) => object.too_long = Some(true),
        }
        object
    }
}

impl<'a> From<&'a proto::ResourceChange> for ChangeObject<'a> {
    fn from(change: &'a proto::ResourceChange) -> Self {
        Self {
            address: &change.address,
            action: word(change.action().as_str_name(), "RESOURCE_ACTION_"),
        }
    }
}

impl<'a> From<&'a proto::Diagnostic> for DiagnosticObject<'a> {
    fn from(diagnostic: &'a proto::Diagnostic) -> Self {
        Self {
            severity: word(diagnostic.severity().as_str_name(), "DIAGNOSTIC_SEVERITY_"),
            summary: &diagnostic.summary,
            detail: &diagnostic.detail,
            address: &diagnostic.address,
            file: &diagnostic.file,
            line: diagnostic.line,
            snippet: &diagnostic.snippet,
        }
    }
}

fn millis(time: Option<&prost_types::Duration>) -> Option<u64> {
    time.map(|time| u64::try_from(duration_from_wire(Some(time)).as_millis()).unwrap_or(u64::MAX))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}
