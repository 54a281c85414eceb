//! Details of an attempt.

use cts_core::runs::{
    Diagnostic, OutputValue, PhaseTimes, ResourceAction, ResourceChange, ResourceCounts,
    RunDetails, RunFindings, RunOutput, RunSummary, Severity,
};
use cts_proto::run::v1 as proto;

use super::macros::{same_fields, same_words};
use super::{duration_from_wire, duration_to_wire};

/// Converts the details of an attempt for the wire. The wait in the queue is not part of it.
pub fn details_to_wire(details: RunDetails) -> proto::RunDetails {
    let RunDetails { summary, findings } = details;
    proto::RunDetails {
        resources: summary.resources.map(counts_to_wire),
        phases: Some(phases_to_wire(summary.phases)),
        changes: findings.changes.into_iter().map(change_to_wire).collect(),
        more_changes: findings.more_changes,
        diagnostics: findings
            .diagnostics
            .into_iter()
            .map(diagnostic_to_wire)
            .collect(),
        more_diagnostics: findings.more_diagnostics,
        outputs: findings.outputs.into_iter().map(output_to_wire).collect(),
        remote_url: summary.remote_url.unwrap_or_default(),
        error_code: summary.error_code.unwrap_or_default(),
        worker_version: summary.worker_version.unwrap_or_default(),
    }
}

/// The times of phases for the wire, without the wait in the queue.
pub(super) fn phases_to_wire(phases: PhaseTimes) -> proto::PhaseTimes {
    let PhaseTimes {
        render,
        init,
        validate,
        plan,
        apply,
    } = phases;
    proto::PhaseTimes {
        render: render.map(duration_to_wire),
        init: init.map(duration_to_wire),
        validate: validate.map(duration_to_wire),
        plan: plan.map(duration_to_wire),
        apply: apply.map(duration_to_wire),
        queue: None,
    }
}

same_fields!(ResourceCounts, ResourceCounts, pub(super) counts_to_wire, pub(super) counts_from_wire { added, changed, destroyed, imported });
same_words!(ResourceAction, ResourceAction, action_to_wire, action_from_wire { Create, Update, Delete, Replace, Import; Unknown });
same_words!(Severity, DiagnosticSeverity, severity_to_wire, severity_from_wire { Error, Warning; Unknown });

/// Converts the details of an attempt from the wire, as much of them as is kept.
pub fn details_from_wire(details: proto::RunDetails) -> RunDetails {
    let phases = details.phases.unwrap_or_default();
    let phase = |time: Option<prost_types::Duration>| {
        time.as_ref().map(|time| duration_from_wire(Some(time)))
    };
    let details = RunDetails {
        summary: RunSummary {
            resources: details.resources.map(counts_from_wire),
            phases: PhaseTimes {
                render: phase(phases.render),
                init: phase(phases.init),
                validate: phase(phases.validate),
                plan: phase(phases.plan),
                apply: phase(phases.apply),
            },
            remote_url: Some(details.remote_url).filter(|url| !url.is_empty()),
            error_code: Some(details.error_code).filter(|code| !code.is_empty()),
            worker_version: Some(details.worker_version).filter(|version| !version.is_empty()),
        },
        findings: RunFindings {
            changes: details.changes.into_iter().map(change_from_wire).collect(),
            more_changes: details.more_changes,
            diagnostics: details
                .diagnostics
                .into_iter()
                .map(diagnostic_from_wire)
                .collect(),
            more_diagnostics: details.more_diagnostics,
            outputs: details.outputs.into_iter().map(output_from_wire).collect(),
        },
    };
    details.bounded()
}

fn output_to_wire(output: RunOutput) -> proto::RunOutput {
    use proto::run_output::Value;
    let value = match output.value {
        OutputValue::Value(value) => Value::Json(value.to_string()),
        OutputValue::Sensitive(is) => Value::Sensitive(is),
        OutputValue::TooLong(is) => Value::TooLong(is),
    };
    proto::RunOutput {
        name: output.name,
        value: Some(value),
    }
}

