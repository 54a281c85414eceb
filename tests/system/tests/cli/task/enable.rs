//! `task enable` (docs/cli.md#cts-task).

use cts_testkit::ScriptedAnswer;
use insta::assert_snapshot;
use serde_json::json;

use super::call::Call;
use super::{Conversation, busy_task, ok, refused, unknown_task};

const INSPECT: &str = r#"PATCH /v1/tasks/web?run=inspect {"Enabled":true}"#;
const ENABLE: &str = r#"PATCH /v1/tasks/web {"Enabled":true}"#;
const RUN: &str = r#"PATCH /v1/tasks/web?run=now {"Enabled":true}"#;

fn enable() -> Call {
    Call::original(&["task", "enable", "web"])
}

fn changes() -> ScriptedAnswer {
    let plan = "Terraform will perform the following actions:\n\n  # x will be created\n\n\
                Plan: 1 to add, 0 to change, 0 to destroy.\n";
    ok(json!({"inspect": {"changes_present": true, "plan": plan}}))
}

fn no_changes() -> ScriptedAnswer {
    let plan = "No changes. Your infrastructure matches the configuration.\n";
    ok(json!({"inspect": {"changes_present": false, "plan": plan}}))
}

fn done() -> ScriptedAnswer {
    ok(json!({}))
}

#[tokio::test]
async fn without_changes_nothing_is_asked_and_nothing_runs() {
    let server = Conversation::with([no_changes(), done()]).await;
    assert_snapshot!(server.run(enable(), &[INSPECT, ENABLE]).await);
}

#[tokio::test]
async fn with_changes_approved() {
    let server = Conversation::with([changes(), done()]).await;
    assert_snapshot!(server.run(enable().input("yes\n"), &[INSPECT, RUN]).await);
}

#[tokio::test]
async fn approved_beforehand() {
    let server = Conversation::with([changes(), done()]).await;
    let call = Call::original(&["task", "enable", "-auto-approve", "web"]);
    let said = server.run(call, &[INSPECT, RUN]).await;
    assert_eq!(said.code, Some(0), "{said}");
    assert!(!said.stdout.contains("Enter a value"), "{said}");
    assert!(
        said.stdout.ends_with("==> 'web' enable complete!\n"),
        "{said}"
    );
}

fn consent(may_approve: bool) -> ScriptedAnswer {
    let consent = json!({
        "reason": "rule destroy, 1 to destroy", "effect": "0af1", "may_approve": may_approve,
    });
    let plan = "Plan: 0 to add, 0 to change, 1 to destroy.\n";
    ok(json!({"inspect": {"changes_present": true, "plan": plan, "consent": consent}}))
}

#[tokio::test]
async fn yes_approves_the_effect_that_was_shown_if_the_role_may_approve() {
    const APPROVE: &str = r#"PATCH /v1/tasks/web?run=now {"approve":"0af1","enabled":true}"#;
    let asks = "The run would wait for consent: rule destroy, 1 to destroy. ";
    for (may_approve, options, run, text) in [
        (true, &[][..], APPROVE, "you approve exactly this effect"),
        (false, &[], RUN, "Your role cannot approve it"),
        (true, &["-auto-approve"], RUN, "approves no effect"),
    ] {
        let server = Conversation::with([consent(may_approve), done()]).await;
        let arguments = [&["task", "enable"], options, &["web"]].concat();
        let call = Call::cts(&arguments).input("yes\n");
        let said = server.run(call, &[INSPECT, run]).await;
        assert_eq!(said.code, Some(0), "{said}");
        said.stdout_has([asks, text]);
    }
}

#[tokio::test]
async fn unknown() {
    let server = Conversation::with([unknown_task("web")]).await;
    assert_snapshot!(server.run(enable(), &[INSPECT]).await);
}

#[tokio::test]
async fn running() {
    let server = Conversation::with([busy_task("web")]).await;
    assert_snapshot!(server.run(enable(), &[INSPECT]).await);
}

#[tokio::test]
async fn failing_to_enable() {
    let server = Conversation::with([no_changes(), refused(500, "it broke")]).await;
    let said = server.run(enable(), &[INSPECT, ENABLE]).await;
    assert_eq!(said.code, Some(11), "{said}");
    assert_eq!(said.stderr, "==> Error: unable to enable 'web'\n");
    let detail = "    request returned 500 status code with error: it broke\n";
    assert!(said.stdout.ends_with(detail), "{said}");
}

#[tokio::test]
async fn failing_to_run() {
    let message = "could not apply changes for task web: exit status 1\n\n\
        Error: Missing required argument\n\n  on main.tf line 12, in resource \"terraform_data\" \"a\":\n  \
        12: resource \"terraform_data\" \"a\" {\n\nThe argument \"input\" is required, but no definition \
        was found, and this line is long enough to be broken.\n";
    let server = Conversation::with([changes(), refused(500, message)]).await;
    assert_snapshot!(server.run(enable().input("yes\n"), &[INSPECT, RUN]).await);
}

#[tokio::test]
async fn an_answer_without_plan_is_an_error() {
    let server = Conversation::with([done()]).await;
    assert_snapshot!(server.run(enable(), &[INSPECT]).await);
}

#[tokio::test]
async fn waiting_for_a_running_task() {
    let script = [
        busy_task("web"),
        busy_task("web"),
        no_changes(),
        busy_task("web"),
        done(),
    ];
    let server = Conversation::with(script).await;
    let call = Call::cts(&["task", "enable", "--wait", "web"]);
    assert_snapshot!(
        server
            .run(call, &[INSPECT, INSPECT, INSPECT, ENABLE, ENABLE])
            .await
    );
}

#[tokio::test]
async fn interrupted_while_the_server_works() {
    let server = Conversation::with([ScriptedAnswer::Hang]).await;
    let call = server.call(enable());
    let said = call
        .interrupt_once(|| !server.server.lines().is_empty())
        .await;
    assert_eq!(said.code, Some(130), "{said}");
}
