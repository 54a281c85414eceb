//! Runs, logs, events and explanations: our own endpoints.

use std::time::Duration;

use cts_proto::cluster::v1::{
    Brake, ConfigurationInForce, GetConfigurationResponse, GetOverviewResponse,
};
use cts_proto::log::v1::{ReadLogRequest, ReadLogWindowRequest, SearchLogRequest};
use cts_proto::run::v1::{
    Approval, ApprovalState, FollowRunsResponse, GetQueueResponse, ListRunsRequest, RunKind,
    RunStatus,
};
use cts_proto::task::v1::Explanation;
use cts_testkit::assert_contains;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::Status;

use crate::cluster::MemoryCluster;
use crate::errors::code_of;
use crate::logs::MemoryLogs;
use crate::runs::{CAUSE, MemoryRuns, RUN, queued_run};
use crate::stage::{Answer, FrozenTime, REQUEST_ID, Scene, Stage};
use crate::tasks::three_tasks;

fn moment(seconds: i64) -> prost_types::Timestamp {
    prost_types::Timestamp {
        seconds: 1_770_110_130 + seconds,
        nanos: 0,
    }
}

pub(crate) fn explanation(name: &str) -> Explanation {
    Explanation {
        task_name: name.to_owned(),
        revision: 3,
        current_run: Some(queued_run()),
        ..Explanation::default()
    }
}

fn parsed(answer: &Answer) -> Value {
    assert_eq!(answer.header("Content-Type"), Some("application/json"));
    assert!(answer.is_open_to_all_origins(), "{answer:?}");
    serde_json::from_str(&answer.body).unwrap()
}

fn error(message: &str) -> Value {
    let code = code_of(message);
    json!({"error": {"message": message, "code": code}, "request_id": REQUEST_ID})
}

async fn stage() -> (Stage, MemoryRuns, MemoryLogs) {
    stage_with(MemoryLogs::default()).await
}

async fn stage_with(logs: MemoryLogs) -> (Stage, MemoryRuns, MemoryLogs) {
    let runs = MemoryRuns::default();
    let scene = Scene {
        tasks: three_tasks(),
        runs: runs.clone(),
        logs: logs.clone(),
        ..Scene::default()
    };
    (Stage::set(scene).await, runs, logs)
}

