//! `task delete` (docs/cli.md#cts-task).

use cts_testkit::ScriptedAnswer::Close;
use insta::assert_snapshot;
use serde_json::json;

use super::call::{Call, Said};
use super::{Conversation, accepted, ok, unknown_task};

const DELETE: &str = "DELETE /v1/tasks/web";

fn delete() -> Call {
    Call::original(&["task", "delete", "web"])
}

/// The answer `input` at the prompt, to which no request may follow.
async fn not_deleted(input: &str) -> Said {
    let server = Conversation::with([]).await;
    server.run(delete().input(input), &[]).await
}

#[tokio::test]
async fn approved() {
    let server = Conversation::with([accepted()]).await;
    assert_snapshot!(server.run(delete().input("yes\n"), &[DELETE]).await);
}

#[tokio::test]
async fn approved_by_a_line_of_windows() {
    let server = Conversation::with([accepted()]).await;
    let said = server.run(delete().input("yes\r\nno\n"), &[DELETE]).await;
    assert_eq!(said.code, Some(0), "{said}");
}

#[tokio::test]
async fn approved_beforehand() {
    let server = Conversation::with([accepted()]).await;
    let call = Call::original(&["task", "delete", "-auto-approve", "web"]);
    assert_snapshot!(server.run(call, &[DELETE]).await);
}

#[tokio::test]
async fn declined() {
    assert_snapshot!(not_deleted("no\n").await);
}

#[tokio::test]
async fn only_yes_is_yes() {
    for input in [
        "\n",
        "y\n",
        "YES\n",
        "Yes\n",
        " yes\n",
        "yes \n",
        "no\nyes\n",
    ] {
        let said = not_deleted(input).await;
        assert_eq!(said.code, Some(0), "{input:?}: {said}");
        assert!(
            said.stdout.ends_with("Cancelled deleting task 'web'\n"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn end_of_input_is_no_answer() {
    assert_snapshot!(not_deleted("").await);
}

#[tokio::test]
async fn yes_without_an_end_of_line_is_no_answer() {
    let said = not_deleted("yes").await;
    assert_eq!(said.code, Some(11), "{said}");
    assert_eq!(said.stderr, "==> Error asking for approval: EOF\n");
}

#[tokio::test]
async fn interrupted() {
    let server = Conversation::with([]).await;
    let call = server.call(delete());
    let said = call
        .interrupt_when(|said| said.ends_with("Enter a value: "))
        .await;
    assert_snapshot!(said);
    assert_eq!(server.server.lines(), [""; 0]);
}

#[tokio::test]
async fn unknown() {
    let server = Conversation::with([unknown_task("web")]).await;
    let said = server.run(delete().input("yes\n"), &[DELETE]).await;
    assert_snapshot!(said);
}

#[tokio::test]
async fn nobody_gets_a_hint_to_a_command_that_the_original_does_not_have() {
    for (call, hint) in [
        (delete(), false),
        (Call::cts(&["task", "delete", "web"]), true),
    ] {
        let server = Conversation::with([unknown_task("web")]).await;
        let said = server.run(call.input("yes\n"), &[DELETE]).await;
        assert_eq!(said.stdout.contains("cts task list"), hint, "{said}");
    }
}

#[tokio::test]
async fn no_answer() {
    let server = Conversation::with([Close]).await;
    assert_snapshot!(server.run(delete().input("yes\n"), &[DELETE]).await);
}

#[tokio::test]
async fn waiting_until_it_is_gone() {
    let here = ok(json!({"task": {"name": "web"}}));
    let server = Conversation::with([accepted(), here.clone(), here, unknown_task("web")]).await;
    let call = Call::cts(&["task", "delete", "-auto-approve", "--wait", "web"]);
    let get = "GET /v1/tasks/web";
    assert_snapshot!(server.run(call, &[DELETE, get, get, get]).await);
}

#[tokio::test]
async fn waiting_for_a_server_that_goes_away() {
    let server = Conversation::with([accepted()]).await;
    let call = Call::cts(&["task", "delete", "-auto-approve", "--wait", "web"]);
    let said = server.run(call, &[DELETE, "GET /v1/tasks/web"]).await;
    assert_eq!(said.code, Some(11), "{said}");
    assert!(
        said.stderr.contains("unable to see whether 'web' is gone"),
        "{said}"
    );
}
