//! The events that `OpenTofu` writes in addition to its output agree with the output.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cts_core::EngineKind;
use cts_core::runs::RunKind;
use cts_proto::run::v1::RunDetails;
use cts_terraform::{Attempt, CommandError, OutputLine, OutputSink, Report, Step};
use cts_testkit::{assert_contains, tofu_path};

use crate::fixture::Sandbox;

/// The file with the events.
const FILE: &str = ".cts-events.ndjson";

/// Reads one command with its events and without them.
struct Both {
    with: Report,
    without: Report,
    events: Mutex<usize>,
}

impl Both {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            with: Report::new(Arc::new(cts_terraform::Discard)),
            without: Report::new(Arc::new(cts_terraform::Discard)),
            events: Mutex::new(0),
        })
    }
}

impl OutputSink for Both {
    fn line(&self, line: OutputLine) {
        self.with.line(line.clone());
        self.without.line(line);
    }

    fn event(&self, line: &str) {
        *self.events.lock().unwrap() += 1;
        self.with.event(line);
    }

    fn step_ended(&self, step: Step, took: Duration) {
        self.with.step_ended(step, took);
        self.without.step_ended(step, took);
    }
}

async fn sandbox(module: &str) -> Sandbox {
    Sandbox::with_engine(EngineKind::OpenTofu, tofu_path(), module).await
}

async fn run(sandbox: &Sandbox, kind: RunKind) -> (RunDetails, Result<(), CommandError>) {
    let both = Both::new();
    let (attempt, _unused) = sandbox.attempt();
    let attempt = Attempt {
        output: Arc::clone(&both) as _,
        ..attempt
    };
    let root = sandbox.write(Vec::new());
    sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    let result = match kind {
        RunKind::Plan => sandbox.terraform.plan(&attempt).await.map(drop),
        _ => sandbox.terraform.apply(&attempt).await,
    };
    assert!(*both.events.lock().unwrap() > 1, "there are events");
    let left = sandbox.directory().path().join(FILE);
    assert!(!left.exists(), "the file is removed");
    let with = both.with.details(kind);
    let without = both.without.details(kind);
    assert_eq!(sorted(with.clone()), sorted(without));
    (with, result)
}

/// Removes differences that are expected: the order of simultaneous changes, line breaks in details, and the
/// difference of values that the output shows in addition to the values.
fn sorted(mut details: RunDetails) -> RunDetails {
    details
        .changes
        .sort_by(|one, other| one.address.cmp(&other.address));
    for diagnostic in &mut details.diagnostics {
        diagnostic.detail = diagnostic.detail.replace('\n', " ");
        if let Some((values, _difference)) = diagnostic
            .snippet
            .split_once("\n    ├────────────────\n    │ Diff:")
        {
            diagnostic.snippet = values.to_owned();
        }
    }
    details
}

/// The state that the module reads.
const OTHER: &str = r#"{"version":4,"terraform_version":"1.0.0","serial":1,"lineage":"other","outputs":{},"resources":[]}"#;

/// A module that changes many kinds of resources, with output that looks like events.
fn module(version: u32, keys: &str) -> String {
    format!(
        r#"
variable "services" {{
  type = any
}}

resource "terraform_data" "each" {{
  for_each = toset({keys})
  input    = {version}
}}

resource "terraform_data" "anew" {{
  triggers_replace = {version}

  provisioner "local-exec" {{
    command = "echo '{{\"type\":\"change_summary\",\"changes\":{{\"add\":9,\"change\":9,\"remove\":9,\"operation\":\"apply\"}}}}'"
  }}
}}

data "terraform_remote_state" "none" {{
  backend  = "local"
  config   = {{ path = "../../other.tfstate" }}
  defaults = {{ name = terraform_data.anew.id }}
}}

check "odd" {{
  assert {{
    condition     = length(terraform_data.each) == 7
    error_message = "It is odd."
  }}
}}
"#
    )
}

#[tokio::test]
async fn events_and_lines_agree_on_plans_and_applies() {
    let mut sandbox = sandbox(&module(1, r#"["a.b", "c: \"d\" ]"]"#)).await;
    fs::write(sandbox.path().join("other.tfstate"), OTHER).unwrap();
    for kind in [RunKind::Plan, RunKind::Apply] {
        let (details, result) = run(&sandbox, kind).await;
        result.unwrap();
        assert_eq!(details.resources.unwrap().added, 3);
        assert_eq!(details.changes.len(), 3);
        assert_eq!(details.diagnostics.len(), 1);
    }
    sandbox.edit_module(&module(2, r#"["a.b"]"#));
    for kind in [RunKind::Plan, RunKind::Apply, RunKind::Apply] {
        run(&sandbox, kind).await.1.unwrap();
    }
}

/// Fails after its first resource, for reasons with values.
const FAILS: &str = r#"
variable "services" {
  type = any
}

locals {
  wanted = "never"
}

resource "terraform_data" "good" {
}

resource "terraform_data" "bad" {
  input = terraform_data.good.id

  lifecycle {
    postcondition {
      condition     = self.output == local.wanted
      error_message = "It is never so, and this is said in a text that is longer than a line of a terminal is."
    }
  }
}
"#;

#[tokio::test]
async fn events_and_lines_agree_on_mistakes() {
    let sandbox = sandbox(FAILS).await;
    let (details, result) = run(&sandbox, RunKind::Apply).await;
    let text = result.unwrap_err().to_string();
    assert_contains(&text, ["Error: Resource postcondition failed"]);
    let [failed] = details.diagnostics.as_slice() else {
        panic!("{details:#?}");
    };
    assert!(
        !failed.detail.contains('\n'),
        "it is not broken: {failed:?}"
    );
    assert!(failed.snippet.contains("local.wanted is \"never\""));
}

#[tokio::test]
async fn a_file_that_was_left_is_made_anew_for_its_owner_alone() {
    let module = r#"
variable "services" {
  type = any
}

resource "terraform_data" "mode" {
  provisioner "local-exec" {
    command = "stat -c %a .cts-events.ndjson >mode"
  }
}
"#;
    let sandbox = sandbox(module).await;
    let directory = sandbox.directory().path().to_owned();
    fs::create_dir_all(&directory).unwrap();
    let elsewhere = sandbox.path().join("elsewhere");
    fs::write(&elsewhere, "as it was").unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o644)).unwrap();
    std::os::unix::fs::symlink(&elsewhere, directory.join(FILE)).unwrap();
    run(&sandbox, RunKind::Apply).await.1.unwrap();
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "as it was");
    let mode = fs::read_to_string(directory.join("mode")).unwrap();
    assert_eq!(mode.trim(), "600");
}

#[tokio::test]
async fn further_arguments_about_json_are_left_alone() {
    let mut sandbox = sandbox(&module(1, "[]")).await;
    let arguments = ("TF_CLI_ARGS_plan".to_owned(), "-json".to_owned());
    sandbox.extra_environment.push(arguments);
    let (attempt, mut lines) = sandbox.attempt();
    let root = sandbox.write(Vec::new());
    sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    sandbox.terraform.plan(&attempt).await.unwrap();
    crate::fixture::wait_for(&mut lines, "\"type\":\"change_summary\"").await;
}
