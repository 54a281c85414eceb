//! `cts task list`, `show` and `events`.

use cts_testkit::ScriptedAnswer;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::call::Call;
use super::{Conversation, ok, unknown_task};

fn cts(arguments: &[&str]) -> Call {
    Call::cts(&[&["task"], arguments].concat())
}

fn web() -> Value {
    json!({
        "name": "web",
        "enabled": true,
        "description": "keeps the \u{1b}[31mpool",
        "module": "acme/lb/cts",
        "version": "1.2.0",
        "providers": ["bigip.east", "local"],
        "variables": {"region": "\"eu-west\"", "replicas": "3"},
        "condition": {"services": {"names": ["api", "web"]}},
        "module_input": {"consul_kv": {"path": "edge/acl"}},
        "buffer_period": {"enabled": true, "min": "5s", "max": "20s"},
    })
}

fn nightly() -> Value {
    json!({
        "name": "nightly-dns",
        "enabled": false,
        "description": "",
        "module": "./modules/dns",
        "version": "",
        "providers": [],
        "variables": {},
        "condition": {"schedule": {"cron": "0 4 * * *"}},
        "module_input": {},
        "buffer_period": {"enabled": false, "min": "0s", "max": "0s"},
    })
}

fn events() -> Value {
    let event = |id, success: bool, start: &str, end: &str, error: Value| {
        json!({
            "id": id,
            "success": success,
            "start_time": start,
            "end_time": end,
            "task_name": "web",
            "run_id": format!("run-of-{id}"),
            "error": error,
            "config": {"providers": [], "services": [], "source": "./m"},
        })
    };
    let error =
        json!({"message": "\ncould not apply: exit status 1\n\nError: \u{1b}[1mno route\n"});
    json!([
        event(
            "0a3ad1de-2f7b-7b9f-8c55-6dd07f3d8f11",
            false,
            "2026-02-03T10:15:30.123456789+01:00",
            "2026-02-03T10:18:42.5+01:00",
            error
        ),
        event(
            "1b3ad1de-2f7b-7b9f-8c55-6dd07f3d8f11",
            true,
            "2026-02-02T23:59:59.5Z",
            "2026-02-03T00:00:00.25Z",
            Value::Null
        ),
    ])
}

fn status(name: &str, status: &str, events: &Value) -> Value {
    json!({
        "task_name": name,
        "status": status,
        "enabled": true,
        "events_url": "",
        "events": events,
        "providers": [],
        "services": [],
    })
}

fn status_of_web() -> ScriptedAnswer {
    ok(json!({"web": status("web", "errored", &events())}))
}

/// States of two tasks.
fn states() -> Value {
    json!({
        "request_id": "x",
        "tasks": [
            {"name": "nightly-dns", "state": {"name": "disabled"}},
            {"name": "web", "state": state()},
        ],
    })
}

fn state() -> Value {
    json!({
        "name": "blind",
        "since": "2026-02-03T10:15:30Z",
        "text": "health.service(web): cannot reach consul",
    })
}

/// Why `web` does not run.
fn explained() -> ScriptedAnswer {
    ok(json!({"request_id": "x", "explanation": explanation()}))
}

fn explanation() -> Value {
    json!({
        "task_name": "web",
        "revision": 3,
        "enabled": true,
        "phase": "ready",
        "views": [{
            "name": "health.service(web)",
            "complete": true,
            "triggers": true,
            "revision": 7,
            "changed_at": "2026-02-03T10:10:00Z",
            "problem": {"text": "cannot reach consul", "since": "2026-02-03T10:15:30Z"},
        }],
        "last_decision": {"kind": "queued", "at": "2026-02-03T10:10:01Z", "text": "a run was queued"},
        "last_run": {
            "id": "id-1", "task_name": "web", "kind": "apply", "status": "succeeded",
            "no_retry": false, "attempts": 2, "finished_at": "2026-02-03T10:11:00Z",
        },
        "obstacles": [{
            "kind": "view_unreadable",
            "text": "changes are not seen, and the data read before is used",
        }],
        "state": state(),
    })
}

fn two_tasks() -> [ScriptedAnswer; 3] {
    let statuses = json!({
        "nightly-dns": status("nightly-dns", "unknown", &json!([])),
        "web": status("web", "successful", &json!([])),
    });
    [
        ok(json!({"tasks": [web(), nightly()]})),
        ok(statuses),
        ok(states()),
    ]
}

