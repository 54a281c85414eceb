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

const STATUS: &str = "GET /v1/status/tasks/web?include=events";
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

/// The status of the task, which is blocked because of these losses.
fn status(losses: &[Value]) -> ScriptedAnswer {
    let mut status = json!({"task_name": "web", "status": "successful", "enabled": true});
    if !losses.is_empty() {
        status["hold"] = json!({"since": "2026-02-03T10:15:30Z", "losses": losses});
    }
    ok(json!({ "web": status }))
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
    let server = Conversation::with([web("1.2.0", &["api", "db"]), status(&[])]).await;
    let said = server.run(replace(&[]), &[READ, STATUS]).await;
    assert_snapshot!(said);
}

#[tokio::test]
async fn the_block_of_a_task_is_shown_before_the_question() {
    let losses = [json!({"service": "api", "now": 0, "applied": 4})];
    for (options, follows) in [
        (&[][..], "runs when it is released"),
        (&["-release"][..], "will be replaced and run"),
    ] {
        let server = Conversation::with([web("1.2.0", &["api", "db"]), status(&losses)]).await;
        let said = server.run(replace(options), &[READ, STATUS]).await;
        assert_eq!(said.code, Some(11), "{said}");
        for part in ["'web' is blocked", "api: 0 of 4 instances", follows] {
            assert!(said.stdout.contains(part), "no {part:?} in {said}");
        }
    }
}

#[tokio::test]
async fn the_run_of_a_replacement_need_not_be_waited_for() {
    let request = REPLACE.replace("run=now", "run=now&wait=false");
    for (options, shown) in [
        (&[][..], "Its run is id-2"),
        (&["-o", "json"], "\"run_id\": \"id-2\""),
    ] {
        let answer = ScriptedAnswer::Json(202, json!({"request_id": "", "run": "id-2"}));
        let server = Conversation::with([web("1.2.0", &["api"]), answer]).await;
        let call = replace(&[&["-auto-approve", "-no-wait"], options].concat());
        let said = server.run(call, &[READ, &request]).await;
        assert_eq!(said.code, Some(0), "{said}");
        let printed = format!("{}{}", said.stdout, said.stderr);
        assert!(printed.contains(shown), "no {shown:?} in {said}");
    }
}

#[tokio::test]
async fn a_run_that_is_held_is_no_error() {
    let mut held = json!({"request_id": "", "revision": 2, "held": "api has 0 of the 4 instances"});
    held["task"] = json!({"name": "web", "module": "acme/lb/cts"});
    let server = Conversation::with([web("1.2.0", &["api"]), ok(held)]).await;
    let said = server
        .run(replace(&["-auto-approve"]), &[READ, REPLACE])
        .await;
    assert_eq!(said.code, Some(0), "{said}");
    said.stderr_has([
        "Its run is blocked: api has 0 of the 4 instances",
        "`cts task release web`",
    ]);
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
