//! Changes of tasks: docs/rest.md#creating-a-task and what follows there as tables, and `PUT`, which is
//! cts-only.

use cts_proto::run::v1::StateKeep;
use cts_proto::task::v1::decide_terraform_state_request::Decision;
use cts_proto::task::v1::{
    DecideTerraformStateRequest, DeleteTaskRequest, DeletionMode, Hold, Loss, ReleaseTaskRequest,
    RunMode, SeenLosses, Task, UpdateTaskRequest,
};
use serde_json::{Value, json};

use crate::contract::Body::{self, Json, Legacy, New};
use crate::contract::check;
use crate::stage::{REQUEST_ID, Stage};
use crate::tasks::{Asked, MemoryTasks, three_tasks};

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];
const NO_HEADERS: &[(&str, &str)] = &[];

/// Headers of a `PUT` that replaces the current task.
const CURRENT: &[(&str, &str)] = &[("Content-Type", "application/json"), ("If-Match", "\"3\"")];

const INTERNAL: &str = "the request failed because of an internal error";
const AWAY: &str = "no scheduler is available";
const FAILED: &str = "could not apply: exit status 1 -\\u003e \\\"x\\\"";

struct Row {
    method: &'static str,
    path: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: String,
    status: u16,
    answer: Body,
}

/// A body as text or as JSON.
struct Sent(String);