const LIST: [&str; 3] = [
    "GET /v1/tasks",
    "GET /v1/status/tasks",
    "GET /v1/overview/tasks",
];
const EXPLAIN: &str = "GET /v1/tasks/web/explain";
const SHOW: [&str; 3] = [
    "GET /v1/tasks/web",
    "GET /v1/status/tasks/web?include=events",
    EXPLAIN,
];
const EVENTS: &str = "GET /v1/status/tasks/web?include=events";

#[tokio::test]
async fn a_list() {
    let server = Conversation::with(two_tasks()).await;
    assert_snapshot!(server.run(cts(&["list"]), &LIST).await);
}

#[tokio::test]
async fn a_list_for_a_program() {
    let server = Conversation::with(two_tasks()).await;
    let said = server.run(cts(&["list", "-o", "json"]), &LIST).await;
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    let (mut web, mut nightly) = (web(), nightly());
    web["status"] = "successful".into();
    web["state"] = state();
    nightly["status"] = "unknown".into();
    nightly["state"] = json!({"name": "disabled"});
    assert_eq!(document, json!({"tasks": [web, nightly]}));
}

#[tokio::test]
async fn an_empty_list() {
    let nothing = || {
        [
            ok(json!({"tasks": []})),
            ok(json!({})),
            ok(json!({"tasks": []})),
        ]
    };
    let server = Conversation::with(nothing()).await;
    assert_snapshot!(server.run(cts(&["list"]), &LIST).await);
    let server = Conversation::with(nothing()).await;
    let said = server.run(cts(&["list", "-output=json"]), &LIST).await;
    assert_eq!(said.stdout, "{\n  \"tasks\": []\n}\n");
}

#[tokio::test]
async fn one_task() {
    let task = ok(json!({"task": web()}));
    let server = Conversation::with([task, status_of_web(), explained()]).await;
    assert_snapshot!(server.run(cts(&["show", "web"]), &SHOW).await);
}

#[tokio::test]
async fn a_server_of_an_earlier_version_sends_no_states() {
    let page = || ScriptedAnswer::Text(404, "text/plain", "404 page not found\n".into());
    let [tasks, statuses, _] = two_tasks();
    let server = Conversation::with([tasks, statuses, page()]).await;
    let said = server.run(cts(&["list"]), &LIST).await;
    assert_eq!(said.code, Some(0), "{said}");
    said.stdout_has(["web          unknown  successful"]);
    let task = ok(json!({"task": web()}));
    let server = Conversation::with([task, status_of_web(), page()]).await;
    let said = server.run(cts(&["show", "web"]), &SHOW).await;
    assert_eq!(said.code, Some(0), "{said}");
    assert!(!said.stdout.contains("State:"), "{said}");
}

#[tokio::test]
async fn explains_why_a_task_does_not_run() {
    let server = Conversation::with([explained()]).await;
    assert_snapshot!(server.run(cts(&["explain", "web"]), &[EXPLAIN]).await);
    let server = Conversation::with([explained()]).await;
    let call = cts(&["explain", "web", "-o", "json"]);
    let said = server.run(call, &[EXPLAIN]).await;
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(document, explanation());
}

#[tokio::test]
async fn one_task_that_has_not_run() {
    let task = ok(json!({"task": nightly()}));
    let idle = ok(json!({"web": status("web", "unknown", &json!([]))}));
    let server = Conversation::with([task, idle, explained()]).await;
    assert_snapshot!(server.run(cts(&["show", "web"]), &SHOW).await);
}

#[tokio::test]
async fn one_task_for_a_program() {
    let task = ok(json!({"task": web()}));
    let server = Conversation::with([task, status_of_web(), explained()]).await;
    let said = server.run(cts(&["show", "web", "-o=json"]), &SHOW).await;
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    let mut expected = web();
    expected["status"] = "errored".into();
    expected["state"] = state();
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&document[key], value, "{key}");
    }
    assert_eq!(document["events"][0]["id"], events()[0]["id"]);
}

