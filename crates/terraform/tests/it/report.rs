//! Reports of the output of a real Terraform.

use std::sync::{Arc, Mutex};

use cts_core::runs::RunKind;
use cts_proto::run::v1::{DiagnosticSeverity, ResourceAction, ResourceCounts, RunDetails};
use cts_terraform::{Attempt, OutputLine, OutputSink, Report};
use cts_testkit::assert_contains;

use crate::fixture::Sandbox;

/// Keeps the lines that a report passes on.
#[derive(Default)]
struct Kept(Mutex<Vec<String>>);

impl OutputSink for Kept {
    fn line(&self, line: OutputLine) {
        self.0.lock().unwrap().push(line.text);
    }
}

/// An attempt whose output is read by a report, and the output.
fn watched(sandbox: &Sandbox) -> (Attempt, Arc<Report>, Arc<Kept>) {
    let (attempt, _unused) = sandbox.attempt();
    let kept = Arc::new(Kept::default());
    let report = Arc::new(Report::new(Arc::clone(&kept) as _));
    let attempt = Attempt {
        output: Arc::clone(&report) as _,
        ..attempt
    };
    (attempt, report, kept)
}

async fn prepare(sandbox: &Sandbox, attempt: &Attempt) {
    let root = sandbox.write(Vec::new());
    sandbox.terraform.prepare(attempt, &root).await.unwrap();
}

async fn apply(sandbox: &Sandbox) -> RunDetails {
    let (attempt, report, _) = watched(sandbox);
    prepare(sandbox, &attempt).await;
    sandbox.terraform.apply(&attempt).await.unwrap();
    report.details(RunKind::Apply)
}

fn changes(details: &RunDetails) -> Vec<(&str, ResourceAction)> {
    let changes = details.changes.iter();
    let mut changes: Vec<_> = changes
        .map(|change| (change.address.as_str(), change.action()))
        .collect();
    changes.sort_unstable();
    changes
}

/// Steps that took time.
fn steps(details: &RunDetails) -> Vec<&'static str> {
    let phases = details.phases.unwrap_or_default();
    let steps = phases.steps().filter(|(_, took)| !took.is_zero());
    steps.map(|(step, _)| step).collect()
}

fn counts(added: u32, changed: u32, destroyed: u32) -> ResourceCounts {
    ResourceCounts {
        added,
        changed,
        destroyed,
        imported: 0,
    }
}

/// Resources with awkward keys, and a provisioner that fakes lines of Terraform.
fn module(keys: &str, version: u32) -> String {
    format!(
        r#"
variable "services" {{
  type = any
}}

resource "terraform_data" "each" {{
  for_each = toset({keys})
  input    = "{version}\nError: not one\nApply complete! Resources: 7 added."
}}

resource "terraform_data" "anew" {{
  triggers_replace = {version}

  provisioner "local-exec" {{
    command = "printf 'a.b: Creation complete after 0s\n\nError: fake\nApply complete! Resources: 9 added, 9 changed, 9 destroyed.\n'"
  }}
}}
"#
    )
}

#[tokio::test]
async fn applies_and_plans_tell_what_becomes_of_which_resource() {
    let key = r#"["a.b", "c: \"d\" ]"]"#;
    let mut sandbox = Sandbox::new(&module(key, 1)).await;
    let each = |key: &str| format!("module.edge.terraform_data.each[{key}]");
    let (first, second) = (each("\"a.b\""), each(r#""c: \"d\" ]""#));
    let anew = "module.edge.terraform_data.anew";

    let (attempt, report, _) = watched(&sandbox);
    prepare(&sandbox, &attempt).await;
    sandbox.terraform.plan(&attempt).await.unwrap();
    let planned = report.details(RunKind::Plan);
    let all = [
        (anew, ResourceAction::Create),
        (&first, ResourceAction::Create),
        (&second, ResourceAction::Create),
    ];
    assert_eq!(
        (changes(&planned), planned.resources),
        (all.into(), Some(counts(3, 0, 0)))
    );
    assert_eq!(steps(&planned), ["init", "validate", "plan"]);

    let applied = apply(&sandbox).await;
    assert_eq!(
        (changes(&applied), applied.resources),
        (all.into(), Some(counts(3, 0, 0)))
    );
    assert_eq!(applied.diagnostics, []);
    assert!(steps(&applied).contains(&"apply"));

    // Nothing to do.
    let again = apply(&sandbox).await;
    assert_eq!(
        (changes(&again), again.resources),
        (Vec::new(), Some(counts(0, 0, 0)))
    );
    assert!(!steps(&again).contains(&"init"), "it is prepared");

    sandbox.edit_module(&module(r#"["a.b"]"#, 2));
    let changed = apply(&sandbox).await;
    let all = [
        (anew, ResourceAction::Replace),
        (&first, ResourceAction::Update),
        (&second, ResourceAction::Delete),
    ];
    assert_eq!(
        (changes(&changed), changed.resources),
        (all.into(), Some(counts(1, 1, 2)))
    );
}

/// The second resource fails after the first was created.
const HALF: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "good" {
}

resource "terraform_data" "bad" {
  input = terraform_data.good.id

  lifecycle {
    postcondition {
      condition     = self.output == "never"
      error_message = "It is never so.\nReally."
    }
  }
}

check "odd" {
  assert {
    condition     = terraform_data.good.id == "never"
    error_message = "It is odd."
  }
}
"#;

#[tokio::test]
async fn an_apply_that_fails_tells_what_it_did_and_its_diagnostics() {
    let sandbox = Sandbox::new(HALF).await;
    let (attempt, report, output) = watched(&sandbox);
    prepare(&sandbox, &attempt).await;
    let error = sandbox.terraform.apply(&attempt).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with(
            "error tf-apply for 'edge': exit status 1\n\nError: Resource postcondition failed\n"
        ),
        "{text}"
    );
    let details = report.details(RunKind::Apply);
    let good = "module.edge.terraform_data.good";
    let bad = "module.edge.terraform_data.bad";
    assert_eq!(
        changes(&details),
        [
            (bad, ResourceAction::Create),
            (good, ResourceAction::Create)
        ]
    );
    assert_eq!(details.resources, Some(counts(2, 0, 0)));
    let [failed, odd] = details.diagnostics.as_slice() else {
        panic!("{details:#?}");
    };
    assert_eq!(failed.severity(), DiagnosticSeverity::Error);
    assert_eq!(failed.summary, "Resource postcondition failed");
    assert_eq!(failed.detail, "It is never so.\nReally.");
    assert!(failed.file.ends_with("/main.tf"), "{failed:?}");
    assert_eq!(failed.line, 14);
    assert_contains(
        &failed.snippet,
        ["condition     = self.output == \"never\""],
    );
    assert_eq!(
        (odd.severity(), odd.detail.as_str()),
        (DiagnosticSeverity::Warning, "It is odd.")
    );
    // Terraform's lines about attributes still reach the output.
    let output = output.0.lock().unwrap().join("\n");
    assert_contains(&output, ["+ resource \"terraform_data\" \"good\""]);
}