impl From<&str> for Sent {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<Value> for Sent {
    fn from(value: Value) -> Self {
        Self(value.to_string())
    }
}

fn row(
    method: &'static str,
    path: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: impl Into<Sent>,
    status: u16,
    answer: Body,
) -> Row {
    Row {
        method,
        path,
        headers,
        body: body.into().0,
        status,
        answer,
    }
}

async fn check_all(rows: Vec<Row>) {
    let stage = Stage::start(three_tasks()).await;
    for row in rows {
        let Row {
            method,
            path,
            headers,
            body,
            status,
            answer: expected,
        } = row;
        let answer = stage.ask_with(method, path, headers, body.as_bytes()).await;
        let row = format!("{method} {path} {body}: {answer:?}");
        assert_eq!(answer.status, status, "{row}");
        assert!(answer.is_open_to_all_origins(), "{row}");
        check(&answer, &expected, &row);
    }
}

fn new_task(name: &str) -> Value {
    json!({"task": {
        "name": name, "module": "./m", "condition": {"services": {"names": ["web"]}},
    }})
}

fn task_with(member: &str, value: Value) -> Value {
    let mut body = new_task("new");
    body["task"][member] = value;
    body
}

fn created(name: &str) -> Body {
    Json(json!({"request_id": REQUEST_ID, "task": {"name": name, "enabled": true}}))
}

fn inspected(name: &str) -> Body {
    Json(json!({
        "request_id": REQUEST_ID,
        "run": {"changes_present": true, "plan": "Plan: 1 to add, 0 to change\n"},
        "task": {"name": name, "enabled": true},
    }))
}

#[tokio::test]
async fn a_creation_is_checked_in_the_documented_order() {
    let post =
        |path, headers, body: &str, message| row("POST", path, headers, body, 400, New(message));
    let empty = "parameter \\\"run\\\" in query has an error: empty value is not allowed";
    let unknown = "parameter \\\"run\\\" in query has an error: value is not one of the allowed \
                   values [\\\"now\\\",\\\"inspect\\\"]";
    let repeated = "parameter \\\"run\\\" in query has an error: invalid format of parameter \
                    \\\"run\\\", multiple values";
    let missing = "request body has an error: value is required but missing";
    let content_type =
        "request body has an error: header Content-Type has unexpected value \\\"\\\"";
    let no_json = "request body has an error: failed to decode request body: EOF while parsing a \
                   value at line 1 column 1";
    let mismatch = "request body has an error: doesn't match schema \
                    #/components/schemas/TaskRequest: Error at \\\"/task\\\": property \
                    \\\"task\\\" is missing";
    check_all(vec![
        post("/v1/tasks?run=", NO_HEADERS, "", empty),
        post("/v1/tasks?run=Now", NO_HEADERS, "", unknown),
        post("/v1/tasks?run=now&run=now", NO_HEADERS, "", repeated),
        post("/v1/tasks", NO_HEADERS, "", missing),
        post("/v1/tasks?run=inspect", JSON, "", missing),
        post("/v1/tasks", NO_HEADERS, " ", content_type),
        post("/v1/tasks", JSON, " ", no_json),
        post("/v1/tasks", JSON, "{}", mismatch),
    ])
    .await;
}

#[tokio::test]
async fn creations_and_their_failures() {
    let post = |path, body: Value, status, answer| row("POST", path, JSON, body, status, answer);
    let exists = |name: &str| -> &'static str {
        match name {
            "dns" => "a task with name 'dns' already exists",
            "busy" => "a task with name 'busy' already exists",
            _ => "a task with name 'leaving' already exists",
        }
    };
    let mut bad_duration = new_task("new");
    bad_duration["task"]["buffer_period"] = json!({"min": "soon"});
    let mut bad_duration_of_known = bad_duration.clone();
    bad_duration_of_known["task"]["name"] = json!("dns");
    let no_duration = "invalid buffer period: 'soon' is no duration";
    let not_in_time = "the data was not complete in time";
    let mut rows = vec![
        post("/v1/tasks", new_task("new"), 201, created("new")),
        post("/v1/tasks?run=now", new_task("new"), 201, created("new")),
        post(
            "/v1/tasks?run=inspect",
            new_task("new"),
            200,
            inspected("new"),
        ),
        post(
            "/v1/tasks?Run=x&run=now;",
            new_task("new"),
            201,
            created("new"),
        ),
        post(
            "/v1/tasks?run=inspect",
            task_with("enabled", json!(false)),
            200,
            Json(json!({
                "request_id": REQUEST_ID,
                "run": {
                    "changes_present": false,
                    "plan": "The task is disabled, so its inspection was skipped.\n",
                },
                "task": {"name": "new", "enabled": false},
            })),
        ),
    ];
    for (path, is_inspection) in [
        ("/v1/tasks", false),
        ("/v1/tasks?run=now", false),
        ("/v1/tasks?run=inspect", true),
    ] {
        let failed = if is_inspection { 400 } else { 500 };
        for name in ["dns", "busy", "leaving"] {
            rows.push(post(path, new_task(name), 400, New(exists(name))));
        }
        rows.extend([
            post(path, bad_duration.clone(), 400, New(no_duration)),
            post(path, bad_duration_of_known.clone(), 400, New(exists("dns"))),
            post(path, new_task("failing"), failed, New(FAILED)),
            post(path, new_task("refused"), failed, New("the name is no name")),
            post(path, new_task("fresh"), failed, New(not_in_time)),
            post(path, new_task("broken"), 500, New(INTERNAL)),
            post(path, new_task("newer"), 500, New(INTERNAL)),
            post(path, new_task("away"), 503, New("the scheduler was lost while it was at work; the change may be made all the same")),
        ]);
    }
    check_all(rows).await;
}

#[tokio::test]
async fn deletions() {
    let delete = |path, status, answer| row("DELETE", path, NO_HEADERS, "", status, answer);
    let accepted = || Json(json!({"request_id": REQUEST_ID}));
    let unknown = "a task with name 'nope' does not exist or has not been initialized yet";
    let slash = "a task with name 'a/b' does not exist or has not been initialized yet";
    check_all(vec![
        delete("/v1/tasks/dns", 202, accepted()),
        delete("/v1/tasks/d%6es?run=bad", 202, accepted()),
        delete("/v1/tasks/nope", 404, New(unknown)),
        delete("/v1/tasks/a%2Fb", 404, New(slash)),
        delete("/v1/tasks/broken", 500, New(INTERNAL)),
        delete("/v1/tasks/away", 503, New(AWAY)),
    ])
    .await;
}

