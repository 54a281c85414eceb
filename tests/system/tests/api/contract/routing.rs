//! Sections 2 and 3: routing of requests.

use cts_tests::Shape;
use serde_json::json;

use super::three_tasks;
use crate::api::row::{Body, Row, check, legacy_error, new_error, request_id};
use crate::api::wire::Request;

/// Methods that can be sent to a path; `OPTIONS` has rows of its own, `CONNECT` has no path.
const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE"];

const JSON: &str = "application/json";
const PLAIN: &str = "text/plain; charset=utf-8";

fn ask(method: &str, path: &str) -> Request {
    Request::new(method, path)
}

/// Paths that lead nowhere, whatever the method.
fn nowhere() -> Vec<Row> {
    let paths = [
        "/",
        "/v1",
        "/v1/",
        "/v1/nowhere",
        "/v1/health/",
        "/v1/health/x",
        "/v2/tasks",
        "/V1/tasks",
        "/v1/Tasks",
        "/v1/taskss",
        "/v1/statuss",
        "//v1/tasks",
        "/v1//tasks",
        "/v1/./tasks",
        "/v1/x/../tasks",
        "/v1/%74asks",
        "/v1/queue/",
        "/v1/brake/",
        "/v1/times/",
        "/v1/runs/",
        "/v1/runs//log",
        "/v1/runs/a/logs",
        "/v1/runs//cancel",
        "/v1/events/",
        "/v1/follow/",
        "/v1/openapi",
    ];
    let row = |path: &str, method: &&str| {
        let body = if *method == "HEAD" {
            Body::Head(PLAIN)
        } else {
            Body::NotFound
        };
        ask(method, path).gives(404, body)
    };
    paths
        .iter()
        .flat_map(|path| KNOWN.iter().map(|method| row(path, method)))
        .collect()
}

/// Every path with every method that it does not have.
fn wrong_methods() -> Vec<Row> {
    let legacy = |path: &str, supported: &'static str, own: &[&str]| -> Vec<Row> {
        let others = KNOWN.iter().filter(|method| !own.contains(method));
        others
            .map(|method| {
                let parts = [*method, supported].map(|name| format!("'{name}'"));
                let body = match *method {
                    "HEAD" => Body::Head(JSON),
                    _ => Body::LegacyError(parts.to_vec()),
                };
                ask(method, path).gives(405, body)
            })
            .collect()
    };
    let mut rows = Vec::new();
    for path in [
        "/v1/status",
        "/v1/status/",
        "/v1/status/x",
        "/v1/status/tasks",
        "/v1/status/tasks/pool",
        "/v1/status/tasks/a/b",
        "/v1/status/cluster",
    ] {
        rows.extend(legacy(path, "GET", &["GET"]));
    }
    rows.extend(legacy("/v1/tasks", "PATCH", &["GET", "POST", "PATCH"]));
    let of_one = ["GET", "DELETE", "PATCH", "PUT"];
    rows.extend(legacy("/v1/tasks/pool", "PATCH", &of_one));
    rows.extend(legacy("/v1/tasks/", "PATCH", &["PATCH"]));
    for path in ["/v1/tasks/pool/", "/v1/tasks/a/b", "/v1/tasks/a/b/c"] {
        rows.extend(legacy(path, "PATCH", &["PATCH"]));
    }
    rows.extend(legacy("/v1/tasks/pool/explain", "PATCH", &["GET", "PATCH"]));
    for path in [
        "/v1/health",
        "/v1/queue",
        "/v1/causes",
        "/v1/times",
        "/v1/runs",
        "/v1/runs/a",
        "/v1/runs/a/log",
        "/v1/events",
        "/v1/follow",
    ] {
        for method in KNOWN.iter().filter(|method| **method != "GET") {
            rows.push(ask(method, path).gives(405, Body::Allow("GET")));
        }
    }
    for method in KNOWN.iter().filter(|it| !["GET", "POST"].contains(*it)) {
        rows.push(ask(method, "/v1/brake").gives(405, Body::Allow("GET, POST")));
    }
    for path in ["/v1/tasks", "/nowhere", "/v1/health", "/v1/tasks/pool"] {
        for method in ["BREW", "PROPFIND", "get", "Patch"] {
            rows.push(ask(method, path).gives(405, Body::Empty));
        }
        rows.push(ask("OPTIONS", path).gives(200, Body::Empty));
    }
    rows
}

