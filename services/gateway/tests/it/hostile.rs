//! Bodies that no client should send: they get an error or lose their connection, and others are served.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::errors::{new_error, plain_error};
use crate::stage::{Answer, FrozenTime, Stage};
use crate::tasks::three_tasks;

const TOO_LARGE: &str = "the request body is larger than 1 MiB";
const TOO_SLOW: &str = "the request body was not complete in time";

/// Makes the body of an error of its message.
type ErrorBody = fn(&str) -> String;

/// Every request with a body, what its body may be, and its errors.
const REQUESTS: [(&str, &str, ErrorBody); 3] = [
    ("POST", "/v1/tasks", new_error),
    ("PUT", "/v1/tasks/dns", new_error),
    ("PATCH", "/v1/tasks/dns", plain_error),
];

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
    for (method, path, error) in REQUESTS {
        let mut socket = begin(&stage, method, path, "Content-Length: 67108864").await;
        let answer = Answer::read(&mut socket).await;
        assert_eq!((answer.status, &answer.body), (413, &error(TOO_LARGE)));
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
    for (method, path, error) in REQUESTS {
        let mut socket = begin(&stage, method, path, "Transfer-Encoding: chunked").await;
        let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x1_0000));
        for _ in 0..16 {
            socket.write_all(chunk.as_bytes()).await.unwrap();
        }
        socket.write_all(b"1\r\n \r\n").await.unwrap();
        let answer = Answer::read(&mut socket).await;
        assert_eq!((answer.status, &answer.body), (413, &error(TOO_LARGE)));
    }
}

#[tokio::test]
async fn the_largest_body_is_accepted() {
    let stage = Stage::start(three_tasks()).await;
    let mut body = br#"{"task":{"name":"large","module":"m","condition":{}}}"#.to_vec();
    body.resize(1024 * 1024, b' ');
    let headers = [("Content-Type", "application/json")];
    let answer = stage.ask_with("POST", "/v1/tasks", &headers, &body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
}

#[tokio::test]
async fn a_slow_body_is_cut_off_15_seconds_after_its_head_began() {
    for ((method, path, error), status) in REQUESTS.into_iter().zip([400, 400, 500]) {
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