#[tokio::test]
async fn updates_and_their_failures() {
    let patch =
        |path, body: &str, status, answer| row("PATCH", path, NO_HEADERS, body, status, answer);
    let (on, off) = (r#"{"enabled":true}"#, r#"{"enabled":false}"#);
    let run = |text: &str| -> &'static str {
        match text {
            "" => "unsupported run parameter value. got '', must be one of 'inspect', 'now'",
            _ => "unsupported run parameter value. got 'later', must be one of 'inspect', 'now'",
        }
    };
    let repeated = "unsupported run parameter value. it must be given only once, got 2 values";
    let empty = || Json(json!({}));
    let plan = || {
        Json(json!({"inspect": {
            "changes_present": true, "plan": "Plan: 1 to add, 0 to change\n",
        }}))
    };
    let no_plan = || Json(json!({"inspect": {"changes_present": false, "plan": ""}}));
    check_all(vec![
        patch("/v1/tasks/dns", on, 200, empty()),
        patch("/v1/tasks/dns?run=now", on, 200, empty()),
        patch("/v1/tasks/dns?run=INSPECT", on, 200, plan()),
        patch("/v1/tasks/d%6es", off, 200, empty()),
        patch("/v1/tasks/dns?run=NOW", off, 200, empty()),
        patch("/v1/tasks/dns?run=inspect", off, 200, no_plan()),
        patch("/v1/tasks/dns?Run=x", on, 200, empty()),
        // The order of checks.
        patch(
            "/v1/tasks/a/b?run=",
            "",
            400,
            Legacy("unsupported path '/v1/tasks/a/b', a task name is one path segment"),
        ),
        patch("/v1/tasks/nope?run=", "", 400, Legacy(run(""))),
        patch("/v1/tasks/nope?run=later", on, 400, Legacy(run("later"))),
        patch("/v1/tasks/nope?run=now&run=now", on, 400, Legacy(repeated)),
        patch(
            "/v1/tasks/nope",
            "",
            400,
            Legacy("the request body is no JSON: EOF while parsing a value at line 1 column 0"),
        ),
        patch(
            "/v1/tasks/nope",
            "[]",
            400,
            Legacy("the request body must be an object"),
        ),
        patch(
            "/v1/tasks/nope",
            r#"{"b":1,"a":2,"enabled":true}"#,
            400,
            Legacy("unsupported members of the request body: a, b"),
        ),
        patch(
            "/v1/tasks/nope",
            r#"{"enabled":"yes"}"#,
            400,
            Legacy("the member 'enabled' cannot be \\\"yes\\\", it must be true or false"),
        ),
        patch(
            "/v1/tasks/nope",
            "{}",
            400,
            Legacy("the member 'enabled' is missing"),
        ),
        patch(
            "/v1/tasks/nope",
            on,
            404,
            New("a task with name 'nope' does not exist or has not been initialized yet"),
        ),
        patch(
            "/v1/tasks/busy",
            on,
            500,
            New("task 'busy' is active and cannot be updated at this time"),
        ),
        patch(
            "/v1/tasks/leaving?run=now",
            on,
            500,
            New("task 'leaving' is active and cannot be updated at this time"),
        ),
        patch(
            "/v1/tasks/fresh?run=inspect",
            on,
            500,
            New("a task with name 'fresh' does not exist or has not been initialized yet"),
        ),
        patch("/v1/tasks/failing?run=now", on, 500, New(FAILED)),
        patch("/v1/tasks/refused", on, 500, New("the name is no name")),
        patch("/v1/tasks/broken", on, 500, New(INTERNAL)),
    ])
    .await;
}

