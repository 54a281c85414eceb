//! `task replace` (docs/cli.md#cts-task).

use cts_testkit::ScriptedAnswer;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::call::Call;
use super::{Conversation, ok, refused, unknown_task};

const TASK: &str = r#"
task {
  name    = "web"
  module  = "acme/lb/cts"
  version = "1.3.0"
  condition "services" {
    names = ["api", "db"]
  }
}
"#;

const READ: &str = "GET /v1/tasks/web";
const REPLACE: &str = r#"PUT /v1/tasks/web?run=now {"task":{"condition":{"services":{"names":["api","db"]}},"module":"acme/lb/cts","name":"web","variables":{},"version":"1.3.0"}}"#;

fn replace(options: &[&str]) -> Call {
    Call::cts(&[&["task", "replace", "-task-file=web.hcl"], options].concat()).file("web.hcl", TASK)
}

fn web(version: &str, services: &[&str]) -> ScriptedAnswer {
    ok(json!({
        "request_id": "",
        "task": {
            "name": "web",
            "enabled": true,
            "module": "acme/lb/cts",
            "version": version,
            "condition": {"services": {"names": services}},
        },
    }))
}

#[tokio::test]
async fn a_task_is_replaced_after_its_differences_are_shown() {
    let server = Conversation::with([web("1.2.0", &["api"]), web("1.3.0", &["api", "db"])]).await;
    let said = server
        .run(replace(&["-auto-approve"]), &[READ, REPLACE])
        .await;
    assert_snapshot!(said);
}

#[tokio::test]
async fn without_an_answer_to_the_question_nothing_is_replaced() {
    let server = Conversation::with([web("1.2.0", &["api", "db"])]).await;
    let said = server.run(replace(&[]), &[READ]).await;
    assert_snapshot!(said);
}

#[tokio::test]
async fn a_dry_run_shows_the_differences_alone() {
    let server = Conversation::with([web("1.2.0", &["api", "db"])]).await;
    let said = server
        .run(replace(&["-dry-run", "-o", "json"]), &[READ])
        .await;
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    let expected = json!({
        "task": "web",
        "replaced": false,
        "differences": [{"member": "version", "now": "1.2.0", "file": "1.3.0"}],
    });
    assert_eq!(document, expected);
}

#[tokio::test]
async fn a_task_that_is_as_in_the_file_is_left_alone() {
    let server = Conversation::with([web("1.3.0", &["api", "db"])]).await;
    let said = server.run(replace(&[]), &[READ]).await;
    assert_snapshot!(said);
}

#[tokio::test]
async fn an_unknown_task_is_refused_before_the_question() {
    let server = Conversation::with([unknown_task("web")]).await;
    let said = server.run(replace(&[]), &[READ]).await;
    assert_snapshot!(said);
}

#[tokio::test]
async fn a_run_that_fails_afterwards_is_told_apart_from_a_refusal() {
    let failed = refused(422, "error tf-apply for 'web': no route");
    let server = Conversation::with([web("1.2.0", &["api"]), failed]).await;
    let said = server
        .run(replace(&["-auto-approve"]), &[READ, REPLACE])
        .await;
    assert_eq!(said.code, Some(11), "{said}");
    said.stderr_has(["task 'web' is replaced, and its run failed", "no route"]);
}
