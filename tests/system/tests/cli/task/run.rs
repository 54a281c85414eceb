//! `cts task run`.

use insta::assert_snapshot;
use serde_json::{Value, json};

use cts_testkit::ScriptedAnswer;

use super::call::Call;
use super::{Conversation, busy_task, ok, refused, unknown_task};

const TASK: &str = "GET /v1/tasks/web";
const STATUS: &str = "GET /v1/status/tasks/web?include=events";
const RUN: &str = r#"PATCH /v1/tasks/web?run=now {"Enabled":true}"#;

fn run(options: &[&str]) -> Call {
    Call::cts(&[&["task", "run", "web"], options].concat())
}

fn task(enabled: bool) -> ScriptedAnswer {
    ok(json!({"task": {"name": "web", "enabled": enabled, "module": "./m", "condition": {}}}))
}

fn event(id: &str, second: u32) -> Value {
    json!({
        "id": id,
        "success": true,
        "start_time": format!("2026-02-03T10:15:{second}+01:00"),
        "end_time": "2026-02-03T10:15:42.5+01:00",
        "task_name": "web",
        "error": null,
        "config": {"providers": [], "services": [], "source": "./m"},
    })
}

fn status(events: &[Value]) -> ScriptedAnswer {
    ok(json!({"web": {
        "task_name": "web",
        "status": "successful",
        "enabled": true,
        "events_url": "",
        "events": events,
        "providers": [],
        "services": [],
    }}))
}

fn successful_run() -> [ScriptedAnswer; 4] {
    let old = event("old", 10);
    let after = status(&[event("new", 30), old.clone()]);
    [task(true), status(&[old]), ok(json!({})), after]
}

#[tokio::test]
async fn done() {
    let server = Conversation::with(successful_run()).await;
    assert_snapshot!(server.run(run(&[]), &[TASK, STATUS, RUN, STATUS]).await);
}

#[tokio::test]
async fn done_for_a_program() {
    let server = Conversation::with(successful_run()).await;
    let said = server
        .run(run(&["-o", "json"]), &[TASK, STATUS, RUN, STATUS])
        .await;
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    let expected = json!({"task": "web", "status": "successful", "event": event("new", 30)});
    assert_eq!(document["task"], expected["task"]);
    assert_eq!(document["status"], expected["status"]);
    assert_eq!(document["event"]["id"], "new");
}

#[tokio::test]
async fn a_disabled_task_is_not_run() {
    let server = Conversation::with([task(false)]).await;
    assert_snapshot!(server.run(run(&[]), &[TASK]).await);
}

#[tokio::test]
async fn unknown() {
    let server = Conversation::with([unknown_task("web")]).await;
    assert_snapshot!(server.run(run(&["-o", "json"]), &[TASK]).await);
}

#[tokio::test]
async fn running() {
    let server = Conversation::with([task(true), status(&[]), busy_task("web")]).await;
    assert_snapshot!(server.run(run(&[]), &[TASK, STATUS, RUN]).await);
}

#[tokio::test]
async fn waiting_for_a_running_task() {
    let [task, before, done, after] = successful_run();
    let script = [
        task,
        before,
        busy_task("web"),
        busy_task("web"),
        done,
        after,
    ];
    let server = Conversation::with(script).await;
    let requests = [TASK, STATUS, RUN, RUN, RUN, STATUS];
    assert_snapshot!(server.run(run(&["--wait"]), &requests).await);
}

#[tokio::test]
async fn a_server_that_cannot_do_it() {
    let answer = refused(501, "changing tasks over the API is not supported yet");
    let server = Conversation::with([task(true), status(&[]), answer]).await;
    let said = server.run(run(&["-o=json"]), &[TASK, STATUS, RUN]).await;
    assert_snapshot!(said);
}
