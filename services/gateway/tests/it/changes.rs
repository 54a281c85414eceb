//! Changes of tasks: the calls that they become, and failures that the real scheduler does not show on demand. The
//! contract of the system tests has the requests.

use cts_core::ErrorCode;
use cts_proto::run::v1::StateKeep;
use cts_proto::task::v1::decide_terraform_state_request::Decision;
use cts_proto::task::v1::{
    DecideTerraformStateRequest, DeleteTaskRequest, DeletionMode, Hold, Loss, ReleaseTaskRequest,
    RunMode, SeenLosses, Task, UpdateTaskRequest,
};
use serde_json::{Value, json};

use crate::runs::RUN;
use crate::stage::{JSON, REQUEST_ID, Stage};
use crate::tasks::{MemoryTasks, RequestedChange, three_tasks};

/// Headers of a `PUT` that replaces the current task.
const CURRENT: &[(&str, &str)] = &[("Content-Type", "application/json"), ("If-Match", "\"3\"")];

const INTERNAL: &str = "the request failed because of an internal error";
const AWAY: &str = "no scheduler is available";
const LOST: &str =
    "the scheduler was lost while it was at work; the change may be made all the same";
const FAILED: &str = "could not apply: exit status 1 -> \"x\"";

fn new_task(name: &str) -> Value {
    json!({"task": {
        "name": name, "module": "./m", "condition": {"services": {"names": ["web"]}},
    }})
}

/// Failures of the scheduler, which the name of the task chooses, with their statuses and messages.
#[tokio::test]
async fn failures_of_the_scheduler_have_their_statuses() {
    let not_there = |name: &str| {
        format!("a task with name '{name}' does not exist or has not been initialized yet")
    };
    let exists = |name: &str| format!("task with name {name} already exists");
    let active = |name: &str| format!("task '{name}' is active and cannot be updated at this time");
    let (refused, incomplete) = ("the name is no name", "the data was not complete in time");
    let stage = Stage::start(three_tasks()).await;
    let check = async |method: &str, path: &str, body: &str, status: u16, message: &str| {
        let answer = stage.ask_with(method, path, CURRENT, body.as_bytes()).await;
        let row = format!("{method} {path} {body}: {answer:?}");
        assert_eq!(answer.status, status, "{row}");
        assert!(answer.is_open_to_all_origins(), "{row}");
        let parsed = answer.json();
        let code = parsed["error"]["code"].as_str().unwrap_or_default();
        let is_known = ErrorCode::ALL.iter().any(|known| known.as_str() == code);
        assert!(is_known, "{row}");
        let expected =
            json!({"error": {"message": message, "code": code}, "request_id": REQUEST_ID});
        assert_eq!(parsed, expected, "{row}");
    };
    for (query, failed) in [("", 500), ("?run=now", 500), ("?run=inspect", 400)] {
        let path = format!("/v1/tasks{query}");
        for (name, status, message) in [
            ("dns", 400, exists("dns").as_str()),
            ("busy", 400, &exists("busy")),
            ("leaving", 400, &exists("leaving")),
            ("failing", failed, FAILED),
            ("wordy", failed, &"é\n".repeat(40_000)),
            ("refused", failed, refused),
            ("forbidden", 400, "security says no"),
            ("fresh", failed, incomplete),
            ("broken", 500, INTERNAL),
            ("newer", 500, INTERNAL),
            ("away", 503, LOST),
        ] {
            let body = new_task(name).to_string();
            check("POST", &path, &body, status, message).await;
        }
    }
    for (name, status, message) in [
        ("nope", 404, not_there("nope").as_str()),
        ("broken", 500, INTERNAL),
        ("away", 503, AWAY),
    ] {
        check("DELETE", &format!("/v1/tasks/{name}"), "", status, message).await;
    }
    for (name, status, message) in [
        ("nope", 404, not_there("nope").as_str()),
        ("busy", 500, &active("busy")),
        ("leaving?run=now", 500, &active("leaving")),
        ("fresh?run=inspect", 500, &not_there("fresh")),
        (
            "failing?run=now",
            500,
            &format!("Error updating task 'failing'. {FAILED}"),
        ),
        ("refused", 400, refused),
        ("broken", 500, INTERNAL),
    ] {
        let path = format!("/v1/tasks/{name}");
        check("PATCH", &path, r#"{"enabled":true}"#, status, message).await;
    }
    for (name, status, message) in [
        ("nope", 404, not_there("nope").as_str()),
        ("busy", 409, &active("busy")),
        ("leaving", 409, &active("leaving")),
        ("refused", 400, refused),
        ("forbidden", 400, "security says no"),
        ("failing", 422, FAILED),
        ("fresh", 422, incomplete),
        ("broken", 500, INTERNAL),
    ] {
        let (path, body) = (format!("/v1/tasks/{name}"), new_task(name).to_string());
        check("PUT", &path, &body, status, message).await;
    }
}

#[tokio::test]
async fn an_inspection_shows_the_task_as_it_was_sent() {
    let stage = Stage::start(three_tasks()).await;
    let echo = async |members: Value| {
        let body = json!({"task": members}).to_string();
        let (_, answer) = stage.json("POST", "/v1/tasks?run=inspect", &body).await;
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
            "module_input": {"consul_kv": {"path": "p"}, "services": {}},
            "buffer_period": {"enabled": false, "min": "-1s"},
            "terraform_cloud_workspace": {},
        }))
        .await,
        json!({
            "name": "new", "module": "./m", "enabled": false,
            "condition": {"schedule": {"cron": "0 4 * * *"}},
            "description": "", "providers": [], "variables": {}, "version": "",
            "module_input": {
                "consul_kv": {"path": "p", "recurse": false, "datacenter": "", "namespace": ""},
                "services": {
                    "datacenter": "", "namespace": "", "filter": "", "cts_user_defined_meta": {},
                },
            },
            "buffer_period": {"enabled": false, "min": "-1s", "max": "0s"},
        })
    );
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

