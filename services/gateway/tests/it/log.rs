//! Log lines of requests (docs/rest.md#request-ids-and-the-log).

use std::cell::RefCell;
use std::io;
use std::sync::Once;

use serde_json::Value;
use tonic::Status;
use tracing::Level;

use crate::cluster::MemoryCluster;
use crate::stage::{FrozenTime, REQUEST_ID, Scene, Stage};
use crate::tasks::{MemoryTasks, three_tasks};

thread_local! {
    /// Log lines of this thread, if they are collected. A test and its services share a thread.
    static LINES: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Writes to the lines of the current thread.
struct ThreadLines;

impl io::Write for ThreadLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.with_borrow_mut(|lines| {
            if let Some(lines) = lines {
                lines.extend_from_slice(bytes);
            }
        });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Installs the subscriber of this process. One for all threads, and before anything is logged: what
/// is first logged by a thread without a subscriber can be switched off for all others.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        tracing_subscriber::fmt()
            .json()
            .with_max_level(Level::DEBUG)
            .with_writer(|| ThreadLines)
            .init();
    });
}

pub(crate) fn collect() {
    LINES.set(Some(Vec::new()));
}

pub(crate) fn lines_of(target: &str) -> Vec<Value> {
    let bytes = LINES.with_borrow(|lines| lines.clone().unwrap());
    String::from_utf8(bytes)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["target"] == target)
        .collect()
}

#[tokio::test]
async fn each_request_logs_its_arrival_and_its_answer() {
    collect();
    let stage = Stage::start(three_tasks()).await;
    stage.ask("GET", "/v1/tasks/nope?a=%0Ab").await;
    let logged = lines_of("api");
    let [arrival, answer] = &logged[..] else {
        panic!("{logged:?}");
    };
    assert_eq!(arrival["level"], "DEBUG");
    let fields = &arrival["fields"];
    assert_eq!(fields["request_id"], REQUEST_ID);
    assert_eq!(fields["remote_ip"], "127.0.0.1");
    assert_eq!(fields["method"], "GET");
    assert_eq!(fields["uri"], "/v1/tasks/nope?a=%0Ab");
    assert_eq!(fields["host"], "cts.example");
    let fields = &answer["fields"];
    assert_eq!(fields["request_id"], REQUEST_ID);
    assert_eq!(fields["status_code"], 404);
    let duration = fields["duration"].as_str().unwrap();
    let number = duration.strip_suffix("us").unwrap();
    assert!(number.parse::<u64>().is_ok(), "{duration}");
}

#[tokio::test]
async fn only_plain_health_requests_are_not_logged() {
    collect();
    let stage = Stage::start(three_tasks()).await;
    stage.ask("GET", "/v1/health").await;
    stage.ask("POST", "/v1/health").await;
    assert_eq!(lines_of("api"), Vec::<Value>::new());
    stage.ask("GET", "/v1/health?verbose").await;
    assert_eq!(lines_of("api").len(), 2);
}

#[tokio::test]
async fn a_failure_is_logged_once_with_its_causes() {
    collect();
    let tasks = MemoryTasks {
        failure: Some(Status::internal("the store said no")),
        ..three_tasks()
    };
    let failing = Stage::start(tasks).await;
    failing.ask("GET", "/v1/tasks").await;
    failing.ask("GET", "/v1/tasks/nope").await;
    // Without a scheduler the connections have a line: each request has one for debugging.
    let alone = Stage::start_alone().await;
    alone.ask("GET", "/v1/tasks").await;
    let logged = lines_of("cts_gateway::problem");
    let levels: Vec<_> = logged.iter().map(|line| line["level"].clone()).collect();
    assert_eq!(levels, ["ERROR", "ERROR", "DEBUG"], "{logged:?}");
    for line in logged {
        assert_eq!(line["fields"]["request_id"], REQUEST_ID);
        let error = line["fields"]["error"].as_str().unwrap();
        assert!(
            error.starts_with("the call of the scheduler failed: "),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_unknown_task_is_no_failure() {
    collect();
    let stage = Stage::start(three_tasks()).await;
    stage.ask("GET", "/v1/tasks/nope").await;
    assert_eq!(lines_of("cts_gateway::problem"), Vec::<Value>::new());
}

#[tokio::test]
async fn a_creation_that_is_not_well_formed_is_a_bad_request() {
    collect();
    let stage = Stage::start(three_tasks()).await;
    for (body, part) in [
        ("{", "failed to decode request body"),
        ("{\"task\": 7}", "value must be an object"),
    ] {
        let headers = [("Content-Type", "application/json")];
        let answer = stage.ask_with("POST", "/v1/tasks", &headers, body.as_bytes());
        assert_eq!(answer.await.status, 400, "{body}");
        let lines = lines_of("api.createtask");
        let line = lines.last().unwrap();
        assert_eq!(line["level"], "ERROR");
        let fields = &line["fields"];
        assert_eq!(fields["message"], "bad request");
        assert_eq!(fields["request_id"], REQUEST_ID);
        assert!(fields["error"].as_str().unwrap().contains(part), "{line}");
    }
    assert_eq!(lines_of("api.createtask").len(), 2);
}

#[tokio::test]
async fn a_failure_that_many_share_is_logged_once() {
    let _time = FrozenTime::start();
    collect();
    let alone = Stage::start_alone().await;
    alone.ask("GET", "/v1/health").await;
    assert_eq!(
        lines_of("cts_gateway::scheduler_client::cluster"),
        Vec::<Value>::new()
    );
    let failure = Status::internal("the store said no");
    let scene = Scene {
        cluster: MemoryCluster::failing(failure),
        ..Scene::default()
    };
    let stage = Stage::set(scene).await;
    stage.ask("GET", "/v1/health").await;
    stage.ask("GET", "/v1/health").await;
    let logged = lines_of("cts_gateway::scheduler_client::cluster");
    let [line] = &logged[..] else {
        panic!("{logged:?}");
    };
    assert_eq!(line["level"], "ERROR");
    let error = line["fields"]["error"].as_str().unwrap();
    assert!(
        error.starts_with("the call of the scheduler failed: "),
        "{error}"
    );
    assert_eq!(lines_of("cts_gateway::problem"), Vec::<Value>::new());
}

#[tokio::test]
async fn a_proxy_that_sends_the_other_header_is_logged_once() {
    collect();
    let stage = Stage::start(three_tasks()).await;
    let warned = || {
        let mut lines = lines_of("api");
        lines.retain(|line| line["level"] == "WARN");
        lines
    };
    for (headers, lines) in [
        (
            &[
                ("X-Forwarded-For", "192.0.2.1"),
                ("Forwarded", "for=192.0.2.2"),
            ][..],
            0,
        ),
        (&[("Forwarded", "for=192.0.2.2")], 1),
        (&[("Forwarded", "for=192.0.2.2")], 1),
    ] {
        stage.ask_with("GET", "/v1/health", headers, b"").await;
        assert_eq!(warned().len(), lines, "{headers:?}");
    }
    let text = warned()[0]["fields"]["message"].to_string();
    assert!(text.contains("gateway.forwarded_header"), "{text}");
}