#[tokio::test]
async fn replacements_and_their_failures() {
    let put = |path, headers, body: Value, status, answer| {
        row("PUT", path, headers, body, status, answer)
    };
    let replaced = || {
        Json(json!({
            "request_id": REQUEST_ID, "revision": 4, "task": {"name": "dns", "enabled": true},
        }))
    };
    let at = |revision: u64| {
        let mut body = new_task("dns");
        body["revision"] = json!(revision);
        body
    };
    let known = || new_task("dns");
    let mut bad_duration = known();
    bad_duration["task"]["buffer_period"] = json!({"max": "soon"});
    let path = "/v1/tasks/dns";
    let schema = "request body has an error: doesn't match schema \
                  #/components/schemas/TaskReplacement: Error at \\\"/revision\\\": number must be \
                  at least 1";
    check_all(vec![
        put(path, CURRENT, known(), 200, replaced()),
        put("/v1/tasks/dns?run=now", CURRENT, known(), 200, replaced()),
        put("/v1/tasks/dns?run=inspect", CURRENT, known(), 400, New("parameter \\\"run\\\" in query has an error: value is not one of the allowed values [\\\"now\\\"]; a replacement cannot be inspected")),
        put(path, JSON, at(3), 200, replaced()),
        put(path, CURRENT, at(3), 200, replaced()),
        put(path, CURRENT, at(2), 400, New("the header If-Match and the member 'revision' of the request body differ")),
        put(path, JSON, at(0), 400, New(schema)),
        put(path, JSON, known(), 400, New("the revision that is to be replaced is missing: send it as the header If-Match, or as the member 'revision' of the request body")),
        put(path, JSON, at(2), 409, New("the task is at revision 3")),
        put(path, CURRENT, new_task("other"), 400, New("the task in the request body has the name 'other', not 'dns'")),
        put(path, CURRENT, bad_duration, 400, New("invalid buffer period: 'soon' is no duration")),
        put("/v1/tasks/nope", CURRENT, new_task("nope"), 404, New("a task with name 'nope' does not exist or has not been initialized yet")),
        put("/v1/tasks/busy", CURRENT, new_task("busy"), 409, New("task 'busy' is active and cannot be updated at this time")),
        put("/v1/tasks/leaving", CURRENT, new_task("leaving"), 409, New("task 'leaving' is active and cannot be updated at this time")),
        put("/v1/tasks/refused", CURRENT, new_task("refused"), 400, New("the name is no name")),
        put("/v1/tasks/failing", CURRENT, new_task("failing"), 422, New(FAILED)),
        put("/v1/tasks/fresh", CURRENT, new_task("fresh"), 422, New("the data was not complete in time")),
        put("/v1/tasks/broken", CURRENT, new_task("broken"), 500, New(INTERNAL)),
    ])
    .await;
}

#[tokio::test]
async fn an_inspection_shows_the_task_as_it_was_sent() {
    let stage = Stage::start(three_tasks()).await;
    let echo = async |members: Value| {
        let body = json!({"task": members}).to_string();
        let answer = stage
            .ask_with("POST", "/v1/tasks?run=inspect", JSON, body.as_bytes())
            .await;
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        answer["task"].clone()
    };
    assert_eq!(
        echo(json!({
            "name": "new", "module": "./m",
            "condition": {"services": {"names": ["web"]}},
            "buffer_period": {"min": "90s"},
        }))
        .await,
        json!({
            "name": "new", "module": "./m", "enabled": true,
            "condition": {"services": {
                "names": ["web"], "datacenter": "", "namespace": "", "filter": "",
                "cts_user_defined_meta": {}, "use_as_module_input": true,
            }},
            "buffer_period": {"min": "1m30s", "max": "0s"},
        })
    );
    assert_eq!(
        echo(json!({
            "name": "new", "module": "./m", "enabled": false,
            "condition": {"schedule": {"cron": "0 4 * * *"}},
            "description": "", "providers": [], "variables": {}, "version": "",
            "module_input": {"consul_kv": {"path": "p"}},
            "terraform_cloud_workspace": {},
        }))
        .await,
        json!({
            "name": "new", "module": "./m", "enabled": false,
            "condition": {"schedule": {"cron": "0 4 * * *"}},
            "description": "", "providers": [], "variables": {}, "version": "",
            "module_input": {"consul_kv": {
                "path": "p", "recurse": false, "datacenter": "", "namespace": "",
            }},
        })
    );
}

#[tokio::test]
async fn what_terraform_says_may_be_long() {
    let stage = Stage::start(three_tasks()).await;
    let body = new_task("wordy").to_string();
    let answer = stage
        .ask_with("POST", "/v1/tasks", JSON, body.as_bytes())
        .await;
    assert_eq!(answer.status, 500);
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(answer["error"]["message"], "é\n".repeat(40_000));
}

