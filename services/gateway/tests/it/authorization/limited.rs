//! Tokens that are limited to some tasks (docs/access.md#roles).

use std::sync::Arc;

use cts_proto::cluster::v1::{Brake, GetOverviewResponse};
use cts_proto::run::v1::{Approval, FollowRunsResponse};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;
use tonic::Status;

use super::{ADMIN, APPROVE, LIMITED, OPERATE, READ, ask, ask_with, scene, stage};
use crate::cluster::MemoryCluster;
use crate::follow::begin;
use crate::runs::{MemoryRuns, OTHER_RUN, RUN};
use crate::stage::{SOON, Scene, read_until};

#[tokio::test]
async fn a_limited_token_learns_nothing_of_other_tasks() {
    let runs = MemoryRuns {
        others: true,
        ..MemoryRuns::default()
    };
    let stage = stage(Scene {
        runs: runs.clone(),
        ..scene()
    })
    .await;
    let body = async |path: &str| ask(&stage, "GET", path, Some(LIMITED)).await.body;
    for path in [
        "/v1/tasks",
        "/v1/status/tasks",
        "/v1/status/tasks?include=events",
    ] {
        let text = body(path).await;
        assert!(text.contains("dns") && text.contains("fw-sync"), "{text}");
        assert!(!text.contains("edge-lb"), "{text}");
    }
    let counts: Value = serde_json::from_str(&body("/v1/status").await).unwrap();
    let counts = &counts["task_summary"]["status"];
    assert_eq!(counts["successful"], 1);
    assert_eq!(counts["unknown"], 1);
    assert_eq!(counts["errored"], 0);

    // A task that exists, and one that does not.
    let mut texts = Vec::new();
    for name in ["edge-lb", "missing"] {
        let task = format!(
            "{{\"task\":{{\"name\":\"{name}\",\"module\":\"./m\",\"condition\":{{\"schedule\":{{\"cron\":\"* * * * *\"}}}},\"providers\":[]}}}}"
        );
        let from = format!("{{\"from\":\"{name}\"}}");
        for (method, path, body) in [
            ("GET", format!("/v1/tasks/{name}"), "{}"),
            ("GET", format!("/v1/tasks/{name}/explain"), "{}"),
            ("GET", format!("/v1/status/tasks/{name}"), "{}"),
            ("GET", format!("/v1/runs?task={name}"), "{}"),
            ("GET", format!("/v1/events?task={name}"), "{}"),
            ("PATCH", format!("/v1/tasks/{name}"), "{\"enabled\":true}"),
            ("PUT", format!("/v1/tasks/{name}"), &task),
            ("POST", "/v1/tasks".to_owned(), &task),
            ("POST", "/v1/tasks?run=inspect".to_owned(), &task),
            ("POST", "/v1/tasks/dns/state".to_owned(), &from),
            ("DELETE", format!("/v1/tasks/{name}"), "{}"),
        ] {
            let answer = ask_with(&stage, method, &path, Some(LIMITED), body).await;
            assert_eq!(answer.status, 403, "{method} {path}: {answer:?}");
            texts.push(answer.body.replace(name, "NAME"));
        }
    }
    let (existing, missing) = texts.split_at(texts.len() / 2);
    assert_eq!(existing, missing);
}

#[tokio::test]
async fn a_limited_token_gets_the_overview_and_the_lists_of_its_tasks() {
    let overview = GetOverviewResponse {
        more_problems: 4,
        ..GetOverviewResponse::default()
    };
    let scene = Scene {
        cluster: MemoryCluster::default().overviewed(overview),
        ..scene()
    };
    let (cluster, pages) = (
        scene.cluster.clone(),
        Arc::clone(&scene.tasks.current.pages),
    );
    let stage = stage(scene).await;
    let body = async |path: &str, token| -> Value {
        let answer = ask(&stage, "GET", path, Some(token)).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    };
    let path = "/v1/overview";
    assert_eq!(body(path, READ).await["more_problems"], 4);
    assert!(cluster.visible.lock().unwrap().is_empty());
    assert_eq!(body(path, LIMITED).await["more_problems"], 0);
    assert_eq!(*cluster.visible.lock().unwrap(), [["dns", "fw-*"]]);

    let path = "/v1/overview/tasks?page=1";
    assert_eq!(body(path, READ).await["total"], 203);
    let page = body(path, LIMITED).await;
    assert_eq!(page["total"], 202, "{page}");
    assert!(!page.to_string().contains("edge-lb"), "{page}");
    let visible = pages.lock().unwrap().pop().unwrap().visible_tasks;
    assert_eq!(visible, ["dns", "fw-*"]);

    let path = "/v1/overview/tasks?form=grid";
    assert_eq!(body(path, READ).await["grid"], "???");
    assert_eq!(body(path, LIMITED).await["grid"], "??");
}

