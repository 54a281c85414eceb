//! `cts task run`.

use insta::assert_snapshot;
use serde_json::{Value, json};

use cts_testkit::ScriptedAnswer;

use super::call::Call;
use super::{Conversation, busy_task, ok, refused, unknown_task};

pub(super) const TASK: &str = "GET /v1/tasks/web";
pub(super) const STATUS: &str = "GET /v1/status/tasks/web?include=events";
pub(super) const RUN: &str = r#"PATCH /v1/tasks/web?run=now {"Enabled":true}"#;

pub(super) fn run(options: &[&str]) -> Call {
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

pub(super) fn successful_run() -> [ScriptedAnswer; 4] {
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
async fn a_run_is_requested_without_waiting() {
    let request = r#"PATCH /v1/tasks/web?run=now&wait=false {"Enabled":true}"#;
    let answer = || ScriptedAnswer::Json(202, json!({"run": "id-2"}));
    let server = Conversation::with([task(true), answer()]).await;
    let said = server.run(run(&["-no-wait"]), &[TASK, request]).await;
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "'web' runs as id-2\n")
    );
    let server = Conversation::with([task(true), busy_task("web"), answer()]).await;
    let options = ["-no-wait", "-wait", "-o", "json"];
    let said = server.run(run(&options), &[TASK, request, request]).await;
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(document, json!({"task": "web", "run_id": "id-2"}));
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

pub(super) const RUNS: &str = "GET /v1/runs?task=web&limit=10";
pub(super) const LOG: &str = "GET /v1/runs/id-2/log?follow=true&format=ndjson&after=0";
pub(super) const SHOW: &str = "GET /v1/runs/id-2";
pub(super) const SHOW_WITH_CAUSE: &str = "GET /v1/runs/id-2?include=cause,attempts";

pub(super) fn a_run(id: &str, status: &str) -> Value {
    json!({
        "id": id,
        "task_name": "web",
        "kind": "apply",
        "status": status,
        "no_retry": true,
        "attempts": 1,
        "queued_at": "2026-02-03T10:15:29+01:00",
        "started_at": "2026-02-03T10:15:30+01:00",
        "finished_at": "2026-02-03T10:15:42.5+01:00",
    })
}

pub(super) fn ended(status: &str, error: &str) -> Value {
    let mut run = a_run("id-2", status);
    if !error.is_empty() {
        run["error"] = json!(error);
    }
    run["details"] = json!({
        "resources": {"added": 1, "changed": 2, "destroyed": 0, "imported": 3},
        "phases_ms": {"queue": 1000, "render": 3, "init": 1500, "apply": 10_990, "later": 7},
        "changes": [
            {"address": "module.web.a.b[\"\u{1b}[31m\"]", "action": "create"},
            {"address": "module.web.a.c", "action": "update"},
        ],
        "more_changes": 4,
        "diagnostics": [
            {"severity": "warning", "summary": "Deprecated", "file": "main.tf", "line": 7},
            {"severity": "error", "summary": "No route"},
        ],
    });
    run
}

/// A server's answers about the watched run, in the order of the requests.
pub(super) fn watched(run: &Value) -> [ScriptedAnswer; 3] {
    let log = concat!(
        "{\"position\":1,\"lines\":[{\"stream\":\"stdout\",\"text\":\"Creating...\"}]}\n",
        "{\"position\":3,\"lines\":[{\"stream\":\"stderr\",\"text\":\"\\u001b[31mred\"},{\"stream\":\"stdout\",\"text\":\"\"}]}\n"
    );
    [
        ok(json!({"runs": [a_run("id-2", "running"), a_run("id-1", "failed")]})),
        ScriptedAnswer::Text(200, "application/x-ndjson", log.to_owned()),
        ok(json!({"run": run})),
    ]
}

#[tokio::test]
async fn watched_to_its_end() {
    for (name, options) in [
        ("watched", &["--watch"][..]),
        ("watched_json", &["-watch", "-o", "json"]),
    ] {
        let [task, before, done, after] = successful_run();
        let known = ok(json!({"runs": [a_run("id-1", "failed")]}));
        let [found, log, show] = watched(&ended("succeeded", ""));
        let script = [task, before, known, done, found, log, show, after];
        let server = Conversation::with(script).await;
        let requests = [TASK, STATUS, RUNS, RUN, RUNS, LOG, SHOW, STATUS];
        assert_snapshot!(name, server.run(run(options), &requests).await);
    }
}

#[tokio::test]
async fn watched_to_its_failure() {
    let known = ok(json!({"runs": []}));
    let refusal = refused(
        500,
        "error tf-apply for 'web': exit status 1\n\nError: No route",
    );
    let [found, log, show] = watched(&ended("failed", "error tf-apply for 'web': exit status 1"));
    let script = [task(true), status(&[]), known, refusal, found, log, show];
    let server = Conversation::with(script).await;
    let requests = [TASK, STATUS, RUNS, RUN, RUNS, LOG, SHOW];
    assert_snapshot!(server.run(run(&["--watch"]), &requests).await);
}

#[tokio::test]
async fn runs_are_listed_and_shown() {
    let list = || {
        ok(json!({"request_id": "x", "runs": [ended("succeeded", ""), a_run("id-1", "queued")]}))
    };
    let show =
        || ok(json!({"request_id": "x", "run": ended("failed", "first\nsecond \u{1b}[31m")}));
    let listing = "GET /v1/runs?task=web&status=failed&limit=2";
    let options = ["-task=web", "--status", "failed", "-limit", "2"];
    for (name, command, answer, request) in [
        (
            "runs_list",
            &["runs", "list"][..],
            list(),
            "GET /v1/runs?limit=20",
        ),
        (
            "runs_list_json",
            &[&["runs", "list", "-o", "json"], &options[..]].concat(),
            list(),
            listing,
        ),
        (
            "runs_list_none",
            &["runs", "list"],
            ok(json!({"runs": []})),
            "GET /v1/runs?limit=20",
        ),
        (
            "runs_show",
            &["runs", "show", "id-2"],
            show(),
            SHOW_WITH_CAUSE,
        ),
        (
            "runs_show_json",
            &["runs", "show", "id-2", "-o=json"],
            show(),
            SHOW_WITH_CAUSE,
        ),
    ] {
        let server = Conversation::with([answer]).await;
        assert_snapshot!(name, server.run(Call::cts(command), &[request]).await);
    }
    let said = Call::cts(&["runs", "show"]).run().await;
    assert_eq!(said.code, Some(13), "{said}");
    assert!(said.stderr.contains("<RUN ID>"), "{said}");
}

/// A run that takes place on a server.
fn remote() -> Value {
    let mut run = a_run("id-2", "running");
    run["remote_run"] = json!({
        "id": "run-1",
        "url": "https://tfe.example.com/app/network/workspaces/web/runs/run-1",
        "status": "plan_queued\u{1b}[31m",
        "waiting_for": "2 other runs",
        "ended": false,
        "number": 1,
        "workspace": {
            "hostname": "tfe.example.com", "organization": "network", "name": "web", "id": "ws-1",
        },
        "configuration": {"id": "cv-1", "digest": "0".repeat(64)},
        "later": 7,
    });
    run
}

#[tokio::test]
async fn runs_on_a_server_have_their_address() {
    let mut requested = a_run("id-1", "running");
    requested["remote_run"] = json!({"ended": false, "number": 2});
    let list = json!({"runs": [remote(), requested, a_run("id-0", "succeeded")]});
    for (name, command, answer, request) in [
        (
            "remote_runs_list",
            &["runs", "list"][..],
            ok(list),
            "GET /v1/runs?limit=20",
        ),
        (
            "remote_runs_show",
            &["runs", "show", "id-2"],
            one(&remote()),
            SHOW_WITH_CAUSE,
        ),
        (
            "remote_runs_show_json",
            &["runs", "show", "id-2", "-o", "json"],
            one(&remote()),
            SHOW_WITH_CAUSE,
        ),
    ] {
        let server = Conversation::with([answer]).await;
        assert_snapshot!(name, server.run(Call::cts(command), &[request]).await);
    }
}

const CANCEL: &str = "POST /v1/runs/id-2/cancel {\"force\":false}";
const CANCEL_BY_FORCE: &str = "POST /v1/runs/id-2/cancel {\"force\":true}";

fn one(run: &Value) -> ScriptedAnswer {
    ok(json!({"request_id": "x", "run": run}))
}

fn stopping(waiting_for: &str) -> Value {
    let mut run = a_run("id-2", "running");
    run["waiting_for"] = json!(waiting_for);
    run
}

#[tokio::test]
async fn a_run_is_cancelled_and_its_end_waited_for() {
    let slow = "worker w to stop it";
    let ended = a_run("id-2", "failed");
    let script = [
        one(&stopping("")),
        one(&stopping(slow)),
        one(&stopping(slow)),
        one(&ended),
    ];
    let server = Conversation::with(script).await;
    let requests = [CANCEL, SHOW, SHOW, SHOW];
    let call = Call::cts(&["runs", "cancel", "id-2"]);
    assert_snapshot!(server.run(call, &requests).await);
}

#[tokio::test]
async fn a_run_that_is_not_stopped_yet_is_left_or_refused() {
    let mut destruction = a_run("id-2", "queued");
    destruction["kind"] = json!("destroy");
    for (name, options, answer, request) in [
        (
            "cancel_detached",
            &["-detach"][..],
            one(&stopping("")),
            CANCEL,
        ),
        (
            "cancel_forced",
            &["-force", "-auto-approve", "-detach"],
            one(&stopping("")),
            CANCEL_BY_FORCE,
        ),
        (
            "cancel_withdrawn_json",
            &["-o", "json"],
            one(&a_run("id-2", "cancelled")),
            CANCEL,
        ),
        ("cancel_suspended", &[], one(&destruction), CANCEL),
        (
            "cancel_in_grace",
            &[],
            refused(409, "the run is being stopped and has 7 s left for that"),
            CANCEL,
        ),
    ] {
        let server = Conversation::with([answer]).await;
        let words = [&["runs", "cancel", "id-2"], options].concat();
        assert_snapshot!(name, server.run(Call::cts(&words), &[request]).await);
    }
    let unknown = refused(404, "a run with id 'id-2' does not exist");
    let server = Conversation::with([unknown, ok(json!({"runs": []}))]).await;
    let call = Call::cts(&["runs", "cancel", "id-2"]);
    let said = server.run(call, &[CANCEL, "GET /v1/runs?limit=1000"]).await;
    assert_snapshot!("cancel_unknown", said);
    // Without approval no request is sent to the server.
    let said = Call::cts(&["runs", "cancel", "-force", "id-2"]).run().await;
    assert_snapshot!("cancel_not_approved", said);
}
