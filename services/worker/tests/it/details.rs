//! Details that a worker reports of an attempt in addition to its outcome.

use cts_proto::run::v1::complete_run_request::Outcome;
use cts_proto::run::v1::{DiagnosticSeverity, ResourceAction, RunKind};
use cts_testkit::assert_contains;

use crate::stage::{SECRET, Stage};

/// Makes a resource, and fails at the next one if `fails` is set. Texts have the secret wherever details have
/// texts.
fn module(fails: bool) -> String {
    format!(
        r#"
variable "services" {{
  type = any
}}

resource "terraform_data" "made" {{
  for_each = toset(["<{SECRET}>"])
}}

resource "terraform_data" "checked" {{
  input = terraform_data.made

  lifecycle {{
    postcondition {{
      condition     = !{fails} || self.output == "{SECRET}"
      error_message = "first {SECRET}\nsecond {SECRET}"
    }}
  }}
}}
"#
    )
}

#[tokio::test]
async fn an_apply_is_reported_with_its_changes_and_times() {
    let mut stage = Stage::new(&module(false)).await;
    stage.strings.grant(RunKind::Apply, stage.input());
    stage.strings.applied().await;
    let details = stage.strings.details();
    assert_eq!(details.resources.unwrap().added, 2);
    let mut changes: Vec<_> = details
        .changes
        .iter()
        .map(|it| it.address.as_str())
        .collect();
    changes.sort_unstable();
    let made = "module.edge.terraform_data.made[\"<(hidden)>\"]";
    assert_eq!(changes, ["module.edge.terraform_data.checked", made]);
    assert!(
        details
            .changes
            .iter()
            .all(|it| it.action() == ResourceAction::Create)
    );
    let phases = details.phases.unwrap();
    assert!(phases.render.is_some() && phases.init.is_some() && phases.validate.is_some());
    assert!(phases.apply.is_some() && phases.plan.is_none() && phases.queue.is_none());
}

#[tokio::test]
async fn a_failure_is_reported_with_diagnostics_that_show_no_secret() {
    let mut stage = Stage::new(&module(true)).await;
    stage.strings.grant(RunKind::Apply, stage.input());
    let error = stage.strings.failed().await;
    let begin = "error tf-apply for 'edge': exit status 1\n\nError: Resource postcondition failed";
    assert!(error.starts_with(begin), "{}", error);
    let details = stage.strings.details();
    let [diagnostic] = details.diagnostics.as_slice() else {
        panic!("{details:?}");
    };
    assert_eq!(diagnostic.severity(), DiagnosticSeverity::Error);
    assert_eq!(diagnostic.detail, "first (hidden)\nsecond (hidden)");
    assert_contains(&diagnostic.snippet, ["\"(hidden)\""]);
    assert!(diagnostic.file.ends_with("main.tf") && diagnostic.line > 1);
    assert!(!format!("{details:?}").contains(SECRET), "{details:?}");
}

#[tokio::test]
async fn invalid_module_is_reported_with_the_line() {
    let bad = "variable \"services\" {\n  type = any\n}\n\noutput \"x\" {\n  value = nope.x\n}\n";
    let mut stage = Stage::new(bad).await;
    stage.strings.grant(RunKind::Check, stage.input());
    let outcome = stage.strings.outcome().await;
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    let details = stage.strings.details();
    assert_eq!(details.resources, None);
    let [diagnostic] = details.diagnostics.as_slice() else {
        panic!("{details:?}");
    };
    assert_eq!(diagnostic.summary, "Reference to undeclared resource");
    assert_eq!(diagnostic.line, 6);
}
