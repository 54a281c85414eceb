//! Which request gets which kind of answer: docs/rest.md#routes and what follows there as a table.

use serde_json::{Value, json};

use crate::stage::{Answer, REQUEST_ID, Stage};
use crate::tasks::three_tasks;

/// Form of an answer beyond its status.
pub(crate) enum Body {
    /// Nothing, and no content type.
    Empty,
    /// Nothing but the header `Allow`.
    Allow(&'static str),
    /// Nothing, with the content type of the error that is not sent.
    JsonHead,
    PlainHead,
    /// The plain text for paths that do not exist.
    NotFound,
    /// A JSON success, of which these parts are checked.
    Json(Value),
    /// An error of the new family.
    New(&'static str),
    /// An error of the legacy family.
    Legacy(&'static str),
}

use Body::{Allow, Empty, Json, JsonHead, Legacy, New, NotFound, PlainHead};

const NO_TASK: &str = "a task with name 'nope' does not exist or has not been initialized yet";
const NO_SLASH_TASK: &str = "a task with name 'a/b' does not exist or has not been initialized yet";
const ONLY_ONCE: &str =
    "unsupported status parameter value. it must be given only once, got 2 values";
const NO_STATUS: &str = "unsupported status parameter value. got '', must be one of 'successful', \
                         'errored', 'critical', 'unknown'";

macro_rules! rows {
    ($($method:literal $path:literal => $status:literal $body:expr;)*) => {
        vec![$(($method, $path, $status, $body)),*]
    };
}

fn rows() -> Vec<(&'static str, &'static str, u16, Body)> {
    let counts = || {
        json!({"task_summary": {
            "status": {"successful": 1, "errored": 1, "critical": 0, "unknown": 1},
            "enabled": {"true": 2, "false": 1},
        }})
    };
    let names = |names: &[&str]| {
        let tasks: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
        json!({"request_id": REQUEST_ID, "tasks": tasks})
    };
    let statuses = |names: &[&str]| {
        names
            .iter()
            .map(|name| ((*name).to_owned(), json!({"task_name": name})))
            .collect::<Value>()
    };
    rows! {
        "GET" "/v1/health" => 200 Json(json!({}));
        "GET" "/v1/health?x=%zz;&" => 200 Json(json!({}));
        "HEAD" "/v1/health" => 405 Allow("GET");
        "POST" "/v1/health" => 405 Allow("GET");
        "GET" "/v1/health/" => 404 NotFound;

        "GET" "/v1/status" => 200 Json(counts());
        "GET" "/v1/status/" => 200 Json(counts());
        "GET" "/v1/status/x/y" => 200 Json(counts());
        "GET" "/v1/status//tasks" => 200 Json(counts());
        "GET" "/v1/status/cluster/" => 200 Json(counts());
        "HEAD" "/v1/status" => 405 JsonHead;
        "POST" "/v1/status/tasks?status=bad"
            => 405 Legacy("unsupported method 'POST', the only supported method is 'GET'");
        "DELETE" "/v1/status/cluster"
            => 405 Legacy("unsupported method 'DELETE', the only supported method is 'GET'");
        "GET" "/v1/status/cluster"
            => 405 New("this endpoint is only available with high availability configured");

        "GET" "/v1/status/tasks" => 200 Json(statuses(&["dns", "edge-lb", "fw-sync"]));
        "GET" "/v1/status/tasks/" => 200 Json(statuses(&["dns", "edge-lb", "fw-sync"]));
        "GET" "/v1/status/tasks?status=ERRORED" => 200 Json(statuses(&["edge-lb"]));
        "GET" "/v1/status/tasks?status=critical" => 200 Json(json!({}));
        "GET" "/v1/status/tasks/edge-lb" => 200 Json(statuses(&["edge-lb"]));
        "GET" "/v1/status/tasks/edge%2Dlb?status=errored" => 200 Json(statuses(&["edge-lb"]));
        "GET" "/v1/status/tasks/edge-lb?status=successful" => 200 Json(json!({}));
        "GET" "/v1/status/tasks/fw-sync?status=successful" => 200 Json(statuses(&["fw-sync"]));
        "GET" "/v1/status/tasks?Status=bad&status=;&status=%zz"
            => 200 Json(statuses(&["dns", "edge-lb", "fw-sync"]));
        "GET" "/v1/status/tasks/nope" => 404 Legacy(NO_TASK);
        "GET" "/v1/status/tasks/nope?include=events" => 404 Legacy(NO_TASK);
        "GET" "/v1/status/tasks?status=" => 400 Legacy(NO_STATUS);
        "GET" "/v1/status/tasks/nope?status" => 400 Legacy(NO_STATUS);
        "GET" "/v1/status/tasks?status=errored&status=errored" => 400 Legacy(ONLY_ONCE);
        "GET" "/v1/status/tasks?include=bad&status=errored&status=errored"
            => 400 Legacy(ONLY_ONCE);
        "GET" "/v1/status/tasks?include=Events"
            => 400 Legacy("unsupported include parameter value. got 'Events', must be 'events'");
        "GET" "/v1/status/tasks/nope?include="
            => 400 Legacy("unsupported include parameter value. got '', must be 'events'");
        "GET" "/v1/status/tasks/a/b?status=bad"
            => 400 Legacy("unsupported path '/v1/status/tasks/a/b', a task name is one path segment");
        "GET" "/v1/status/tasks/a%2Fb"
            => 400 Legacy("unsupported path '/v1/status/tasks/a/b', a task name is one path segment");
        "GET" "/v1/status/tasks/dns/"
            => 400 Legacy("unsupported path '/v1/status/tasks/dns/', a task name is one path segment");

        "GET" "/v1/tasks" => 200 Json(names(&["edge-lb", "fw-sync", "dns"]));
        "GET" "/v1/tasks?run=bad&run=bad" => 200 Json(names(&["edge-lb", "fw-sync", "dns"]));
        "GET" "/v1/tasks/dns"
            => 200 Json(json!({"request_id": REQUEST_ID, "task": {"name": "dns"}}));
        "GET" "/v1/tasks/d%6es"
            => 200 Json(json!({"request_id": REQUEST_ID, "task": {"name": "dns"}}));
        "GET" "/v1/tasks/nope" => 404 New(NO_TASK);
        "GET" "/v1/tasks/a%2Fb" => 404 New(NO_SLASH_TASK);
        "GET" "/v1/tasks/"
            => 405 Legacy("unsupported method 'GET', the only supported method is 'PATCH'");
        "GET" "/v1/tasks/dns/"
            => 405 Legacy("unsupported method 'GET', the only supported method is 'PATCH'");
        "DELETE" "/v1/tasks/a/b"
            => 405 Legacy("unsupported method 'DELETE', the only supported method is 'PATCH'");
        "PUT" "/v1/tasks"
            => 405 Legacy("unsupported method 'PUT', the only supported method is 'PATCH'");
        "POST" "/v1/tasks/dns"
            => 405 Legacy("unsupported method 'POST', the only supported method is 'PATCH'");
        "HEAD" "/v1/tasks" => 405 JsonHead;
        "HEAD" "/v1/tasks/dns" => 405 JsonHead;
        "PATCH" "/v1/tasks" => 400 Legacy("no task name");
        "PATCH" "/v1/tasks/" => 400 Legacy("no task name");
        "PATCH" "/v1/tasks/a/b"
            => 400 Legacy("unsupported path '/v1/tasks/a/b', a task name is one path segment");
        "PUT" "/v1/tasks/dns/explain"
            => 405 Legacy("unsupported method 'PUT', the only supported method is 'PATCH'");
        "POST" "/v1/runs" => 405 Allow("GET");
        "HEAD" "/v1/events" => 405 Allow("GET");
        "GET" "/v1/runs/" => 404 NotFound;
        "GET" "/v1/runs/a/b" => 404 NotFound;

        "GET" "/" => 404 NotFound;
        "GET" "/v1" => 404 NotFound;
        "GET" "/v1/" => 404 NotFound;
        "GET" "/v1/nowhere" => 404 NotFound;
        "PATCH" "/v2/tasks/dns" => 404 NotFound;
        "GET" "/V1/tasks" => 404 NotFound;
        "GET" "//v1/tasks" => 404 NotFound;
        "GET" "/v1//tasks" => 404 NotFound;
        "GET" "/v1/./tasks" => 404 NotFound;
        "GET" "/v1/x/../tasks" => 404 NotFound;
        "GET" "/v1/%74asks" => 404 NotFound;
        "HEAD" "/v1/nowhere" => 404 PlainHead;
        "TRACE" "/v1/nowhere" => 404 NotFound;
        "OPTIONS" "/v1/tasks" => 200 Empty;
        "OPTIONS" "/nowhere" => 200 Empty;
        "BREW" "/v1/tasks" => 405 Empty;
        "PROPFIND" "/nowhere" => 405 Empty;
        "get" "/v1/health" => 405 Empty;
    }
}

#[tokio::test]
async fn every_request_gets_the_documented_answer() {
    let stage = Stage::start(three_tasks()).await;
    for (method, path, status, body) in rows() {
        let answer = stage.ask(method, path).await;
        let row = format!("{method} {path}: {answer:?}");
        assert_eq!(answer.status, status, "{row}");
        assert!(answer.is_open_to_all_origins(), "{row}");
        check(&answer, &body, &row);
    }
}

pub(crate) fn check(answer: &Answer, body: &Body, row: &str) {
    let (content_type, text) = match body {
        Empty | Allow(_) => (None, Some(String::new())),
        JsonHead => (Some("application/json"), Some(String::new())),
        PlainHead => (Some("text/plain; charset=utf-8"), Some(String::new())),
        NotFound => (
            Some("text/plain; charset=utf-8"),
            Some("404 page not found\n".to_owned()),
        ),
        Json(_) => (Some("application/json"), None),
        New(message) => (
            Some("application/json"),
            Some(format!(
                "{{\"error\":{{\"message\":\"{message}\"}},\"request_id\":\"{REQUEST_ID}\"}}\n"
            )),
        ),
        Legacy(message) => (
            Some("application/json"),
            Some(format!("{{\"error\":{{\"message\":\"{message}\"}}}}\n")),
        ),
    };
    assert_eq!(answer.header("Content-Type"), content_type, "{row}");
    if let Some(text) = text {
        assert_eq!(answer.body, text, "{row}");
    }
    if let Json(expected) = body {
        assert!(answer.body.ends_with('\n'), "{row}");
        let got: Value = serde_json::from_str(&answer.body).unwrap();
        assert!(contains(&got, expected), "{row}");
    }
    let nosniff = matches!(body, NotFound | PlainHead).then_some("nosniff");
    assert_eq!(answer.header("X-Content-Type-Options"), nosniff, "{row}");
    let allow = match body {
        Allow(method) => Some(*method),
        _ => None,
    };
    assert_eq!(answer.header("Allow"), allow, "{row}");
}

/// Whether `got` is `expected`, with perhaps more members in all objects but the outermost.
fn contains(got: &Value, expected: &Value) -> bool {
    fn inside(got: &Value, expected: &Value, depth: usize) -> bool {
        match (got, expected) {
            (Value::Object(got), Value::Object(expected)) => {
                (depth > 0 || got.len() == expected.len())
                    && expected.iter().all(|(key, expected)| {
                        got.get(key)
                            .is_some_and(|got| inside(got, expected, depth + 1))
                    })
            }
            (Value::Array(got), Value::Array(expected)) => {
                got.len() == expected.len()
                    && got
                        .iter()
                        .zip(expected)
                        .all(|(got, expected)| inside(got, expected, depth + 1))
            }
            _ => got == expected,
        }
    }
    inside(got, expected, 0)
}
