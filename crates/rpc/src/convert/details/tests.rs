use cts_proto::run::v1::{
    Diagnostic, DiagnosticSeverity, ResourceAction, ResourceChange, ResourceCounts, RunOutput,
};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn diagnostic(text: &str) -> Diagnostic {
    Diagnostic {
        severity: DiagnosticSeverity::Error.into(),
        summary: text.to_owned(),
        detail: text.to_owned(),
        address: text.to_owned(),
        file: text.to_owned(),
        line: 7,
        snippet: text.to_owned(),
    }
}

fn output(value: &Json) -> RunOutput {
    RunOutput {
        name: "value".to_owned(),
        value: Some(Value::Json(value.to_string())),
    }
}

fn details(text: &str, changes: usize, diagnostics: usize) -> RunDetails {
    let change = ResourceChange {
        address: text.to_owned(),
        action: ResourceAction::Create.into(),
    };
    RunDetails {
        resources: Some(ResourceCounts {
            added: 3,
            ..ResourceCounts::default()
        }),
        remote_url: text.to_owned(),
        worker_version: "0.1.0".to_owned(),
        changes: vec![change; changes],
        more_changes: 1,
        diagnostics: vec![diagnostic(text); diagnostics],
        outputs: vec![output(&json!({ text: [text, null, true] })); changes.min(100)],
        ..RunDetails::default()
    }
}

#[test]
fn counts_surplus_entries_and_cuts_long_texts() {
    let kept = bounded_details(details(&"\u{e9}".repeat(1 << 20), 1000, 100));
    assert_eq!(kept.changes.len(), CHANGES_KEPT);
    assert_eq!(kept.more_changes, 801);
    assert_eq!(kept.diagnostics.len(), DIAGNOSTICS_KEPT);
    assert_eq!(kept.more_diagnostics, 80);
    assert!(kept.diagnostics[0].detail.ends_with(CUT));
    let stored = serde_json::to_string(&kept).unwrap();
    assert!(stored.len() < 600 * 1024, "{}", stored.len());
    assert_eq!(kept.outputs.len(), OUTPUTS_KEPT);
    assert_eq!(kept.outputs[0].value, Some(Value::TooLong(true)));
}

#[test]
fn every_text_is_edited() {
    let secret = details("a secret", 1, 1);
    let edited = edited_details(secret, |text| text.replace("secret", "(hidden)"));
    let text = format!("{edited:?}");
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(text.matches("a (hidden)").count(), 9);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// Both the worker and the scheduler bound details.
    #[test]
    fn bounding_details_again_changes_nothing(text in "\\PC{0,1500}", changes in 198_usize..203, diagnostics in 18_usize..23) {
        let once = bounded_details(details(&text, changes, diagnostics));
        prop_assert_eq!(bounded_details(once.clone()), once);
    }
}

#[test]
fn a_number_that_is_a_secret_is_hidden_too() {
    let mut all = details("text", 1, 0);
    all.outputs[0] = output(&json!([1234, 5]));
    let edited = edited_details(all, |text| text.replace("1234", "(hidden)"));
    assert_eq!(edited.outputs[0], output(&json!(["(hidden)", 5])));
}