/// Every member of the bodies is in the tests of the model (`src/model/tests.rs`).
#[tokio::test]
async fn own_answers_are_what_the_scheduler_says() {
    let in_force = ConfigurationInForce {
        number: 2,
        ..ConfigurationInForce::default()
    };
    let cluster = MemoryCluster::default().configured(GetConfigurationResponse {
        in_force: Some(in_force),
        ..GetConfigurationResponse::default()
    });
    let stage = Stage::set(Scene {
        tasks: three_tasks(),
        cluster: cluster
            .overviewed(GetOverviewResponse {
                more_problems: 4,
                ..GetOverviewResponse::default()
            })
            .braked(Brake {
                limit: 9,
                ..Brake::default()
            }),
        runs: MemoryRuns {
            queue: GetQueueResponse {
                queued: 7,
                ..GetQueueResponse::default()
            },
            ..MemoryRuns::default()
        },
        ..Scene::default()
    })
    .await;
    for (path, member, expected) in [
        ("/v1/queue", "/queued", json!(7)),
        ("/v1/cluster/configuration", "/in_force/number", json!(2)),
        ("/v1/overview", "/more_problems", json!(4)),
        ("/v1/brake", "/limit", json!(9)),
        ("/v1/runs", "/runs/1/id", json!(RUN)),
        (&format!("/v1/runs/{RUN}"), "/run/id", json!(RUN)),
        ("/v1/tasks/dns/explain", "/explanation/revision", json!(3)),
    ] {
        let answer = stage.ask("GET", path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let body = parsed(&answer);
        assert_eq!(body.pointer(member), Some(&expected), "{path}: {body}");
        assert_eq!(body["request_id"], REQUEST_ID, "{path}");
    }
}

#[tokio::test]
async fn runs_are_cancelled() {
    let (stage, _, _) = stage().await;
    let cancel = async |method: &str, id: &str, body: &str| {
        let path = format!("/v1/runs/{id}/cancel");
        stage.ask_with(method, &path, &[], body.as_bytes()).await
    };
    for (body, status, word) in [
        ("", 200, "cancelled"),
        ("{}", 200, "cancelled"),
        (r#"{"force": true}"#, 202, "running"),
    ] {
        let answer = cancel("POST", RUN, body).await;
        assert_eq!(answer.status, status, "{answer:?}");
        let answer = parsed(&answer);
        assert_eq!(answer["run"]["status"], word);
        assert_eq!(answer["run"]["id"], RUN);
    }
    for (id, body, status, text) in [
        ("stopping", "", 409, "7 s are left"),
        ("no-id", "", 404, "a run with id 'no-id' does not exist"),
        ("other", "", 404, "a run with id 'other' does not exist"),
        (RUN, "[]", 400, "cancels a run"),
        (RUN, r#"{"forced": true}"#, 400, "cancels a run"),
        (RUN, r#"{"force": "yes"}"#, 400, "cancels a run"),
    ] {
        let answer = cancel("POST", id, body).await;
        assert_eq!(answer.status, status, "{answer:?}");
        let message = parsed(&answer)["error"]["message"].clone();
        assert!(message.as_str().unwrap().contains(text), "{message}");
    }
}

#[tokio::test]
async fn runs_are_listed_by_page() {
    let (stage, runs, _) = stage().await;
    let path = "/v1/runs?task=dns&status=failed&limit=7&after=p2";
    let answer = parsed(&stage.ask("GET", path).await);
    assert_eq!(answer, json!({"request_id": REQUEST_ID, "runs": []}));
    let asked = ListRunsRequest {
        task_name: "dns".to_owned(),
        status: RunStatus::Failed.into(),
        page_size: 7,
        page_token: "p2".to_owned(),
        visible_tasks: Vec::new(),
        awaits_consent: false,
        cause_id: String::new(),
    };
    assert_eq!(*runs.lists.lock().unwrap(), [asked]);
}

#[tokio::test]
async fn causes_and_their_runs_are_listed() {
    let (stage, runs, _) = stage().await;
    let answer = parsed(&stage.ask("GET", "/v1/causes?limit=7").await);
    assert_eq!(answer["causes"][0]["id"], CAUSE);
    assert_eq!(answer["causes"][0]["lines"][0], "web −40");
    let path = format!("/v1/causes?from={CAUSE}");
    let answer = parsed(&stage.ask("GET", &path).await);
    assert_eq!(answer, json!({"request_id": REQUEST_ID, "causes": []}));
    let asked = std::mem::take(&mut *runs.causes.lock().unwrap());
    let asked: Vec<_> = asked
        .iter()
        .map(|it| (it.page_size, &*it.page_token))
        .collect();
    assert_eq!(asked, [(7, ""), (0, CAUSE)]);
    let path = format!("/v1/runs?cause={CAUSE}");
    let answer = parsed(&stage.ask("GET", &path).await);
    assert_eq!(answer["runs"][0]["cause_ids"], json!([CAUSE]));
    assert_eq!(runs.lists.lock().unwrap()[0].cause_id, CAUSE);
}

#[tokio::test]
async fn a_scheduler_of_an_earlier_version_has_no_causes() {
    let unknown = MemoryRuns {
        failure: Some(Status::unimplemented("")),
        ..MemoryRuns::default()
    };
    let ignored = MemoryRuns {
        ignores_causes: true,
        ..MemoryRuns::default()
    };
    let of_cause = format!("/v1/runs?cause={CAUSE}");
    for (runs, path) in [(unknown, "/v1/causes"), (ignored, &of_cause)] {
        let stage = Stage::set(Scene {
            runs,
            ..Scene::default()
        })
        .await;
        let answer = stage.ask("GET", path).await;
        let error = parsed(&answer)["error"].clone();
        assert_eq!(
            (answer.status, &error["code"]),
            (501, &json!("scheduler-outdated"))
        );
        let text = "the scheduler is of an earlier version, which does not have causes";
        assert_eq!(error["message"], text);
    }
}

#[tokio::test]
async fn a_scheduler_that_fails_to_tell_about_runs() {
    let paths = [
        "/v1/runs".to_owned(),
        format!("/v1/runs/{RUN}"),
        "/v1/events".to_owned(),
    ];
    let internal = "the request failed because of an internal error";
    for (failure, status, message) in [
        (
            Status::internal("database at 10.0.0.7 said no"),
            500,
            internal,
        ),
        (
            Status::unavailable("away"),
            503,
            "no scheduler is available",
        ),
    ] {
        let runs = MemoryRuns {
            failure: Some(failure),
            ..MemoryRuns::default()
        };
        let stage = Stage::set(Scene {
            runs,
            ..Scene::default()
        })
        .await;
        for path in &paths {
            let answer = stage.ask("GET", path).await;
            assert_eq!((answer.status, parsed(&answer)), (status, error(message)));
        }
    }
}

/// The data of a chunked body.
fn unchunked(body: &str) -> String {
    let mut data = String::new();
    let mut rest = body;
    loop {
        let (size, behind) = rest.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        let (chunk, behind) = behind.split_at(size);
        data.push_str(chunk);
        rest = behind.strip_prefix("\r\n").unwrap();
        if size == 0 {
            return data;
        }
    }
}

#[tokio::test]
async fn a_log_as_lines_or_as_objects() {
    let (stage, _, logs) = stage().await;
    let answer = stage.ask("GET", &format!("/v1/runs/{RUN}/log")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("Content-Type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(answer.header("X-Accel-Buffering"), Some("no"));
    assert!(answer.is_open_to_all_origins(), "{answer:?}");
    assert_eq!(unchunked(&answer.body), "Plan: 1 to add\né \"x\"\ndone\n");

    let path = format!("/v1/runs/{RUN}/log?format=ndjson&after=1");
    let answer = stage.ask("GET", &path).await;
    assert_eq!(answer.header("Content-Type"), Some("application/x-ndjson"));
    let lines: Vec<Value> = unchunked(&answer.body)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let line = |stream: &str, text: &str| json!({"stream": stream, "text": text});
    assert_eq!(
        lines,
        [
            json!({
                "position": 2,
                "lines": [line("stdout", "Plan: 1 to add"), line("stderr", "é \"x\"")],
            }),
            json!({"position": 3, "lines": [line("stdout", "done")]}),
        ]
    );
    let read = |after_position| ReadLogRequest {
        run_id: RUN.to_owned(),
        after_position,
        follow: false,
        one_part: true,
    };
    // Each part is requested until the log has no more.
    let expected = [0, 2, 3, 1, 2, 3].map(read);
    assert_eq!(*logs.reads.lock().unwrap(), expected);
}

#[tokio::test]
async fn windows_of_a_log_show_what_is_cut() {
    let (stage, _, logs) = stage().await;
    let path = format!("/v1/runs/{RUN}/log?tail=2&attempt=1");
    let answer = stage.ask("GET", &path).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let address = format!("/v1/runs/{RUN}/log?line=8");
    let text = format!("whole\n<cut … (cut, 70000 bytes: {address})\n");
    assert_eq!(answer.body, text);

    let path = format!("/v1/runs/{RUN}/log?around=8&format=ndjson");
    let answer = stage.ask("GET", &path).await;
    assert_eq!(answer.header("Content-Type"), Some("application/x-ndjson"));
    let window: Value = serde_json::from_str(&answer.body).unwrap();
    let expected = json!({
        "lines": [
            {"position": 7, "stream": "stdout", "text": "whole"},
            {"position": 8, "stream": "stdout", "text": "<cut", "bytes": 70_000, "address": address},
        ],
        "last_position": 8,
        "attempts": [{"number": 1, "first_position": 1, "lines": 8}],
    });
    assert_eq!(window, expected);
    let window = |attempt, lines, around_position| ReadLogWindowRequest {
        run_id: RUN.to_owned(),
        attempt,
        lines,
        around_position,
        ..ReadLogWindowRequest::default()
    };
    let expected = [window(1, 2, None), window(0, 0, Some(8))];
    assert_eq!(*logs.windows.lock().unwrap(), expected);
}

#[tokio::test]
async fn one_line_of_a_log_is_whole() {
    let (stage, _, logs) = stage().await;
    let path = format!("/v1/runs/{RUN}/log?line=3");
    assert_eq!(stage.ask("GET", &path).await.body, "done\n");
    let path = format!("/v1/runs/{RUN}/log?line=1&format=ndjson");
    let line: Value = serde_json::from_str(&stage.ask("GET", &path).await.body).unwrap();
    let text = json!({"stream": "stdout", "text": "Plan: 1 to add"});
    assert_eq!(line, json!({"position": 1, "lines": [text]}));
    let reads: Vec<_> = logs
        .reads
        .lock()
        .unwrap()
        .iter()
        .map(|read| (read.after_position, read.follow, read.one_part))
        .collect();
    assert_eq!(reads, [(2, false, true), (0, false, true)]);
}

#[tokio::test]
async fn a_search_of_a_log_streams_its_progress() {
    let (stage, _, logs) = stage().await;
    let path = format!("/v1/runs/{RUN}/log?search=a+b&attempt=2");
    let answer = stage.ask("GET", &path).await;
    let address = format!("/v1/runs/{RUN}/log?line=8");
    let expected = format!(
        "7:whole\n8:<cut … (cut, 70000 bytes: {address})\n\
         searched from line 5\nsearched from line 3: 60 seconds are over\n"
    );
    assert_eq!(unchunked(&answer.body), expected);
    let search = SearchLogRequest {
        run_id: RUN.to_owned(),
        attempt: 2,
        text: "a b".to_owned(),
    };
    assert_eq!(*logs.searches.lock().unwrap(), [search]);

    let path = format!("/v1/runs/{RUN}/log?search=x&format=ndjson");
    let answer = stage.ask("GET", &path).await;
    let parts: Vec<Value> = unchunked(&answer.body)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(parts[0]["lines"][1]["address"], address);
    let end = json!({"lines": [], "searched_from": 3, "state": "timed_out"});
    assert_eq!(parts[2], end);

    // A search that goes on is sent as it comes.
    let path = format!("/v1/runs/{RUN}/log?search=endless");
    let mut searching = Ongoing::start(&stage, &path).await;
    searching.until("searched from line 5").await;
    drop(searching);
}

#[tokio::test]
async fn parts_of_a_log_that_cannot_be_read_are_explained() {
    let (current, _, _) = stage().await;
    let (outdated, _, _) = stage_with(MemoryLogs {
        outdated: true,
        ..MemoryLogs::default()
    })
    .await;
    let parts = [
        "tail=1",
        "before=9",
        "around=9",
        "after=1&limit=2",
        "search=x",
    ];
    for part in parts {
        for (stage, run, more, status, text) in [
            (&current, "no-id", "", 404, "does not exist"),
            (&current, "other", "", 404, "does not exist"),
            (&current, RUN, "&attempt=9", 409, "attempt 9 is not known"),
            (&current, RUN, "&follow=true", 400, "left out"),
            (&current, RUN, "&line=1", 400, "left out"),
            (&outdated, RUN, "", 501, "earlier version"),
        ] {
            let path = format!("/v1/runs/{run}/log?{part}{more}");
            let answer = stage.ask("GET", &path).await;
            assert_eq!(answer.status, status, "{path}: {answer:?}");
            assert!(answer.body.contains(text), "{path}: {answer:?}");
        }
    }
    // Calls that every scheduler has.
    for part in ["", "?line=1"] {
        let path = format!("/v1/runs/{RUN}/log{part}");
        assert_eq!(outdated.ask("GET", &path).await.status, 200);
    }
}

/// A request whose answer does not end, as far as it has come.
struct Ongoing {
    socket: TcpStream,
    text: String,
}

impl Ongoing {
    async fn start(stage: &Stage, path: &str) -> Self {
        let mut socket = stage.connect().await;
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        Self {
            socket,
            text: String::new(),
        }
    }

    async fn until(&mut self, expected: &str) {
        while !self.text.contains(expected) {
            let mut part = [0; 1024];
            let length = self.socket.read(&mut part).await.unwrap();
            assert_ne!(length, 0, "closed after {:?}", self.text);
            self.text
                .push_str(std::str::from_utf8(&part[..length]).unwrap());
        }
    }

    /// The text that comes until the connection is closed.
    async fn rest(mut self) -> String {
        let mut rest = String::new();
        self.socket.read_to_string(&mut rest).await.unwrap();
        self.text + &rest
    }
}

#[tokio::test]
async fn a_followed_log_breaks_off_when_the_gateway_ends() {
    let (stage, _, logs) = stage().await;
    let path = format!("/v1/runs/{RUN}/log?follow=true");
    let mut followed = Ongoing::start(&stage, &path).await;
    followed.until("done\n").await;
    assert!(logs.reads.lock().unwrap()[0].follow);
    stage.shutdown.cancel();
    let text = followed.rest().await;
    assert!(text.ends_with("done\n\r\n"), "{text:?}");
}

#[tokio::test]
async fn a_log_that_is_read_while_the_gateway_ends_is_whole() {
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let logs = MemoryLogs {
        gate: Some(std::sync::Arc::clone(&gate)),
        ..MemoryLogs::default()
    };
    let (stage, _, _) = stage_with(logs).await;
    let mut read = Ongoing::start(&stage, &format!("/v1/runs/{RUN}/log")).await;
    read.until("\r\n\r\n").await;
    stage.shutdown.cancel();
    while TcpStream::connect(stage.address).await.is_ok() {}
    gate.add_permits(1);
    let text = read.rest().await;
    assert!(text.contains("done\n"), "{text:?}");
    assert!(text.ends_with("0\r\n\r\n"), "{text:?}");
}

#[tokio::test]
async fn a_log_that_breaks_off_does_not_look_complete() {
    let logs = MemoryLogs {
        end: Some(Status::data_loss("too slow")),
        ..MemoryLogs::default()
    };
    let (stage, _, _) = stage_with(logs).await;
    let path = format!("/v1/runs/{RUN}/log?follow=true");
    let text = Ongoing::start(&stage, &path).await.rest().await;
    assert!(text.contains("done\n"), "{text:?}");
    assert!(!text.ends_with("0\r\n\r\n"), "{text:?}");
}

fn change(status: RunStatus) -> FollowRunsResponse {
    FollowRunsResponse {
        run_id: RUN.to_owned(),
        task_name: "dns".to_owned(),
        status: status.into(),
        at: Some(moment(0)),
        kind: RunKind::Plan.into(),
        brake: false,
        approval: None,
    }
}

#[tokio::test]
async fn events_are_told_until_the_gateway_ends() {
    let (stage, runs, _) = stage().await;
    let mut events = Ongoing::start(&stage, "/v1/events?task=dns").await;
    events.until("retry: 1000\n").await;
    assert!(events.text.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_contains(&events.text, ["Content-Type: text/event-stream\r\n"]);
    assert_contains(&events.text, ["X-Accel-Buffering: no\r\n"]);
    let (task, sender) = runs.followers.lock().unwrap()[0].clone();
    assert_eq!(task, "", "the gateway chooses");
    let other = FollowRunsResponse {
        task_name: "other".to_owned(),
        ..change(RunStatus::Failed)
    };
    sender.send(Ok(other)).await.unwrap();
    for status in [RunStatus::Running, RunStatus::Succeeded] {
        sender.send(Ok(change(status))).await.unwrap();
    }
    events.until("\"succeeded\"").await;
    assert_contains(
        &events.text,
        [&format!(
            "event: run\ndata: {{\"id\":\"{RUN}\",\"task_name\":\"dns\",\"kind\":\"plan\",\
             \"status\":\"running\",\"at\":\"2026-02-03T10:15:30+01:00\"}}\n\n"
        )],
    );
    assert!(!events.text.contains("other"), "{:?}", events.text);
    let waits = |task: &str| FollowRunsResponse {
        task_name: task.to_owned(),
        run_id: RUN.to_owned(),
        approval: Some(Approval {
            task_name: task.to_owned(),
            effect: "0af1".to_owned(),
            state: ApprovalState::Waiting.into(),
            ..Approval::default()
        }),
        ..FollowRunsResponse::default()
    };
    for task in ["other", "dns"] {
        sender.send(Ok(waits(task))).await.unwrap();
    }
    events.until("\"waiting\"").await;
    assert_contains(
        &events.text,
        [
            "event: approval\ndata: {\"run_id\":\"\",\"task_name\":\"dns\",\"effect\":\"0af1\",\"state\":\"waiting\",",
        ],
    );
    assert!(!events.text.contains("other"), "{:?}", events.text);
    let mut all = Ongoing::start(&stage, "/v1/events").await;
    all.until("retry: 1000\n").await;
    let brake = FollowRunsResponse {
        brake: true,
        ..FollowRunsResponse::default()
    };
    sender.send(Ok(brake)).await.unwrap();
    sender.send(Ok(change(RunStatus::Failed))).await.unwrap();
    all.until("\"failed\"").await;
    assert_contains(
        &all.text,
        ["event: brake\ndata: {\"configured\":false,\"set\":false,\"lost\":0,"],
    );
    events.until("\"failed\"").await;
    assert!(!events.text.contains("brake"), "{:?}", events.text);
    drop(all);
    stage.shutdown.cancel();
    let text = events.rest().await;
    assert!(text.ends_with("0\r\n\r\n"), "{text:?}");
}

#[tokio::test]
async fn events_end_when_the_scheduler_cuts_them_off() {
    let (stage, runs, _) = stage().await;
    let mut events = Ongoing::start(&stage, "/v1/events").await;
    events.until("retry: 1000\n").await;
    let (_, sender) = runs.followers.lock().unwrap()[0].clone();
    sender
        .send(Err(Status::data_loss("too slow")))
        .await
        .unwrap();
    events.until("0\r\n\r\n").await;
}

#[tokio::test]
async fn silence_does_not_end_events() {
    let time = FrozenTime::start();
    let (stage, runs, _) = stage().await;
    let mut events = Ongoing::start(&stage, "/v1/events").await;
    events.until("retry: 1000\n").await;
    for _ in 0..10 {
        events.text.clear();
        // Timers end with the millisecond that has begun.
        time.advance(Duration::from_millis(15_001)).await;
        events.until(":\n\n").await;
    }
    let (_, sender) = runs.followers.lock().unwrap()[0].clone();
    sender.send(Ok(change(RunStatus::Running))).await.unwrap();
    events.until("\"running\"").await;
}