#[tokio::test]
async fn revisions_are_entity_tags() {
    let stage = Stage::start(three_tasks()).await;
    let tag = |answer: &crate::stage::Answer| answer.header("ETag").map(str::to_owned);
    let of_get = stage.ask("GET", "/v1/tasks/edge-lb").await;
    assert_eq!(tag(&of_get).as_deref(), Some("\"3\""));
    let body = new_task("new").to_string();
    let of_post = stage
        .ask_with("POST", "/v1/tasks", JSON, body.as_bytes())
        .await;
    assert_eq!(tag(&of_post).as_deref(), Some("\"1\""));
    let body = new_task("dns").to_string();
    let of_put = stage
        .ask_with("PUT", "/v1/tasks/dns", CURRENT, body.as_bytes())
        .await;
    assert_eq!(tag(&of_put).as_deref(), Some("\"4\""));
}

async fn asked(tasks: &MemoryTasks, method: &str, path: &str, body: &str) -> Vec<Asked> {
    let stage = Stage::start(tasks.clone()).await;
    let answer = stage.ask_with(method, path, CURRENT, body.as_bytes()).await;
    assert!(answer.status < 300, "{answer:?}");
    std::mem::take(&mut *tasks.changes.lock().unwrap())
}

#[tokio::test]
async fn the_scheduler_is_asked_for_what_the_client_asks() {
    let tasks = three_tasks();
    let modes = [
        ("", RunMode::Unspecified),
        ("?run=now", RunMode::Now),
        ("?run=inspect", RunMode::Inspect),
    ];
    for (query, mode) in modes {
        let body = new_task("new").to_string();
        let path = format!("/v1/tasks{query}");
        let [Asked::Create(request)] = &asked(&tasks, "POST", &path, &body).await[..] else {
            panic!("no creation");
        };
        assert_eq!(request.run_mode(), mode);
        let task = request.task.as_ref().unwrap();
        assert_eq!((task.name.as_str(), task.enabled), ("new", true));

        let path = format!("/v1/tasks/dns{query}");
        for enabled in [true, false] {
            let body = json!({"enabled": enabled}).to_string();
            let update = UpdateTaskRequest {
                name: "dns".to_owned(),
                enabled: Some(enabled),
                run_mode: mode.into(),
            };
            let asked = asked(&tasks, "PATCH", &path, &body).await;
            assert_eq!(asked, [Asked::Update(update)]);
        }

        if mode == RunMode::Inspect {
            // Refused before anything is asked.
            continue;
        }
        let body = new_task("dns").to_string();
        let [Asked::Replace(request)] = &asked(&tasks, "PUT", &path, &body).await[..] else {
            panic!("no replacement");
        };
        assert_eq!((request.name.as_str(), request.revision), ("dns", 3));
        assert_eq!(request.run_mode(), mode);
    }
    let deletion = DeleteTaskRequest {
        name: "dns".to_owned(),
        mode: DeletionMode::AsDeclared.into(),
    };
    let asked = asked(&tasks, "DELETE", "/v1/tasks/dns", "").await;
    assert_eq!(asked, [Asked::Delete(deletion)]);
}

