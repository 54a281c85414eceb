//! Bodies that no client should send: they get an error or lose their connection, and others are served.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::errors::{new_error, plain_error};
use crate::stage::{Answer, FrozenTime, Stage};
use crate::tasks::three_tasks;

const MIB: usize = 1 << 20;
const KIB_16: usize = 16 << 10;

const TOO_SLOW: &str = "the request body was not complete in time";

/// Makes the body of an error of its message.
type ErrorBody = fn(&str) -> String;

/// Every request with a body, the most bytes of its body, and its errors.
const REQUESTS: [(&str, &str, usize, ErrorBody); 6] = [
    ("POST", "/v1/tasks", MIB, new_error),
    ("PUT", "/v1/tasks/dns", MIB, new_error),
    ("PATCH", "/v1/tasks/dns", KIB_16, plain_error),
    ("POST", "/v1/tasks/dns/release", MIB, new_error),
    ("POST", "/v1/tasks/dns/state", KIB_16, new_error),
    (
        "POST",
        "/v1/runs/0197a000-0000-7000-8000-000000000001/cancel",
        KIB_16,
        new_error,
    ),
];

fn too_large(most: usize) -> &'static str {
    if most == MIB {
        "the request body is larger than 1 MiB"
    } else {
        "the request body is larger than 16 KiB"
    }
}

fn head(method: &str, path: &str, framing: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
    )
}

async fn begin(stage: &Stage, method: &str, path: &str, framing: &str) -> TcpStream {
    let mut socket = stage.connect().await;
    let head = head(method, path, framing);
    socket.write_all(head.as_bytes()).await.unwrap();
    socket
}

#[tokio::test]
async fn a_body_that_is_too_large_is_not_even_read() {
    let stage = Stage::start(three_tasks()).await;
    for (method, path, most, error) in REQUESTS {
        let declared = format!("Content-Length: {}", most + 1);
        let mut socket = begin(&stage, method, path, &declared).await;
        let answer = Answer::read(&mut socket).await;
        let expected = error(too_large(most));
        assert_eq!((answer.status, &answer.body), (413, &expected), "{path}");
        assert_eq!(answer.header("Connection"), Some("close"));
        assert_eq!(answer.header("Content-Type"), Some("application/json"));
        assert!(answer.is_open_to_all_origins());
    }
}

#[tokio::test]
async fn a_request_that_is_no_http_is_refused_without_a_body() {
    let stage = Stage::start(three_tasks()).await;
    let mut socket = stage.connect().await;
    socket.write_all(b"no such thing\r\n\r\n").await.unwrap();
    let answer = Answer::read(&mut socket).await;
    assert_eq!((answer.status, answer.body.as_str()), (400, ""));
}

#[tokio::test]
async fn a_body_of_unknown_size_is_read_to_the_limit() {
    let stage = Stage::start(three_tasks()).await;
    for (method, path, most, error) in REQUESTS {
        let mut socket = begin(&stage, method, path, "Transfer-Encoding: chunked").await;
        let chunk = format!("1000\r\n{}\r\n", " ".repeat(0x1000));
        for _ in 0..most / 0x1000 {
            socket.write_all(chunk.as_bytes()).await.unwrap();
        }
        socket.write_all(b"1\r\n \r\n").await.unwrap();
        let answer = Answer::read(&mut socket).await;
        let expected = error(too_large(most));
        assert_eq!((answer.status, &answer.body), (413, &expected), "{path}");
    }
}

#[tokio::test]
async fn the_largest_body_is_accepted() {
    let stage = Stage::start(three_tasks()).await;
    for (method, path, most, beginning, status) in [
        (
            "POST",
            "/v1/tasks",
            MIB,
            r#"{"task":{"name":"large","module":"m","condition":{}}}"#,
            201,
        ),
        ("PATCH", "/v1/tasks/dns", KIB_16, r#"{"enabled":true}"#, 200),
        // A task may have lost thousands of services.
        ("POST", "/v1/tasks/dns/release", MIB, r#"{"seen":[]}"#, 200),
    ] {
        let mut body = beginning.as_bytes().to_vec();
        body.resize(most, b' ');
        let headers = [("Content-Type", "application/json")];
        let answer = stage.ask_with(method, path, &headers, &body).await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn a_slow_body_is_cut_off_15_seconds_after_its_head_began() {
    for (method, path, _most, error) in REQUESTS {
        let status = if method == "PATCH" { 500 } else { 400 };
        let time = FrozenTime::start();
        let stage = Stage::start(three_tasks()).await;
        let mut socket = begin(&stage, method, path, "Content-Length: 100").await;
        socket.write_all(b"{").await.unwrap();
        // Others are served in between, which shows too that the gateway waits for the body.
        for _ in 0..3 {
            assert_eq!(stage.ask("GET", "/v1/tasks").await.status, 200);
        }
        time.advance(Duration::from_secs(14)).await;
        let mut byte = [0];
        assert!(socket.try_read(&mut byte).is_err(), "too early");
        time.advance(Duration::from_secs(2)).await;
        let answer = Answer::read(&mut socket).await;
        assert_eq!((answer.status, &answer.body), (status, &error(TOO_SLOW)));
        assert_eq!(answer.header("Connection"), Some("close"));
        tokio::time::resume();
    }
}