/// A missing value, or a value that this version does not know, is not shown.
fn output_from_wire(output: proto::RunOutput) -> RunOutput {
    use proto::run_output::Value;
    let value = match output.value {
        Some(Value::Json(text)) => {
            serde_json::from_str(&text).map_or(OutputValue::TooLong(true), OutputValue::Value)
        }
        Some(Value::Sensitive(_)) | None => OutputValue::Sensitive(true),
        Some(Value::TooLong(_)) => OutputValue::TooLong(true),
    };
    RunOutput {
        name: output.name,
        value,
    }
}

fn change_to_wire(change: ResourceChange) -> proto::ResourceChange {
    proto::ResourceChange {
        address: change.address,
        action: action_to_wire(change.action).into(),
    }
}

fn change_from_wire(change: proto::ResourceChange) -> ResourceChange {
    ResourceChange {
        action: action_from_wire(change.action()),
        address: change.address,
    }
}

fn diagnostic_to_wire(diagnostic: Diagnostic) -> proto::Diagnostic {
    proto::Diagnostic {
        severity: severity_to_wire(diagnostic.severity).into(),
        summary: diagnostic.summary,
        detail: diagnostic.detail,
        address: diagnostic.address,
        file: diagnostic.file,
        line: diagnostic.line.unwrap_or_default(),
        snippet: diagnostic.snippet,
    }
}

fn diagnostic_from_wire(diagnostic: proto::Diagnostic) -> Diagnostic {
    Diagnostic {
        severity: severity_from_wire(diagnostic.severity()),
        summary: diagnostic.summary,
        detail: diagnostic.detail,
        address: diagnostic.address,
        file: diagnostic.file,
        line: (diagnostic.line > 0).then_some(diagnostic.line),
        snippet: diagnostic.snippet,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn details() -> RunDetails {
        RunDetails {
            summary: RunSummary {
                resources: Some(ResourceCounts {
                    added: 1,
                    changed: 2,
                    destroyed: 3,
                    imported: 4,
                }),
                phases: PhaseTimes {
                    render: Some(Duration::from_millis(1)),
                    init: Some(Duration::from_millis(2)),
                    validate: Some(Duration::ZERO),
                    plan: None,
                    apply: Some(Duration::from_millis(5)),
                },
                remote_url: Some("https://tfe.example.com/run-1".into()),
                error_code: Some("terraform-failed".into()),
                worker_version: Some("0.1.0".into()),
            },
            findings: RunFindings {
                changes: [
                    ResourceAction::Create,
                    ResourceAction::Update,
                    ResourceAction::Delete,
                    ResourceAction::Replace,
                    ResourceAction::Import,
                    ResourceAction::Unknown,
                ]
                .map(|action| ResourceChange {
                    address: format!("a.{}", action.as_str()),
                    action,
                })
                .into(),
                more_changes: 7,
                diagnostics: [Severity::Error, Severity::Warning, Severity::Unknown]
                    .map(|severity| Diagnostic {
                        severity,
                        summary: "summary".into(),
                        detail: "detail".into(),
                        address: "a.b".into(),
                        file: "main.tf".into(),
                        line: (severity == Severity::Error).then_some(3),
                        snippet: "code".into(),
                    })
                    .into(),
                more_diagnostics: 8,
                outputs: [
                    OutputValue::Value(serde_json::json!({ "a": [1, null] })),
                    OutputValue::Sensitive(true),
                    OutputValue::TooLong(true),
                ]
                .map(|value| RunOutput {
                    name: "a".into(),
                    value,
                })
                .into(),
            },
        }
    }

    #[test]
    fn details_survive_the_wire() {
        for details in [RunDetails::default(), details()] {
            assert_eq!(details_from_wire(details_to_wire(details.clone())), details);
        }
    }

    #[test]
    fn oversized_details_of_a_worker_are_bounded_again() {
        let mut sent = details_to_wire(details());
        sent.changes = vec![sent.changes[0].clone(); 1000];
        sent.diagnostics[0].detail = "x".repeat(1 << 20);
        sent.changes[0].action = 77;
        let kept = details_from_wire(sent).findings;
        assert_eq!((kept.changes.len(), kept.more_changes), (200, 807));
        assert!(kept.diagnostics[0].detail.len() < 5000);
        assert_eq!(kept.changes[0].action, ResourceAction::Unknown);
    }
}
