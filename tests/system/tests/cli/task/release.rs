//! `task release -all` and the brake in `status` (docs/cli.md#cts-task).

use cts_testkit::ScriptedAnswer;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::call::Call;
use super::{Conversation, ok, refused};

const READ: &str = "GET /v1/brake";
const RELEASE: &str = r#"POST /v1/brake {"seen":{"lost":230,"of":1000}}"#;

fn release(options: &[&str]) -> Call {
    Call::cts(&[&["task", "release", "-all"], options].concat())
}

fn brake() -> Value {
    json!({
        "configured": true,
        "set": true,
        "since": "2026-02-03T10:15:30Z",
        "lost": 230,
        "of": 1000,
        "limit": 200,
        "losses": [
            {"service": "web", "datacenter": "dc2", "before": 120, "now": 3},
            {"service": "api", "datacenter": "", "before": 80, "now": 0},
        ],
        "more_losses": 2,
        "held": 41,
        "leased": [
            {
                "task_name": "edge",
                "run_id": "0197a000-0000-7000-8000-000000000001",
                "address": "https://tfe.example.com/runs/run-1",
                "to_confirm": true,
            },
            {
                "task_name": "dns",
                "run_id": "0197a000-0000-7000-8000-000000000002",
                "to_confirm": false,
            },
        ],
    })
}

fn not_set(configured: bool) -> ScriptedAnswer {
    ok(json!({
        "configured": configured,
        "set": false,
        "lost": 0,
        "of": 0,
        "limit": 0,
        "losses": [],
        "more_losses": 0,
        "held": 0,
        "leased": [],
    }))
}

fn released() -> ScriptedAnswer {
    ok(json!({"request_id": "", "released": brake()}))
}

#[tokio::test]
async fn a_release_shows_its_losses_before_the_question() {
    let server = Conversation::with([ok(brake()), released()]).await;
    let call = release(&[]).input("yes\n");
    assert_snapshot!(server.run(call, &[READ, RELEASE]).await);
}

#[tokio::test]
async fn nothing_is_released_without_a_yes() {
    let server = Conversation::with([ok(brake())]).await;
    let said = server.run(release(&[]).input("no\n"), &[READ]).await;
    assert_eq!(said.code, Some(0), "{said}");
    said.stdout_has(["Nothing is released"]);
    let server = Conversation::with([ok(brake())]).await;
    let said = server.run(release(&[]), &[READ]).await;
    assert_eq!(said.code, Some(11), "{said}");
    said.stderr_has(["-auto-approve"]);
}

#[tokio::test]
async fn the_released_brake_is_an_object_for_programs() {
    let server = Conversation::with([ok(brake()), released()]).await;
    let call = release(&["-auto-approve", "-o", "json"]);
    let said = server.run(call, &[READ, RELEASE]).await;
    assert_eq!(said.code, Some(0), "{said}");
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(document, json!({"released": brake()}));
}

#[tokio::test]
async fn more_losses_than_were_shown_are_not_released() {
    let more = refused(409, "260 of 1000 instances are lost by now");
    let server = Conversation::with([ok(brake()), more]).await;
    let call = release(&["-auto-approve"]);
    assert_snapshot!(server.run(call, &[READ, RELEASE]).await);
}

#[tokio::test]
async fn a_brake_that_is_not_set_needs_no_release() {
    for (configured, text) in [
        (true, "The brake of the fleet is not set"),
        (false, "The brake of the fleet is not configured"),
    ] {
        let server = Conversation::with([not_set(configured)]).await;
        let said = server.run(release(&[]), &[READ]).await;
        assert_eq!(said.code, Some(0), "{said}");
        said.stderr_has([text]);
        assert_eq!(said.stdout, "");
    }
}

#[tokio::test]
async fn one_task_or_the_brake_is_named() {
    let both = release(&["web"]).run().await;
    assert_eq!(both.code, Some(14), "{both}");
    let none = Call::cts(&["task", "release"]).run().await;
    assert_eq!(none.code, Some(13), "{none}");
    none.stderr_has(["TASK NAME"]);
}

#[tokio::test]
async fn a_set_brake_is_the_first_line_of_the_status() {
    let overview = json!({
        "problems": [{"text": "the brake of the fleet is set"}],
        "more_problems": 0,
        "members": [],
        "workers": [],
        "watchers": [],
        "tasks": {"blocked": 41},
        "at": "2026-02-03T10:20:00Z",
        "brake": brake(),
    });
    let server = Conversation::with([ok(overview)]).await;
    let call = Call::cts(&["status"]);
    assert_snapshot!(server.run(call, &["GET /v1/overview"]).await);
}