#[tokio::test]
async fn an_earlier_scheduler_has_no_overview_for_limited_tokens() {
    let scene = scene();
    let cluster = scene.cluster.clone();
    let stage = stage(scene).await;
    cluster.fail_once(Status::unimplemented("unknown call"));
    let answer = ask(&stage, "GET", "/v1/overview", Some(LIMITED)).await;
    assert_eq!(answer.status, 501, "{answer:?}");
    assert!(
        answer.body.contains("overviews of some tasks"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn runs_of_other_tasks_do_not_exist_for_a_limited_token() {
    const MISSING: &str = "0197a000-0000-7000-8000-000000000009";
    let runs = MemoryRuns {
        others: true,
        ..MemoryRuns::default()
    };
    let stage = stage(Scene {
        runs: runs.clone(),
        ..scene()
    })
    .await;
    for (method, end) in [
        ("GET", ""),
        ("GET", "/log"),
        ("GET", "/log?tail=1"),
        ("GET", "/log?line=1"),
        ("GET", "/log?search=x"),
        ("GET", "/plan"),
        ("GET", "/input"),
        ("POST", "/cancel"),
    ] {
        let ask = async |run: &str, token| {
            let path = format!("/v1/runs/{run}{end}");
            let answer = ask(&stage, method, &path, Some(token)).await;
            (answer.status, answer.body.replace(run, "RUN"))
        };
        assert_eq!(ask(OTHER_RUN, ADMIN).await.0, 200, "{end}");
        assert_eq!(ask(RUN, LIMITED).await.0, 200, "{end}");
        let other = ask(OTHER_RUN, LIMITED).await;
        assert_eq!(other.0, 404, "{end}: {other:?}");
        assert_eq!(other, ask(MISSING, LIMITED).await, "{end}");
    }
    let list = ask(&stage, "GET", "/v1/runs", Some(LIMITED)).await.body;
    assert!(list.contains(RUN) && !list.contains(OTHER_RUN), "{list}");
    let visible = || {
        let lists = std::mem::take(&mut *runs.lists.lock().unwrap());
        let visible = lists.into_iter().map(|request| request.visible_tasks);
        visible.collect::<Vec<_>>()
    };
    let asked = visible();
    assert!(!asked.is_empty() && asked.iter().all(|it| *it == ["dns", "fw-*"]));
    let list = ask(&stage, "GET", "/v1/runs", Some(READ)).await.body;
    assert!(list.contains(RUN) && list.contains(OTHER_RUN), "{list}");
    assert_eq!(visible(), [Vec::<String>::new()]);
    for token in [LIMITED, READ] {
        assert_eq!(
            ask(&stage, "GET", "/v1/causes", Some(token)).await.status,
            200
        );
    }
    let asked = runs.causes.lock().unwrap();
    assert_eq!(asked[0].visible_tasks, ["dns", "fw-*"]);
    assert_eq!(asked[1].visible_tasks, [""; 0]);
}

#[tokio::test]
async fn effects_of_other_tasks_do_not_exist_for_a_limited_token() {
    const MISSING: &str = "0197a000-0000-7000-8000-000000000009";
    let stage = stage(scene()).await;
    let ask = async |method: &str, path: &str, token, body: &str| {
        let answer = ask_with(&stage, method, path, Some(token), body).await;
        (answer.status, answer.body)
    };
    let (status, list) = ask("GET", "/v1/approvals", LIMITED, "").await;
    assert_eq!(status, 200, "{list}");
    assert!(list.contains("dns") && !list.contains("edge-lb"), "{list}");
    assert!(list.contains(r#""set":"0af1""#), "{list}");
    for (method, end) in [("GET", ""), ("POST", "/reject"), ("POST", "/approve")] {
        let decide = async |run: &str| {
            let path = format!("/v1/approvals/{run}{end}");
            let (status, body) = ask(method, &path, LIMITED, r#"{"effect": "77c2"}"#).await;
            (status, body.replace(run, "RUN"))
        };
        let other = decide(OTHER_RUN).await;
        assert_eq!(other.0, 404, "{other:?}");
        assert_eq!(other, decide(MISSING).await);
    }
    let reopened = ask(
        "POST",
        "/v1/approvals/reopen",
        LIMITED,
        r#"{"task": "edge-lb"}"#,
    )
    .await;
    assert_eq!(reopened.0, 403, "{reopened:?}");
    let set = r#"{"tasks": ["*"], "set": "0af1"}"#;
    let (status, approved) = ask("POST", "/v1/approvals/approve", LIMITED, set).await;
    assert_eq!(status, 200, "{approved}");
    assert!(!approved.contains("edge-lb"), "{approved}");
    let path = format!("/v1/approvals/{OTHER_RUN}/approve");
    let (status, approved) = ask("POST", &path, APPROVE, r#"{"effect": "77c2"}"#).await;
    assert_eq!(status, 200, "{approved}");
}

#[tokio::test]
async fn a_limited_token_follows_versions_of_what_it_may_see() {
    const MISSING: &str = "0197a000-0000-7000-8000-000000000009";
    let scene = Scene {
        runs: MemoryRuns {
            others: true,
            ..MemoryRuns::default()
        },
        ..scene()
    };
    let follow = scene.follow.clone();
    let stage = stage(scene).await;
    let refusal = async |key: &str, name: &str| {
        let path = format!("/v1/follow?keys=tasks,{key}");
        let answer = ask(&stage, "GET", &path, Some(LIMITED)).await;
        (answer.status, answer.body.replace(name, "NAME"))
    };
    for name in ["edge-lb", "missing"] {
        assert_eq!(refusal(&format!("task:{name}"), name).await.0, 403);
    }
    let hidden = refusal(&format!("run:{OTHER_RUN}"), OTHER_RUN).await;
    assert_eq!(hidden.0, 404, "{hidden:?}");
    assert_eq!(
        hidden,
        refusal(&format!("run:{MISSING}"), MISSING).await,
        "a hidden run is like none"
    );
    assert!(follow.followers.lock().unwrap().is_empty());
    let bearer = format!("Authorization: Bearer {LIMITED}\r\n");
    let keys = format!("tasks,grid:0,task:dns,task:fw-none,run:{RUN},approvals,workers,causes");
    let (_socket, text) = begin(&stage, &keys, &bearer).await;
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    assert_eq!(follow.last().0.visible_tasks, ["dns", "fw-*"]);
}

#[tokio::test]
async fn a_credential_has_eight_streams_of_versions() {
    let stage = stage(scene()).await;
    let mut held = Vec::new();
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    for _ in 0..8 {
        let (socket, text) = begin(&stage, "tasks", &bearer(READ)).await;
        assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
        held.push(socket);
    }
    let ninth = ask(&stage, "GET", "/v1/follow?keys=tasks", Some(READ)).await;
    assert_eq!(ninth.status, 429, "{ninth:?}");
    let (_socket, text) = begin(&stage, "tasks", &bearer(ADMIN)).await;
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    held.pop();
    let free = async {
        loop {
            let (socket, text) = begin(&stage, "tasks", &bearer(READ)).await;
            if text.starts_with("HTTP/1.1 200 ") {
                return socket;
            }
        }
    };
    timeout(SOON, free).await.unwrap();
}

#[tokio::test]
async fn a_limited_token_follows_its_own_tasks_only() {
    let scene = scene();
    let followers = Arc::clone(&scene.runs.followers);
    let stage = stage(scene).await;
    let mut socket = stage.connect().await;
    let request = format!(
        "GET /v1/events HTTP/1.1\r\nHost: cts.example\r\nAuthorization: Bearer {LIMITED}\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut socket, "retry: 1000\n").await;
    let sender = followers.lock().unwrap()[0].1.clone();
    let brake = FollowRunsResponse {
        brake: true,
        ..FollowRunsResponse::default()
    };
    sender.send(Ok(brake)).await.unwrap();
    for task in ["edge-lb", "dns"] {
        let approval = FollowRunsResponse {
            task_name: task.to_owned(),
            approval: Some(Approval {
                task_name: task.to_owned(),
                ..Approval::default()
            }),
            ..FollowRunsResponse::default()
        };
        sender.send(Ok(approval)).await.unwrap();
        let change = FollowRunsResponse {
            task_name: task.to_owned(),
            run_id: RUN.to_owned(),
            ..FollowRunsResponse::default()
        };
        sender.send(Ok(change)).await.unwrap();
    }
    let text = read_until(&mut socket, "event: run").await;
    assert!(text.contains("event: approval"), "{text}");
    assert!(!text.contains("edge-lb"), "{text}");
    assert!(!text.contains("brake"), "{text}");
}

#[tokio::test]
async fn a_limited_token_neither_reads_nor_releases_the_brake() {
    let brake = Brake {
        set: true,
        lost: 4,
        of: 10,
        ..Brake::default()
    };
    let stage = stage(Scene {
        cluster: MemoryCluster::default().braked(brake),
        ..scene()
    })
    .await;
    for (method, token, expected) in [
        ("GET", LIMITED, 403),
        ("POST", LIMITED, 403),
        ("POST", READ, 403),
        ("GET", READ, 200),
    ] {
        let answer = ask_with(&stage, method, "/v1/brake", Some(token), "").await;
        assert_eq!(answer.status, expected, "{method} {token}: {answer:?}");
        let is_shown = answer.body.contains("\"set\":true,");
        assert_eq!(is_shown, expected == 200, "{answer:?}");
    }
    let released = ask_with(&stage, "POST", "/v1/brake", Some(OPERATE), "").await;
    assert!(released.body.contains("\"lost\":4"), "{released:?}");
}

/// Requests whose answers say what a task waits for.
fn of_waits() -> [(&'static str, String); 3] {
    let run = format!("/v1/runs/{RUN}");
    let cancel = format!("{run}/cancel");
    let explanation = "/v1/tasks/dns/explain".to_owned();
    [("GET", explanation), ("GET", run), ("POST", cancel)]
}

#[tokio::test]
async fn schedulers_learn_which_tasks_their_texts_may_name() {
    let scene = scene();
    let visible = [
        Arc::clone(&scene.tasks.visible),
        Arc::clone(&scene.runs.visible),
    ];
    let stage = stage(scene).await;
    for (token, expected) in [(LIMITED, ["dns", "fw-*"].as_slice()), (ADMIN, &[])] {
        for (method, path) in of_waits() {
            let answer = ask(&stage, method, &path, Some(token)).await;
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        for visible in &visible {
            let visible = std::mem::take(&mut *visible.lock().unwrap());
            assert!(!visible.is_empty());
            assert!(visible.iter().all(|tasks| tasks == expected), "{visible:?}");
        }
    }
}

#[tokio::test]
async fn states_for_limited_tokens_are_asked_for_only_when_they_may_have_changed() {
    let scene = scene();
    let tasks = &scene.tasks;
    let (version, asked) = (Arc::clone(&tasks.version), Arc::clone(&tasks.arrivals));
    *version.lock().unwrap() = Some("1".to_owned());
    let stage = stage(scene).await;
    let body = async |path: &str, token| ask(&stage, "GET", path, Some(token)).await.body;
    let before = asked.available_permits();
    let calls = || asked.available_permits() - before;
    let first = body("/v1/status/tasks", LIMITED).await;
    for _ in 0..3 {
        assert_eq!(body("/v1/status/tasks", LIMITED).await, first);
        body("/v1/status", LIMITED).await;
    }
    assert_eq!(calls(), 1, "one list serves all of them");
    let with_events = body("/v1/status/tasks?include=events", LIMITED).await;
    assert_ne!(with_events, first);
    let errored = "/v1/status/tasks?status=errored";
    let none = body(errored, LIMITED).await;
    assert!(!none.contains("edge-lb"), "{none}");
    assert_eq!(body(errored, LIMITED).await, none);
    assert_eq!(calls(), 3);
    let all = body("/v1/status/tasks", READ).await;
    assert!(all.contains("edge-lb"), "{all}");
    assert!(!body("/v1/status/tasks", LIMITED).await.contains("edge-lb"));

    let before = calls();
    *version.lock().unwrap() = Some("2".to_owned());
    for _ in 0..3 {
        assert_eq!(body("/v1/status/tasks", LIMITED).await, first);
    }
    assert_eq!(calls() - before, 1);
}