/// Requests of the original's own command line, and the answers that it needs
/// (docs/rest.md#what-the-originals-client-needs).
#[tokio::test]
async fn the_habits_of_the_stock_command_line() {
    let tasks = three_tasks();
    let patched = asked(&tasks, "PATCH", "/v1/tasks/dns", "{\"Enabled\":true}").await;
    assert!(matches!(&patched[..], [Asked::Update(update)] if update.enabled == Some(true)));

    for body in [
        json!({"task": {
            "name": "new", "module": "./m", "variables": {},
            "condition": {"catalog_services": {"regexp": "^web", "node_meta": null}},
        }}),
        json!({"task": {
            "name": "new", "module": "./m", "variables": {},
            "condition": {"schedule": {"cron": "* * * * *"}},
            "module_input": {"services": {"names": ["web"], "cts_user_defined_meta": null}},
        }}),
    ] {
        let body = body.to_string();
        let asked = asked(&tasks, "POST", "/v1/tasks?run=now", &body).await;
        assert!(matches!(&asked[..], [Asked::Create(_)]), "{asked:?}");
    }

    let stage = Stage::start(tasks).await;
    let body = new_task("new").to_string();
    let inspection = stage
        .ask_with("POST", "/v1/tasks?run=inspect", JSON, body.as_bytes())
        .await;
    assert_eq!(inspection.status, 200);
    let parsed: Value = serde_json::from_str(&inspection.body).unwrap();
    assert!(parsed["run"]["plan"].is_string());
    let creation = stage
        .ask_with("POST", "/v1/tasks", JSON, body.as_bytes())
        .await;
    assert_eq!(creation.status, 201);
    let parsed: Value = serde_json::from_str(&creation.body).unwrap();
    assert!(parsed["task"].is_object());
    for (path, body) in [
        ("/v1/tasks/nope", "{\"Enabled\":true}"),
        ("/v1/tasks/busy", "{\"Enabled\":true}"),
        ("/v1/tasks/dns", ""),
        ("/v1/tasks/dns?run=x", ""),
        ("/v1/tasks/a/b", ""),
    ] {
        let refused = stage.ask_with("PATCH", path, &[], body.as_bytes()).await;
        assert!(refused.status >= 400);
        assert_eq!(refused.header("Content-Type"), Some("application/json"));
        let parsed: Value = serde_json::from_str(&refused.body).unwrap();
        assert!(parsed["error"]["message"].is_string());
    }
}

#[tokio::test]
async fn a_workspace_is_shown_where_it_says_something() {
    let mut tasks = three_tasks();
    tasks.tasks[2] = Task {
        terraform_version: "1.0.0".to_owned(),
        terraform_cloud_workspace: Some(cts_proto::task::v1::TerraformCloudWorkspace {
            execution_mode: "agent".to_owned(),
            agent_pool_id: "apool-1".to_owned(),
            ..Default::default()
        }),
        ..tasks.tasks[2].clone()
    };
    let stage = Stage::start(tasks).await;
    let answer = stage.ask("GET", "/v1/tasks/dns").await;
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(answer["task"]["terraform_version"], "1.0.0");
    assert_eq!(
        answer["task"]["terraform_cloud_workspace"],
        json!({"execution_mode": "agent", "agent_pool_id": "apool-1"})
    );
}

#[tokio::test]
async fn what_a_guard_holds_is_shown_and_released() {
    let mut tasks = three_tasks();
    tasks.states[0].hold = Some(Hold {
        since: Some(prost_types::Timestamp {
            seconds: 1_770_110_130,
            nanos: 0,
        }),
        losses: vec![Loss {
            service: "web".to_owned(),
            applied: 10,
            now: 2,
        }],
    });
    let release = |seen| ReleaseTaskRequest {
        name: "edge-lb".to_owned(),
        seen,
    };
    let path = "/v1/tasks/edge-lb/release";
    assert_eq!(
        asked(&tasks, "POST", path, "").await,
        [Asked::Release(release(None))]
    );
    let seen = r#"{"seen": [{"service": "web", "now": 2}]}"#;
    let losses = vec![Loss {
        service: "web".to_owned(),
        applied: 0,
        now: 2,
    }];
    assert_eq!(
        asked(&tasks, "POST", path, seen).await,
        [Asked::Release(release(Some(SeenLosses { losses })))]
    );

    let stage = Stage::start(tasks).await;
    let parsed = async |method: &str, path: &str| {
        let answer = stage.ask_with(method, path, &[], b"").await;
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        (answer.status, body)
    };
    let (status, mut released) = parsed("POST", "/v1/tasks/edge-lb/release").await;
    assert!(released["request_id"].take().is_string());
    let hold = json!({
        "since": "2026-02-03T10:15:30+01:00",
        "losses": [{"service": "web", "applied": 10, "now": 2}],
    });
    assert_eq!(status, 200);
    assert_eq!(
        released,
        json!({"request_id": null, "released": true, "hold": hold})
    );
    let (_, statuses) = parsed("GET", "/v1/status/tasks").await;
    assert_eq!(statuses["edge-lb"]["hold"], hold);
    assert_eq!(statuses["dns"].get("hold"), None);

    let (status, mut nothing) = parsed("POST", "/v1/tasks/dns/release").await;
    assert!(nothing["request_id"].take().is_string());
    assert_eq!(
        (status, nothing),
        (200, json!({"request_id": null, "released": false}))
    );
    for body in ["[]", "{\"seen\": 1}", "{"] {
        let answer = stage
            .ask_with("POST", "/v1/tasks/dns/release", &[], body.as_bytes())
            .await;
        assert_eq!(answer.status, 400, "{body}: {}", answer.body);
    }
    let (status, unknown) = parsed("POST", "/v1/tasks/none/release").await;
    assert_eq!(status, 404, "{unknown}");
    for method in ["GET", "PUT", "DELETE"] {
        let answer = stage
            .ask_with(method, "/v1/tasks/dns/release", &[], b"")
            .await;
        assert_eq!(answer.status, 405, "{method}");
    }
}

