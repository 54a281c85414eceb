//! `task delete` (docs/cli.md#cts-task).

use cts_testkit::ScriptedAnswer::{self, Close};
use insta::assert_snapshot;
use serde_json::json;

use super::call::{Call, CommandOutput};
use super::{Conversation, accepted, ok, unknown_task};

const DELETE: &str = "DELETE /v1/tasks/web";

const GET: &str = "GET /v1/tasks/web";

fn retained() -> ScriptedAnswer {
    ok(json!({"task": {"name": "web"}}))
}

fn destroyed() -> ScriptedAnswer {
    ok(json!({"task": {"name": "web", "on_delete": "destroy"}}))
}

fn delete() -> Call {
    Call::original(&["task", "delete", "web"])
}

/// The answer `input` at the prompt, to which no request may follow.
async fn not_deleted(input: &str) -> CommandOutput {
    let server = Conversation::with([retained()]).await;
    server.run(delete().input(input), &[GET]).await
}

#[tokio::test]
async fn approved() {
    let server = Conversation::with([retained(), accepted()]).await;
    assert_snapshot!(server.run(delete().input("yes\n"), &[GET, DELETE]).await);
}

#[tokio::test]
async fn approved_beforehand() {
    let server = Conversation::with([retained(), accepted()]).await;
    let call = Call::original(&["task", "delete", "-auto-approve", "web"]);
    assert_snapshot!(server.run(call, &[GET, DELETE]).await);
}

#[tokio::test]
async fn yes_without_an_end_of_line_is_no_answer() {
    let said = not_deleted("yes").await;
    assert_eq!(said.code, Some(11), "{said}");
    assert_eq!(said.stderr, "==> Error asking for approval: EOF\n");
}

#[tokio::test]
async fn unknown() {
    let server = Conversation::with([unknown_task("web"), unknown_task("web")]).await;
    let said = server.run(delete().input("yes\n"), &[GET, DELETE]).await;
    assert_snapshot!(said);
}

#[tokio::test]
async fn original_hints_at_no_command_that_it_does_not_have() {
    let server = Conversation::with([unknown_task("web"), unknown_task("web")]).await;
    let said = server.run(delete().input("yes\n"), &[GET, DELETE]).await;
    assert!(!said.stdout.contains("cts task list"), "{said}");
}

#[tokio::test]
async fn an_unknown_task_fails_before_the_question() {
    for options in [&["web"][..], &["-auto-approve", "web"]] {
        let server = Conversation::with([unknown_task("web")]).await;
        let call = Call::cts(&[&["task", "delete"], options].concat());
        let said = server.run(call.input("yes\n"), &[GET]).await;
        assert_eq!(said.code, Some(11), "{said}");
        said.stderr_has(["unable to delete 'web'"]);
        said.stdout_has(["cts task list"]);
        assert!(!said.stdout.contains("Enter a value"), "{said}");
    }
}

#[tokio::test]
async fn a_question_without_an_answer_names_the_option_that_approves() {
    let server = Conversation::with([retained()]).await;
    let call = Call::cts(&["task", "delete", "web"]);
    let said = server.run(call, &[GET]).await;
    assert_eq!(said.code, Some(11), "{said}");
    said.stderr_has(["Error asking for approval: EOF"]);
    said.stdout_has([
        "-auto-approve",
        "'web' will be removed from cts; its infrastructure stays",
    ]);
}

#[tokio::test]
async fn no_answer() {
    let server = Conversation::with([retained(), Close]).await;
    assert_snapshot!(server.run(delete().input("yes\n"), &[GET, DELETE]).await);
}

#[tokio::test]
async fn waiting_until_it_is_gone() {
    let here = retained();
    let answers = [
        here.clone(),
        accepted(),
        here.clone(),
        here,
        unknown_task("web"),
    ];
    let server = Conversation::with(answers).await;
    let call = Call::cts(&["task", "delete", "-auto-approve", "--wait", "web"]);
    let requests = [GET, DELETE, GET, GET, GET];
    assert_snapshot!(server.run(call, &requests).await);
}

#[tokio::test]
async fn waiting_for_a_server_that_goes_away() {
    let server = Conversation::with([retained(), accepted()]).await;
    let call = Call::cts(&["task", "delete", "-auto-approve", "--wait", "web"]);
    let said = server.run(call, &[GET, DELETE, GET]).await;
    assert_eq!(said.code, Some(11), "{said}");
    said.stderr_has(["unable to see whether 'web' is gone"]);
}

const PLAN: &str = "POST /v1/tasks/web/destroy-plan";

fn planned() -> ScriptedAnswer {
    let plan = "Plan: 0 to add, 0 to change, 2 to destroy.\n";
    ok(json!({"request_id": "1", "run": {"changes_present": true, "plan": plan}}))
}

#[tokio::test]
async fn destruction_is_shown_before_the_deletion() {
    let server = Conversation::with([destroyed(), planned(), accepted()]).await;
    let said = server.run(delete().input("yes\n"), &[GET, PLAN, DELETE]);
    assert_snapshot!(said.await);
}

#[tokio::test]
async fn nothing_is_destroyed_without_a_yes() {
    let consent = json!({"reason": "rule destroy, 2 to destroy", "effect": "0af1"});
    let run = json!({"changes_present": true, "plan": "Plan: 2 to destroy.\n", "consent": consent});
    let planned = ok(json!({"request_id": "1", "run": run}));
    let server = Conversation::with([destroyed(), planned]).await;
    let said = server.run(delete().input("no\n"), &[GET, PLAN]).await;
    said.stdout_has(["The destruction would wait for consent: rule destroy, 2 to destroy\n"]);
    assert!(
        said.stdout.ends_with("Cancelled deleting task 'web'\n"),
        "{said}"
    );
}

#[tokio::test]
async fn failed_plan_of_a_destruction_prevents_the_deletion() {
    let server = Conversation::with([destroyed(), unknown_task("web")]).await;
    let said = server.run(delete().input("yes\n"), &[GET, PLAN]).await;
    assert_eq!(said.code, Some(11), "{said}");
    assert!(said.stderr.contains("unable to generate plan"), "{said}");
}

#[tokio::test]
async fn a_destruction_approved_beforehand() {
    let server = Conversation::with([destroyed(), accepted()]).await;
    let call = Call::cts(&["task", "delete", "-auto-approve", "web"]);
    assert_snapshot!(server.run(call, &[GET, DELETE]).await);
}

/// Nor where it is not known whether it would be.
#[tokio::test]
async fn retained_infrastructure_is_not_destroyed() {
    let retain = "DELETE /v1/tasks/web?on_delete=retain";
    let server = Conversation::with([accepted()]).await;
    let call = Call::cts(&["task", "delete", "-retain", "web"]).input("yes\n");
    let said = server.run(call, &[retain]).await;
    assert!(said.stdout.contains("its infrastructure stays"), "{said}");
    let server = Conversation::with([Close, accepted()]).await;
    let said = server.run(delete().input("yes\n"), &[GET, retain]).await;
    assert_eq!(said.code, Some(0), "{said}");
}
