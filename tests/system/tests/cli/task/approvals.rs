//! `cts approvals`.

use cts_testkit::ScriptedAnswer;
use serde_json::{Value, json};

use super::call::Call;
use super::{Conversation, ok, refused};

const RUN: &str = "0197a000-0000-7000-8000-000000000001";

fn approval(state: &str) -> Value {
    json!({
        "run_id": RUN, "task_name": "edge-lb", "effect": "0af1", "state": state,
        "counts": {"deleted": 2, "replaced": 1, "unchanged": 7},
        "asked_at": "2026-02-03T10:15:30Z",
    })
}

#[tokio::test]
async fn waiting_effects_are_listed_with_their_set() {
    let list = || ok(json!({"approvals": [approval("waiting")], "set": "77c2"}));
    let server = Conversation::with([list()]).await;
    let path = "GET /v1/approvals?task=edge-*";
    let call = Call::cts(&["approvals", "list", "edge-*"]);
    let said = server.run(call, &[path]).await;
    assert_eq!(said.code, Some(0), "{said}");
    said.stdout_has(["edge-lb", RUN, "2 destroyed, 1 replaced", "Set: 77c2"]);
    let server = Conversation::with([list()]).await;
    let call = Call::cts(&["approvals", "list", "-o", "json"]);
    let said = server.run(call, &["GET /v1/approvals"]).await;
    let shown: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(
        shown,
        json!({"approvals": [approval("waiting")], "set": "77c2"})
    );
    let server = Conversation::with([ok(json!({"approvals": [], "set": ""}))]).await;
    let call = Call::cts(&["approvals", "list"]);
    let said = server.run(call, &["GET /v1/approvals"]).await;
    said.stderr_has(["Nothing waits for consent."]);
}

#[tokio::test]
async fn consent_is_shown_with_its_plan() {
    let [consent, plan] = [
        format!("GET /v1/approvals/{RUN}"),
        format!("GET /v1/runs/{RUN}/plan"),
    ];
    let answer = || ok(json!({ "approval": approval("waiting") }));
    let changes = json!([{"address": "pool.old", "action": "delete"}]);
    let kept =
        ok(json!({"plan": {"effect": "0af1", "counts": {"deleted": 1}, "changes": changes}}));
    let server = Conversation::with([answer(), kept]).await;
    let call = Call::cts(&["approvals", "show", RUN]);
    let said = server.run(call, &[&consent, &plan]).await;
    said.stdout_has(["Effect:   0af1", "State:    waiting", "  - pool.old"]);
    let server = Conversation::with([answer(), refused(404, "no plan as data")]).await;
    let call = Call::cts(&["approvals", "show", RUN, "-o", "json"]);
    let said = server.run(call, &[&consent, &plan]).await;
    let shown: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(
        shown,
        json!({"approval": approval("waiting"), "plan": null})
    );
}

#[tokio::test]
async fn effects_are_approved_and_rejected_by_name() {
    for (word, state) in [("approve", "approved"), ("reject", "rejected")] {
        let request = |comment: &str| {
            let body = json!({"comment": comment, "effect": "0af1"});
            format!("POST /v1/approvals/{RUN}/{word} {body}")
        };
        let answer = ok(json!({ "approval": approval(state) }));
        let server = Conversation::with([answer]).await;
        let call = Call::cts(&["approvals", word, RUN, "-effect", "0af1", "-comment", "ok"]);
        let said = server.run(call, &[&request("ok")]).await;
        assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{said}");
        said.stderr_has(["The effect 0af1 of 'edge-lb' is", state]);
        let changed = refused(409, "the effect is 0af2 by now");
        let server = Conversation::with([changed]).await;
        let call = Call::cts(&["approvals", word, RUN, "-effect", "0af1"]);
        let said = server.run(call, &[&request("")]).await;
        assert_eq!(said.code, Some(11), "{said}");
        said.stderr_has(["the effect is 0af2 by now", "cts approvals show"]);
    }
    let server = Conversation::with([]).await;
    let call = Call::cts(&["approvals", "approve", RUN]);
    assert_ne!(server.run(call, &[]).await.code, Some(0));
}

#[tokio::test]
async fn a_set_that_has_changed_is_shown() {
    let path = r#"POST /v1/approvals/approve {"comment":"","set":"77c2","tasks":["edge-*"]}"#;
    let call = || Call::cts(&["approvals", "approve", "edge-*", "-set", "77c2"]);
    let answer = ok(json!({"approvals": [approval("approved")]}));
    let server = Conversation::with([answer]).await;
    let said = server.run(call(), &[path]).await;
    said.stderr_has(["Approved: 1 (edge-lb)"]);
    let changed = json!({
        "error": {"message": "the effects are different by now", "code": "approval-changed"},
        "request_id": "x", "approvals": [approval("waiting")], "set": "77c3",
    });
    let server = Conversation::with([ScriptedAnswer::Json(409, changed)]).await;
    let said = server.run(call(), &[path]).await;
    assert_eq!(said.code, Some(11), "{said}");
    said.stderr_has(["nothing is approved", "edge-lb", "Set: 77c3"]);
}

#[tokio::test]
async fn rejected_effects_are_reopened() {
    let path = r#"POST /v1/approvals/reopen {"task":"edge-lb"}"#;
    let call = || Call::cts(&["approvals", "reopen", "edge-lb"]);
    let server = Conversation::with([ok(json!({"reopened": 1}))]).await;
    let said = server.run(call(), &[path]).await;
    said.stderr_has(["'edge-lb' runs and asks again"]);
    let server = Conversation::with([refused(404, "nothing is rejected")]).await;
    let said = server.run(call(), &[path]).await;
    assert_eq!(said.code, Some(11), "{said}");
    said.stderr_has(["no effect of a task 'edge-lb' is rejected"]);
}
