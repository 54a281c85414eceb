use proptest::prelude::*;
use serde_json::json;

use super::*;

fn diagnostic(text: &str) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        summary: text.to_owned(),
        detail: text.to_owned(),
        address: text.to_owned(),
        file: text.to_owned(),
        line: Some(7),
        snippet: text.to_owned(),
    }
}

fn output(text: &str) -> RunOutput {
    RunOutput {
        name: "value".to_owned(),
        value: OutputValue::Value(json!({ text: [text, null, true] })),
    }
}

fn details(text: &str, changes: usize, diagnostics: usize) -> RunDetails {
    let change = ResourceChange {
        address: text.to_owned(),
        action: ResourceAction::Create,
    };
    RunDetails {
        summary: RunSummary {
            resources: Some(ResourceCounts {
                added: 3,
                ..ResourceCounts::default()
            }),
            phases: PhaseTimes {
                init: Some(Duration::from_millis(1500)),
                ..PhaseTimes::default()
            },
            remote_url: Some(text.to_owned()),
            error_code: None,
            worker_version: Some("0.1.0".to_owned()),
        },
        findings: RunFindings {
            changes: vec![change; changes],
            more_changes: 1,
            diagnostics: vec![diagnostic(text); diagnostics],
            more_diagnostics: 0,
            outputs: vec![output(text); changes.min(100)],
        },
    }
}

#[test]
fn counts_surplus_entries_and_cuts_long_texts() {
    let kept = details(&"\u{e9}".repeat(1 << 20), 1000, 100).bounded();
    let findings = &kept.findings;
    assert_eq!(findings.changes.len(), CHANGES_KEPT);
    assert_eq!(findings.more_changes, 801);
    assert_eq!(findings.diagnostics.len(), DIAGNOSTICS_KEPT);
    assert_eq!(findings.more_diagnostics, 80);
    assert!(findings.diagnostics[0].detail.ends_with(CUT));
    let stored = serde_json::to_string(findings).unwrap();
    assert!(stored.len() < 600 * 1024, "{}", stored.len());
    assert_eq!(findings.outputs.len(), OUTPUTS_KEPT);
    assert_eq!(findings.outputs[0].value, OutputValue::TooLong(true));
}

#[test]
fn every_text_is_edited() {
    let edited = details("a secret", 1, 1).edited(|text| text.replace("secret", "(hidden)"));
    let text = format!("{edited:?}");
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(text.matches("a (hidden)").count(), 9);
}

#[test]
fn details_are_stored_as_json_in_which_more_may_come() {
    let RunDetails { summary, findings } = details("text", 1, 1);
    let stored = serde_json::to_string(&summary).unwrap();
    assert_eq!(
        stored,
        r#"{"resources":{"added":3,"changed":0,"destroyed":0,"imported":0},"phases":{"init":1500},"remote_url":"text","worker_version":"0.1.0"}"#
    );
    assert_eq!(
        serde_json::from_str::<RunSummary>(&stored).unwrap(),
        summary
    );
    let stored = serde_json::to_string(&findings).unwrap();
    let read: RunFindings = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, findings);
    let newer = r#"{"changes":[{"address":"a.b","action":"forget","by":"x"}],"outputs":[]}"#;
    let read: RunFindings = serde_json::from_str(newer).unwrap();
    assert_eq!(read.changes[0].action, ResourceAction::Unknown);
    assert_eq!(read.diagnostics, []);
}

#[test]
fn a_replaced_resource_counts_twice() {
    let mut counts = ResourceCounts::default();
    for action in [
        ResourceAction::Create,
        ResourceAction::Replace,
        ResourceAction::Update,
        ResourceAction::Import,
        ResourceAction::Unknown,
    ] {
        counts.count(action);
    }
    let expected = ResourceCounts {
        added: 2,
        changed: 1,
        destroyed: 1,
        imported: 1,
    };
    assert_eq!(counts, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// Both the worker and the store bound details.
    #[test]
    fn bounding_details_again_changes_nothing(text in "\\PC{0,1500}", changes in 198_usize..203, diagnostics in 18_usize..23) {
        let once = details(&text, changes, diagnostics).bounded();
        prop_assert_eq!(once.clone().bounded(), once);
    }
}

#[test]
fn a_number_that_is_a_secret_is_hidden_too() {
    let mut all = details("text", 1, 0);
    all.findings.outputs[0].value = OutputValue::Value(json!([1234, 5]));
    let edited = all.edited(|text| text.replace("1234", "(hidden)"));
    let expected = OutputValue::Value(json!(["(hidden)", 5]));
    assert_eq!(edited.findings.outputs[0].value, expected);
}

#[test]
fn values_of_outputs_are_stored_as_they_are() {
    let of = |value| RunOutput {
        name: "a".to_owned(),
        value,
    };
    let cases = [
        (
            OutputValue::Value(json!(null)),
            r#"{"name":"a","value":null}"#,
        ),
        (
            OutputValue::Value(json!({"b": 1})),
            r#"{"name":"a","value":{"b":1}}"#,
        ),
        (
            OutputValue::Sensitive(true),
            r#"{"name":"a","sensitive":true}"#,
        ),
        (
            OutputValue::TooLong(true),
            r#"{"name":"a","too_long":true}"#,
        ),
    ];
    for (value, stored) in cases {
        let output = of(value);
        assert_eq!(serde_json::to_string(&output).unwrap(), stored);
        assert_eq!(serde_json::from_str::<RunOutput>(stored).unwrap(), output);
    }
}
