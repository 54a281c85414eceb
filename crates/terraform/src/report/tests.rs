use cts_proto::run::v1::{Diagnostic, DiagnosticSeverity, ResourceAction, ResourceCounts};
use proptest::prelude::*;

use super::*;
use crate::output::Discard;

fn report(lines: &[(OutputStream, &str)], step: Step) -> Report {
    let report = Report::new(Arc::new(Discard));
    for (stream, text) in lines {
        for line in text.lines() {
            report.line(OutputLine::new(*stream, line.to_owned()));
        }
    }
    report.step_ended(step, Duration::from_millis(1500));
    report
}

fn changes(details: &RunDetails) -> Vec<(&str, ResourceAction)> {
    let changes = details.changes.iter();
    changes
        .map(|change| (change.address.as_str(), change.action()))
        .collect()
}

const APPLY: &str = r#"
Terraform will perform the following actions:

  # terraform_data.a["x"] will be created
  + resource "terraform_data" "a" {
      + input  = <<-EOT
            Error: not one
            b.c: Creation complete after 0s
            Apply complete! Resources: 9 added, 9 changed, 9 destroyed.
        EOT
    }

Plan: 3 to add, 0 to change, 1 to destroy.

Warning: Check block assertion failed

  on main.tf line 12, in check "c":
  12:     condition = false

warned

terraform_data.r: Destroying... [id=1]
terraform_data.r: Destruction complete after 0s
terraform_data.a["x"]: Creating...
terraform_data.a["x"]: Provisioning with 'local-exec'...
terraform_data.a["x"] (local-exec): d.e: Creation complete after 0s
terraform_data.a["x"]: Creation complete after 0s [id=2]
terraform_data.r: Creating...
terraform_data.r: Creation complete after 0s [id=3]
"#;

const ERRORS: &str = r#"
Error: Resource postcondition failed

  with module.m.terraform_data.bad["k"],
  on m/main.tf line 16, in resource "terraform_data" "bad":
  16:       condition = self.input != "k"
    ├────────────────
    │ self.input is "k"

Terraform says something.
Error: that is part of it.

More of it.

Error: Second
"#;

#[test]
fn an_apply_that_fails_tells_what_it_has_done_and_why_it_failed() {
    let lines = [
        (OutputStream::Stdout, APPLY),
        (OutputStream::Stderr, ERRORS),
    ];
    let details = report(&lines, Step::Apply).details(RunKind::Apply);
    let counts = ResourceCounts {
        added: 2,
        destroyed: 1,
        ..ResourceCounts::default()
    };
    assert_eq!(details.resources, Some(counts));
    assert_eq!(details.phases.unwrap().total(), Duration::from_millis(1500));
    assert_eq!(
        changes(&details),
        [
            ("terraform_data.r", ResourceAction::Replace),
            ("terraform_data.a[\"x\"]", ResourceAction::Create)
        ]
    );
    let [first, second, third] = details.diagnostics.as_slice() else {
        panic!("{details:#?}");
    };
    let expected = Diagnostic {
        severity: DiagnosticSeverity::Error.into(),
        summary: "Resource postcondition failed".into(),
        detail: "Terraform says something.\nError: that is part of it.\n\nMore of it.".into(),
        address: "module.m.terraform_data.bad[\"k\"]".into(),
        file: "m/main.tf".into(),
        line: 16,
        snippet: "  16:       condition = self.input != \"k\"\n    ├────────────────\n    │ self.input is \"k\"".into(),
    };
    assert_eq!(*first, expected);
    assert_eq!(
        (second.summary.as_str(), second.detail.as_str()),
        ("Second", "")
    );
    assert_eq!(third.severity(), DiagnosticSeverity::Warning);
    assert_eq!((third.detail.as_str(), third.line), ("warned", 12));
}

#[test]
fn an_apply_that_succeeds_counts_as_terraform_says() {
    let last = "Apply complete! Resources: 1 imported, 5 added, 1 changed, 4 destroyed.";
    let lines = [(OutputStream::Stdout, APPLY), (OutputStream::Stdout, last)];
    let details = report(&lines, Step::Apply).details(RunKind::Apply);
    let counts = details.resources.unwrap();
    assert_eq!((counts.added, counts.changed), (5, 1));
    assert_eq!((counts.destroyed, counts.imported), (4, 1));
}

#[test]
fn a_plan_tells_what_it_would_do_and_what_is_before_it_nothing() {
    let lines = [(OutputStream::Stdout, APPLY)];
    let details = report(&lines, Step::Plan).details(RunKind::Plan);
    assert_eq!(
        changes(&details),
        [("terraform_data.a[\"x\"]", ResourceAction::Create)]
    );
    assert_eq!(details.resources.unwrap().added, 3);
    let details = report(&lines, Step::Init).details(RunKind::Apply);
    assert_eq!(details.resources, None);
}

#[test]
fn framed_and_rendered_diagnostics_are_read_too() {
    let framed = "╷\n│ Warning: Framed\n│ \n│ at length\n╵\n\nno part of it\n";
    let report = report(&[(OutputStream::Stdout, framed)], Step::Init);
    report.read_errors(
        "Error: Invalid\n\n  on main.tf line 3:\n  3: code\n\nwrong\n\nError: Other\n",
    );
    let found = report.details(RunKind::Check).diagnostics;
    let found: Vec<_> = found
        .iter()
        .map(|it| (it.summary.as_str(), it.detail.as_str(), it.line))
        .collect();
    assert_eq!(
        found,
        [
            ("Invalid", "wrong", 3),
            ("Other", "", 0),
            ("Framed", "at length", 0)
        ]
    );
}