fn served_in_odd_ways() -> Vec<Row> {
    let overall = || Body::Legacy(json!({"task_summary": {"enabled": {"true": 2, "false": 1}}}));
    let all = || Body::Legacy(json!({"idle": {}, "pool": {}, "sick": {}}));
    let pool = || Body::New(json!({"task": {"name": "pool"}}));
    let unsupported = |path: &str| legacy_error(&format!("'{path}'"));
    let cluster = match Shape::of_this_run() {
        Shape::Embedded => ask("GET", "/v1/status/cluster").gives(
            405,
            new_error("this endpoint is only available with high availability configured"),
        ),
        Shape::Cluster => {
            let expected = json!({"cluster_name": "edge", "members": [{"id": "scheduler-0"}]});
            ask("GET", "/v1/status/cluster").gives(200, Body::New(expected))
        }
    };
    vec![
        cluster,
        ask("GET", "/v1/times").gives(200, Body::New(json!({"interval_seconds": 3600}))),
        ask("GET", "/v1/times?since=1h").gives(200, Body::New(json!({"interval_seconds": 60}))),
        ask("GET", "/v1/times?since=6h").gives(200, Body::New(json!({"interval_seconds": 600}))),
        ask("GET", "/v1/times?since=193h").gives(400, new_error("from 1m to 192h")),
        ask("GET", "/v1/brake").gives(200, Body::New(json!({"configured": false, "set": false}))),
        ask("POST", "/v1/brake").gives(200, Body::New(json!({"released": null}))),
        ask("GET", "/v1/status/").gives(200, overall()),
        ask("GET", "/v1/status/x").gives(200, overall()),
        ask("GET", "/v1/status/x/y/z").gives(200, overall()),
        ask("GET", "/v1/status/cluster/").gives(200, overall()),
        ask("GET", "/v1/status/cluster/x").gives(200, overall()),
        ask("GET", "/v1/status//tasks").gives(200, overall()),
        ask("GET", "/v1/status/%74asks").gives(200, overall()),
        ask("GET", "/v1/status/tasks/").gives(200, all()),
        ask("GET", "/v1/status/tasks/a/b").gives(400, unsupported("/v1/status/tasks/a/b")),
        ask("GET", "/v1/status/tasks/a%2Fb").gives(400, unsupported("/v1/status/tasks/a/b")),
        ask("GET", "/v1/status/tasks/pool/").gives(400, unsupported("/v1/status/tasks/pool/")),
        ask("PATCH", "/v1/tasks").gives(400, legacy_error("no task name was included")),
        ask("PATCH", "/v1/tasks/").gives(400, legacy_error("no task name was included")),
        ask("PATCH", "/v1/tasks/a/b").gives(400, unsupported("/v1/tasks/a/b")),
        ask("PATCH", "/v1/tasks/a%2Fb").gives(400, unsupported("/v1/tasks/a/b")),
        ask("PATCH", "/v1/tasks/pool/").gives(400, unsupported("/v1/tasks/pool/")),
        ask("PATCH", "/v1/tasks/pool/explain").gives(400, unsupported("/v1/tasks/pool/explain")),
        ask("GET", "/v1/tasks/p%6fol").gives(200, pool()),
        ask("GET", "/v1/tasks/a%2Fb").gives(404, new_error("'a/b'")),
        ask("DELETE", "/v1/tasks/a%2Fb").gives(404, new_error("'a/b'")),
        ask("GET", "/v1/tasks/with%20blank").gives(404, new_error("'with blank'")),
        ask("GET", "/v1/tasks/pool?x=%zz;&run=bad&run=bad").gives(200, pool()),
        ask("GET", "/v1/tasks/pool")
            .body("{ no json")
            .gives(200, pool()),
        ask("DELETE", "/v1/tasks/nobody")
            .body("{ no json")
            .gives(404, new_error("'nobody'")),
    ]
}

#[tokio::test]
async fn every_request_gets_the_documented_answer() {
    let scene = three_tasks().await;
    check(&scene, &nowhere()).await;
    check(&scene, &wrong_methods()).await;
    check(&scene, &served_in_odd_ways()).await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn every_request_has_an_id_of_its_own_which_the_log_has_twice() {
    let scene = crate::api::scene::Scene::empty().await;
    let mut ids = Vec::new();
    let given = "11111111-1111-4111-8111-111111111111";
    for _ in 0..20 {
        let request = ask("GET", "/v1/tasks")
            .header("X-Request-Id", given)
            .header("Request-Id", given);
        let answer = scene.send(&request).await;
        assert_eq!(answer.header("X-Request-Id"), None);
        ids.push(request_id(&answer.json()).unwrap());
    }
    let again = scene.ask("GET", "/v1/health").await;
    assert_eq!(again.text(), "{}\n");
    let output = scene.instance.output();
    for id in &ids {
        let lines: Vec<&str> = output.lines().filter(|line| line.contains(id)).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines.iter().all(|line| line.contains("api")), "{lines:?}");
        let ends = lines.iter().filter(|line| line.contains("status_code=200"));
        assert_eq!(ends.count(), 1, "{lines:?}");
    }
    assert!(!output.contains("uri=/v1/health "), "probes are not logged");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 20);
    assert!(!ids.iter().any(|id| id == given));
    scene.instance.stop().await;
}