#[tokio::test]
async fn what_is_known_of_a_state_is_shown_and_decided() {
    let tasks = three_tasks();
    let stage = Stage::start(tasks.clone()).await;
    let ask = async |method: &str, name: &str, body: &str| {
        let path = format!("/v1/tasks/{name}/state");
        let headers = [("Content-Type", "application/json")];
        let answer = stage
            .ask_with(method, &path, &headers, body.as_bytes())
            .await;
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        (answer.status, body)
    };
    let (status, mut known) = ask("GET", "edge-lb", "").await;
    assert!(known["request_id"].take().is_string());
    let place = |lineage: &str| {
        json!({
            "backend": "consul", "workspace": "edge-lb",
            "lineage": lineage, "serial": 7, "resources": 2,
        })
    };
    let expected = json!({
        "request_id": null,
        "task": "edge-lb",
        "state": {
            "lineage": "a-lineage", "serial": 7, "moves": 1,
            "recorded_at": "2023-11-14T23:13:20+01:00",
        },
        "conflict": {
            "reason": "the new backend has the state of something else",
            "at": "2023-11-14T23:14:20+01:00",
            "old": place("a-lineage"),
            "new": place("another"),
        },
        "keep": null,
        "from": null,
    });
    assert_eq!((status, known), (200, expected));
    let (_, known) = ask("GET", "dns", "").await;
    assert_eq!(known["conflict"], Value::Null);

    for (body, decision) in [
        (r#"{"keep": "old"}"#, Decision::Keep(StateKeep::Old.into())),
        (r#"{"keep": "new"}"#, Decision::Keep(StateKeep::New.into())),
        (r#"{"from": "earlier"}"#, Decision::From("earlier".into())),
    ] {
        let (status, decided) = ask("POST", "dns", body).await;
        assert_eq!(status, 200, "{decided}");
        let said: Value = serde_json::from_str(body).unwrap();
        for key in ["keep", "from"] {
            assert_eq!(decided[key], said[key], "{body}");
        }
        let asked = std::mem::take(&mut *tasks.changes.lock().unwrap());
        let expected = DecideTerraformStateRequest {
            name: "dns".to_owned(),
            decision: Some(decision),
        };
        assert_eq!(asked, [Asked::DecideState(expected)]);
    }

    for body in ["", "{}", "[]", r#"{"keep": "both"}"#, r#"{"from": "a/b"}"#] {
        let (status, refused) = ask("POST", "dns", body).await;
        assert_eq!(status, 400, "{body}: {refused}");
    }
    assert_eq!(*tasks.changes.lock().unwrap(), []);
    for (name, expected) in [
        ("none", 404),
        ("settled", 409),
        ("taken", 409),
        ("leaving", 409),
        ("broken", 500),
        ("away", 503),
    ] {
        let (status, refused) = ask("POST", name, r#"{"keep": "old"}"#).await;
        assert_eq!(status, expected, "{name}: {refused}");
        assert!(refused["error"]["message"].is_string(), "{refused}");
    }
    assert_eq!(ask("GET", "none", "").await.0, 404);
    for method in ["PUT", "DELETE"] {
        assert_eq!(ask(method, "dns", "").await.0, 405, "{method}");
    }
}