#[tokio::test]
async fn times_of_changes() {
    let times = || {
        let percentiles = json!({"count": 7, "p50_ms": 2000, "p95_ms": 20_000, "p99_ms": 200_000});
        let at = "2026-02-03T10:15:30Z";
        let interval = json!({"at": at, "phases": {"applied": percentiles}});
        json!({"interval_seconds": 60, "total": interval, "intervals": [interval]})
    };
    let shown = async |options: &[&str], request: &str| {
        let server = Conversation::with([ok(times())]).await;
        let call = Call::cts(&[&["status", "-times"], options].concat());
        let said = server.run(call, &[request]).await;
        assert_eq!(said.code, Some(0), "{said}");
        said.stdout
    };
    let table = shown(&["-since", "1h"], "GET /v1/times?since=1h").await;
    assert!(table.contains("7: 2.0 s / 20.0 s / 3 min 20 s"), "{table}");
    let document = shown(&["-o", "json"], "GET /v1/times?since=24h").await;
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document, times());
}

#[tokio::test]
async fn events_of_a_task() {
    let mut events = events();
    events[0]["cause"] = json!(["tries again after a failed run", "web: +web-3"]);
    events[1]["requested_by"] = "token \"ci\"".into();
    let answer = ok(json!({"web": status("web", "errored", &events)}));
    let server = Conversation::with([answer]).await;
    assert_snapshot!(server.run(cts(&["events", "web"]), &[EVENTS]).await);
}

#[tokio::test]
async fn events_of_a_task_with_remote_runs() {
    let mut events = events();
    events[0]["remote_url"] =
        "https://tfe.example.com/app/network/workspaces/web/runs/run-1".into();
    let answer = || ok(json!({"web": status("web", "errored", &events)}));
    let server = Conversation::with([answer()]).await;
    let said = server.run(cts(&["events", "web"]), &[EVENTS]).await;
    assert_snapshot!("remote_events", said);
    let task = ok(json!({"task": nightly()}));
    let server = Conversation::with([task, answer(), explained()]).await;
    let said = server.run(cts(&["show", "web"]), &SHOW).await;
    assert_snapshot!("remote_task", said);
}

#[tokio::test]
async fn times_are_local() {
    let server = Conversation::with([status_of_web()]).await;
    let call = cts(&["events", "web"]).variable("TZ", "<-03>3");
    let said = server.run(call, &[EVENTS]).await;
    assert!(said.stdout.contains("2026-02-03 06:15:30"), "{said}");
}

#[tokio::test]
async fn events_for_a_program() {
    let server = Conversation::with([status_of_web()]).await;
    let said = server
        .run(cts(&["events", "-o", "json", "web"]), &[EVENTS])
        .await;
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(document["task"], "web");
    assert_eq!(document["events"][0]["error"], events()[0]["error"]);
    assert_eq!(document["events"][1]["error"], Value::Null);
}

#[tokio::test]
async fn no_events() {
    let idle = ok(json!({"web": status("web", "unknown", &json!([]))}));
    let server = Conversation::with([idle]).await;
    assert_snapshot!(server.run(cts(&["events", "web"]), &[EVENTS]).await);
}

#[tokio::test]
async fn unknown() {
    let server = Conversation::with([unknown_task("web")]).await;
    assert_snapshot!(server.run(cts(&["show", "web"]), &SHOW[..1]).await);
    let legacy = json!({"error": {"message": "no such task"}});
    let server = Conversation::with([ScriptedAnswer::Json(404, legacy)]).await;
    let said = server.run(cts(&["events", "web"]), &[EVENTS]).await;
    assert_eq!(said.code, Some(11), "{said}");
    assert!(said.stderr.contains("there is no task 'web'"), "{said}");
}

#[tokio::test]
async fn a_list_that_is_not_there_is_no_unknown_task() {
    let server = Conversation::with([unknown_task("web")]).await;
    let said = server.run(cts(&["list"]), &LIST[..1]).await;
    assert_eq!(said.code, Some(11), "{said}");
    let headline = "==> Error: unable to list the tasks\n    404 Not Found: ";
    assert!(said.stderr.starts_with(headline), "{said}");
    assert!(!said.stderr.contains("cts task list"), "{said}");
}

#[tokio::test]
async fn reports_a_server_that_is_not_the_api() {
    let page = ScriptedAnswer::Text(200, "text/html", "<html>\n<body>hello".into());
    let server = Conversation::with([page]).await;
    assert_snapshot!(server.run(cts(&["list"]), &LIST[..1]).await);
}

#[tokio::test]
async fn the_original_has_none_of_these() {
    for command in ["list", "show", "explain", "events", "logs", "run"] {
        let said = Call::original(&["task", command, "web"]).run().await;
        assert_eq!(said.code, Some(1), "{said}");
    }
}
