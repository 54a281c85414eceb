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
        "asked_at": "2026-02-03T10:15:30Z", "cause": ["web: -web-3"],
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
    let harm = "2 destroyed, 1 replaced";
    said.stdout_has(["edge-lb", RUN, harm, "web: -web-3", "Set: 77c2"]);
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
async fn options_of_the_connection_contradict_a_store() {
    let test = ["test", "-config-file=cts.hcl", "-plan=p", "-task=t"];
    for command in [
        &["list", "-config-file=cts.hcl"][..],
        &["list", "-store=sqlite:cts.db"],
        &test,
    ] {
        for option in ["-http-addr=http://127.0.0.1:1", "-token-file=token"] {
            let call = Call::cts(&[&["approvals"], command, &[option]].concat());
            let said = Conversation::with([]).await.run(call, &[]).await;
            assert_ne!(said.code, Some(0), "{said}");
            said.stderr_has(["cannot be used with"]);
        }
    }
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
        "came": ["edge-lb"], "went": ["edge-a", "edge-b"], "changed": [],
    });
    let server = Conversation::with([ScriptedAnswer::Json(409, changed)]).await;
    let said = server.run(call(), &[path]).await;
    assert_eq!(said.code, Some(11), "{said}");
    said.stderr_has(["nothing is approved", "Set: 77c3"]);
    said.stderr_has(["    Came: edge-lb\n    Went: edge-a, edge-b\n    It is now:\n    TASK "]);
    said.stderr_has(["\n    edge-lb  0197"]);
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

/// A plan that destroys one object and creates another.
fn plan() -> String {
    let change = |address: &str, action: &str| {
        let [before, after] = match action {
            "delete" => [json!({"port": 1}), Value::Null],
            _ => [Value::Null, json!({"port": 2})],
        };
        json!({
            "address": address, "mode": "managed", "type": "pool", "name": "p", "provider_name": "lb",
            "change": {"actions": [action], "before": before, "after": after, "after_unknown": {}},
        })
    };
    let changes = [change("pool.new", "create"), change("pool.old", "delete")];
    json!({"format_version": "1.2", "terraform_version": "1.14.3", "resource_changes": changes})
        .to_string()
}

#[tokio::test]
async fn a_plan_is_tested_with_the_rule_of_the_files_or_of_a_running_cts() {
    let config = "approval = \"destroy\"\ntask {\n  name = \"edge\"\n  module = \"acme/edge/fw\"\n  \
        condition \"services\" { names = [\"web\"] }\n}\n";
    let of_files = |task: &str, file: &str, text: &str| {
        let (task, file) = (format!("-task={task}"), format!("-plan={file}"));
        let words = ["approvals", "test", "-config-file=cts.hcl", &task, &file];
        let call = Call::cts(&words).file("cts.hcl", config);
        call.file("plan.json", text)
    };
    let call = of_files("edge", "plan.json", &plan());
    let said = Conversation::with([]).await.run(call, &[]).await;
    assert_eq!(said.code, Some(18), "{said}");
    said.stdout_has([
        "Rule: destroy, by `approval` at the top level of the configuration\n",
        "Plan: 1 to destroy, 1 to create",
        "Needs the consent of a person:\n  destroy pool.old\n",
    ]);
    assert!(!said.stdout.contains("pool.new"), "{said}");
    let call = of_files("edge", "plan.json", &plan()).argument("-o=json");
    let said = Conversation::with([]).await.run(call, &[]).await;
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(document["needs_consent"], true, "{document}");
    let parts = json!([{"action": "destroy", "address": "pool.old"}]);
    assert_eq!(document["parts"], parts, "{document}");
    for (task, file, text, reason) in [
        ("edge", "plan.json", "no plan", "is no plan in JSON"),
        ("other", "plan.json", "{}", "no task \"other\""),
        ("edge", "absent", "{}", "cannot read the plan"),
    ] {
        let call = of_files(task, file, text);
        let said = Conversation::with([]).await.run(call, &[]).await;
        assert_eq!(said.code, Some(11), "{said}");
        said.stderr_has([reason]);
    }

    let words = ["approvals", "test", "-plan=plan.json", "-task=edge"];
    let get = "GET /v1/tasks/edge";
    for (task, code, expected) in [
        (
            json!({"name": "edge", "approval": "always"}),
            18,
            "  create pool.new\n",
        ),
        (json!({"name": "edge"}), 0, "Needs no consent.\n"),
    ] {
        let server = Conversation::with([ok(json!({ "task": task }))]).await;
        let call = Call::cts(&words).file("plan.json", &plan());
        let said = server.run(call, &[get]).await;
        assert_eq!(said.code, Some(code), "{said}");
        said.stdout_has(["in force at http://", expected]);
    }
    let server = Conversation::with([refused(404, "no such task")]).await;
    let said = server
        .run(Call::cts(&words).file("plan.json", &plan()), &[get])
        .await;
    assert_eq!(said.code, Some(11), "{said}");
}