#[test]
fn many_changes_and_diagnostics_are_counted() {
    let report = Report::new(Arc::new(Discard));
    for number in 0..1000 {
        for what in ["Destruction", "Creation"] {
            let text = format!("a.b[{number}]: {what} complete after 0s");
            report.line(OutputLine::new(OutputStream::Stdout, text));
        }
        for text in [String::new(), format!("Error: {number}")] {
            report.line(OutputLine::new(OutputStream::Stderr, text));
        }
    }
    report.step_ended(Step::Apply, Duration::ZERO);
    let details = report.details(RunKind::Apply);
    let counts = details.resources.unwrap();
    assert_eq!((counts.added, counts.destroyed), (1000, 1000));
    assert_eq!(details.more_changes, 800);
    assert!(
        changes(&details)
            .iter()
            .all(|(_, action)| *action == ResourceAction::Replace)
    );
    // The worker keeps half of them.
    let kept = u32::try_from(details.diagnostics.len()).unwrap();
    assert_eq!((kept, details.more_diagnostics), (40, 960));
}

#[test]
fn the_mistake_of_a_try_before_its_lock_was_released_is_none() {
    let locked = "\nError: Error acquiring the state lock\n\nheld\n";
    let report = report(&[(OutputStream::Stderr, locked)], Step::Apply);
    report.step_ended(Step::Unlock, Duration::ZERO);
    for text in ["", "Error: Second", "", "of the second try"] {
        report.line(OutputLine::new(OutputStream::Stderr, text.to_owned()));
    }
    report.step_ended(Step::Apply, Duration::ZERO);
    let found = report.details(RunKind::Apply).diagnostics;
    let found: Vec<_> = found.iter().map(|it| it.summary.as_str()).collect();
    assert_eq!(found, ["Second"]);
}

#[test]
fn the_mistake_of_a_try_stays_where_its_lock_was_not_released() {
    let locked = "\nError: Error acquiring the state lock\n\nheld\n";
    let report = report(&[(OutputStream::Stderr, locked)], Step::Apply);
    for text in ["", "Error: Failed to unlock state"] {
        report.line(OutputLine::new(OutputStream::Stderr, text.to_owned()));
    }
    report.step_ended(Step::Unlock, Duration::ZERO);
    let found = report.details(RunKind::Apply).diagnostics;
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn events_count_instead_of_lines_if_they_are_there_from_the_first_on() {
    let summary = r#"{"type":"change_summary","changes":{"add":4,"change":3,"import":2,"remove":1,"operation":"apply"}}"#;
    let of = |events: &[&str]| {
        let report = Report::new(Arc::new(Discard));
        for text in APPLY.lines() {
            report.line(OutputLine::new(OutputStream::Stdout, text.to_owned()));
        }
        for event in events {
            report.event(event);
        }
        report.step_ended(Step::Apply, Duration::ZERO);
        report.details(RunKind::Apply)
    };
    let with = of(&[r#"{"type":"version"}"#, "no JSON", "[]", summary]);
    let counts = with.resources.unwrap();
    assert_eq!((counts.added, counts.changed), (4, 3));
    assert_eq!((counts.destroyed, counts.imported), (1, 2));
    assert_eq!(with.diagnostics, []);
    let without = of(&[summary]);
    assert_eq!(without.resources.unwrap().added, 2);
    assert_eq!(without.diagnostics.len(), 1);
}

fn pieces() -> impl Strategy<Value = Vec<(bool, bool, String)>> {
    let words = prop::sample::select(vec![
        "Error: ",
        "Warning: ",
        "  with ",
        "  on ",
        " line ",
        "7",
        ", in ",
        ":",
        "│ ",
        "╷",
        "╵",
        "  # ",
        "a.b",
        "[\"",
        "\"]",
        "[0",
        "]",
        " will be created",
        ": Creation complete after ",
        "Plan: ",
        "Apply complete! Resources: ",
        "1 added",
        ", ",
        "4294967296 to add",
        "\u{fffd}",
        "\0",
        "é",
        " ",
        "",
    ]);
    let text = prop_oneof![
        prop::collection::vec(words, 0..8).prop_map(|words| words.concat()),
        any::<Vec<u8>>().prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        (0_usize..100_000).prop_map(|length| "\u{e9}".repeat(length)),
    ];
    prop::collection::vec((any::<bool>(), any::<bool>(), text), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn no_output_panics_and_none_is_kept_without_end(pieces in pieces()) {
        let report = Report::new(Arc::new(Discard));
        for (stderr, continues, text) in pieces {
            report.read_errors(&text);
            report.event(&text);
            let stream = if stderr { OutputStream::Stderr } else { OutputStream::Stdout };
            report.line(OutputLine { stream, text, continues });
        }
        report.step_ended(Step::Apply, Duration::ZERO);
        let found = report.details(RunKind::Apply).diagnostics;
        prop_assert!(found.len() <= 2 * cts_proto::run_report::DIAGNOSTICS_KEPT);
    }
}