async fn asked(tasks: &MemoryTasks, method: &str, path: &str, body: &str) -> Vec<RequestedChange> {
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
        let [RequestedChange::Create(request)] = &asked(&tasks, "POST", &path, &body).await[..]
        else {
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
                approve: String::new(),
                idempotency_key: String::new(),
            };
            let asked = asked(&tasks, "PATCH", &path, &body).await;
            assert_eq!(asked, [RequestedChange::Update(update)]);
        }

        if mode == RunMode::Inspect {
            // Refused before anything is asked.
            continue;
        }
        let body = new_task("dns").to_string();
        let [RequestedChange::Replace(request)] = &asked(&tasks, "PUT", &path, &body).await[..]
        else {
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
    assert_eq!(asked, [RequestedChange::Delete(deletion)]);
}

#[tokio::test]
async fn a_run_that_is_not_waited_for_has_its_id_in_the_answer() {
    let tasks = three_tasks();
    let stage = Stage::start(tasks.clone()).await;
    let on = json!({"enabled": true}).to_string();
    let replaced = new_task("dns").to_string();
    let location = format!("/v1/runs/{RUN}");
    let path = "/v1/tasks/dns?run=now&wait=false";
    let answer = stage.ask_with("PATCH", path, CURRENT, on.as_bytes()).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(answer.header("Location"), Some(&*location));
    assert_eq!(answer.json(), json!({ "run": RUN }));
    let answer = stage
        .ask_with("PUT", path, CURRENT, replaced.as_bytes())
        .await;
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(answer.header("Location"), Some(&*location));
    assert_eq!(answer.header("ETag"), Some("\"4\""));
    assert_eq!(answer.json(), json!({"request_id": REQUEST_ID, "run": RUN}));
    let asked = std::mem::take(&mut *tasks.changes.lock().unwrap());
    let modes = asked.iter().map(|asked| match asked {
        RequestedChange::Update(request) => request.run_mode(),
        RequestedChange::Replace(request) => request.run_mode(),
        other => panic!("{other:?}"),
    });
    assert_eq!(modes.collect::<Vec<_>>(), [RunMode::Request; 2]);

    // Nothing runs, so nothing is requested.
    let off = json!({"enabled": false}).to_string();
    let answer = stage.ask_with("PATCH", path, CURRENT, off.as_bytes()).await;
    assert_eq!((answer.status, answer.json()), (200, json!({})));
    tasks.changes.lock().unwrap().clear();
    let created = new_task("new").to_string();
    for (method, path, body) in [
        ("PATCH", "/v1/tasks/dns?wait=false", &on),
        ("PATCH", "/v1/tasks/dns?run=inspect&wait=false", &on),
        ("PATCH", "/v1/tasks/dns?run=now&wait=no", &on),
        ("PUT", "/v1/tasks/dns?wait=false", &replaced),
        ("POST", "/v1/tasks?run=now&wait=false", &created),
        ("POST", "/v1/tasks?wait=false", &created),
        (
            "PUT",
            &format!("/v1/tasks/dns?idempotency_key={RUN}"),
            &replaced,
        ),
        (
            "POST",
            &format!("/v1/tasks?idempotency_key={RUN}"),
            &created,
        ),
        ("PATCH", "/v1/tasks/dns?idempotency_key=1", &on),
        ("POST", "/v1/tasks/dns/destroy-plan?idempotency_key=", &on),
    ] {
        let answer = stage.ask_with(method, path, CURRENT, body.as_bytes()).await;
        assert_eq!(answer.status, 400, "{method} {path} {answer:?}");
        let name = if path.contains("idempotency_key") {
            "idempotency_key"
        } else {
            "wait"
        };
        assert!(
            answer.body.contains(&format!("\\\"{name}\\\"")),
            "{answer:?}"
        );
    }
    assert_eq!(tasks.changes.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn the_key_of_the_client_goes_to_the_scheduler() {
    let tasks = three_tasks();
    let body = json!({"enabled": true}).to_string();
    let of = async |method, path: &str| {
        let asked = asked(
            &tasks,
            method,
            &format!("{path}idempotency_key={RUN}"),
            &body,
        )
        .await;
        asked.into_iter().next().unwrap()
    };
    for path in ["run=now&wait=false&", "run=now&", "run=inspect&", ""] {
        match of("PATCH", &format!("/v1/tasks/dns?{path}")).await {
            RequestedChange::Update(request) => assert_eq!(request.idempotency_key, RUN, "{path}"),
            other => panic!("{other:?}"),
        }
    }
    match of("POST", "/v1/tasks/dns/destroy-plan?").await {
        RequestedChange::PlanDestruction(request) => assert_eq!(request.idempotency_key, RUN),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_earlier_scheduler_knows_no_request_without_waiting() {
    let stage = Stage::start(three_tasks()).await;
    for (method, body) in [
        ("PATCH", json!({"enabled": true})),
        ("PUT", new_task("earlier")),
    ] {
        let path = "/v1/tasks/earlier?run=now&wait=false";
        let body = body.to_string();
        let answer = stage.ask_with(method, path, CURRENT, body.as_bytes()).await;
        assert_eq!(answer.status, 501, "{method} {answer:?}");
        assert!(answer.body.contains("wait=false"), "{answer:?}");
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
    let (_, answer) = stage.json("GET", "/v1/tasks/dns", "").await;
    assert_eq!(answer["task"]["terraform_version"], "1.0.0");
    assert_eq!(
        answer["task"]["terraform_cloud_workspace"],
        json!({"execution_mode": "agent", "agent_pool_id": "apool-1"})
    );
}

#[tokio::test]
async fn blocked_task_is_shown_and_released() {
    let mut tasks = three_tasks();
    tasks.states[0].hold = Some(Hold {
        by_brake: false,
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
        [RequestedChange::Release(release(None))]
    );
    let seen = r#"{"seen": [{"service": "web", "now": 2}]}"#;
    let losses = vec![Loss {
        service: "web".to_owned(),
        applied: 0,
        now: 2,
    }];
    assert_eq!(
        asked(&tasks, "POST", path, seen).await,
        [RequestedChange::Release(release(Some(SeenLosses {
            losses
        })))]
    );

    let stage = Stage::start(tasks).await;
    let (status, released) = stage.json("POST", path, "").await;
    let hold = json!({
        "since": "2026-02-03T10:15:30+01:00",
        "losses": [{"service": "web", "applied": 10, "now": 2}],
    });
    assert_eq!(status, 200);
    assert_eq!(released, json!({"released": true, "hold": hold}));
    let (_, statuses) = stage.json("GET", "/v1/status/tasks", "").await;
    assert_eq!(statuses["edge-lb"]["hold"], hold);
    assert_eq!(statuses["dns"].get("hold"), None);

    let nothing = stage.json("POST", "/v1/tasks/dns/release", "").await;
    assert_eq!(nothing, (200, json!({"released": false})));
    for body in ["[]", "{\"seen\": 1}", "{"] {
        let (status, refused) = stage.json("POST", "/v1/tasks/dns/release", body).await;
        assert_eq!(status, 400, "{body}: {refused}");
    }
}

#[tokio::test]
async fn known_state_is_shown_and_its_conflict_decided() {
    let tasks = three_tasks();
    let stage = Stage::start(tasks.clone()).await;
    let ask = async |method: &str, name: &str, body: &str| {
        let path = format!("/v1/tasks/{name}/state");
        stage.json(method, &path, body).await
    };
    let (status, known) = ask("GET", "edge-lb", "").await;
    let place = |lineage: &str| {
        json!({
            "backend": "consul", "workspace": "edge-lb",
            "lineage": lineage, "serial": 7, "resources": 2,
        })
    };
    let expected = json!({
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
        assert_eq!(asked, [RequestedChange::DecideState(expected)]);
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
}
