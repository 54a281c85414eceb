//! Details of an attempt in their two columns: `summary` has the numbers and times, `findings` the changes and
//! diagnostics, which lists leave out.

pub(crate) mod plan_summary;

use cts_proto::run::v1::{
    Diagnostic, PhaseTimes, ResourceChange, ResourceCounts, RunDetails, RunOutput,
};
use serde::{Deserialize, Serialize};

/// The JSON in `summary`; members are only added.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Summary {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resources: Option<ResourceCounts>,
    pub(crate) phases: PhaseTimes,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) remote_url: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    error_code: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) worker_version: String,
}

/// The JSON in `findings`; members are only added.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Findings {
    changes: Vec<ResourceChange>,
    more_changes: u32,
    diagnostics: Vec<Diagnostic>,
    more_diagnostics: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outputs: Vec<RunOutput>,
}

/// The contents of both columns.
pub(crate) fn split(details: RunDetails) -> (Summary, Findings) {
    let summary = Summary {
        resources: details.resources,
        phases: details.phases.unwrap_or_default(),
        remote_url: details.remote_url,
        error_code: details.error_code,
        worker_version: details.worker_version,
    };
    let findings = Findings {
        changes: details.changes,
        more_changes: details.more_changes,
        diagnostics: details.diagnostics,
        more_diagnostics: details.more_diagnostics,
        outputs: details.outputs,
    };
    (summary, findings)
}

/// The details of both columns.
pub(crate) fn join(summary: Summary, findings: Findings) -> RunDetails {
    RunDetails {
        resources: summary.resources,
        phases: Some(summary.phases),
        remote_url: summary.remote_url,
        error_code: summary.error_code,
        worker_version: summary.worker_version,
        changes: findings.changes,
        more_changes: findings.more_changes,
        diagnostics: findings.diagnostics,
        more_diagnostics: findings.more_diagnostics,
        outputs: findings.outputs,
    }
}

#[cfg(test)]
mod tests {
    use cts_proto::run::v1::ResourceAction;
    use cts_proto::run::v1::run_output::Value;

    use super::*;

    #[test]
    fn details_are_stored_as_json_in_which_more_may_come() {
        let summary = r#"{"resources":{"added":3,"changed":0,"destroyed":0,"imported":0},"phases":{"init":1500},"remote_url":"text","worker_version":"0.1.0"}"#;
        let findings = r#"{"changes":[{"address":"a.b","action":"create"}],"more_changes":1,"diagnostics":[{"severity":"error","summary":"s","line":7}],"more_diagnostics":0,"outputs":[{"name":"a","value":null},{"name":"a","value":{"b":1}},{"name":"a","sensitive":true},{"name":"a","too_long":true}]}"#;
        let read = |findings| {
            join(
                serde_json::from_str(summary).unwrap(),
                serde_json::from_str(findings).unwrap(),
            )
        };
        let details = read(findings);
        assert_eq!(details.outputs[0].value, Some(Value::Json("null".into())));
        let stored = split(details);
        assert_eq!(serde_json::to_string(&stored.0).unwrap(), summary);
        assert_eq!(serde_json::to_string(&stored.1).unwrap(), findings);
        let newer = r#"{"changes":[{"address":"a.b","action":"forget","by":"x"}],"outputs":[]}"#;
        assert_eq!(read(newer).changes[0].action(), ResourceAction::Unspecified);
        let empty = serde_json::to_string(&split(RunDetails::default())).unwrap();
        assert_eq!(
            empty,
            r#"[{"phases":{}},{"changes":[],"more_changes":0,"diagnostics":[],"more_diagnostics":0}]"#
        );
    }
}
