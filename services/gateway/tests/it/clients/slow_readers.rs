//! Clients that take their answers slowly, or not at all, and the effect on other clients.

use std::time::Duration;

use cts_proto::run::v1::{FollowRunsResponse, RunKind, RunStatus};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::logs::MemoryLogs;
use crate::runs::{MemoryRuns, RUN};
use crate::stage::{SOON, Scene, Stage};

async fn ask(stage: &Stage, path: &str) -> BufReader<TcpStream> {
    let mut socket = stage.connect().await;
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    BufReader::new(socket)
}

/// Lines of an answer, up to and with the first that `is_wanted`.
async fn read_until(reader: &mut BufReader<TcpStream>, is_wanted: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    loop {
        let begin = text.len();
        let length = timeout(SOON, reader.read_line(&mut text)).await.unwrap();
        assert_ne!(length.unwrap(), 0, "closed after {text:?}");
        if is_wanted(&text[begin..]) {
            return text;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_that_are_read_slowly_hold_up_nobody() {
    let scene = Scene {
        logs: MemoryLogs {
            large: 18,
            ..MemoryLogs::default()
        },
        ..Scene::default()
    };
    let stage = Stage::set(scene).await;
    let mut readers = Vec::new();
    for _ in 0..8 {
        let mut reader = ask(&stage, &format!("/v1/runs/{RUN}/log")).await;
        let head = read_until(&mut reader, |line| line == "\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        readers.push(reader);
    }
    for _ in 0..20 {
        let health = timeout(SOON, stage.ask("GET", "/v1/health")).await;
        let health = health.expect("an answer that waits for no reader of a log");
        assert_eq!(health.status, 200);
    }
    // A reader that reads at last gets all of it.
    let mut reader = readers.remove(0);
    let mut rest = Vec::new();
    let all = async {
        while !rest.ends_with(b"0\r\n\r\n") {
            assert_ne!(reader.read_buf(&mut rest).await.unwrap(), 0);
        }
    };
    timeout(Duration::from_mins(1), all).await.unwrap();
    assert!(rest.len() > 18 << 20, "{}", rest.len());
}

fn change(number: u32) -> FollowRunsResponse {
    FollowRunsResponse {
        run_id: RUN.to_owned(),
        task_name: format!("task-{number}-{}", "x".repeat(4000)),
        status: RunStatus::Running.into(),
        at: None,
        kind: RunKind::Apply.into(),
        brake: false,
        approval: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_are_not_read_hold_up_no_other_follower() {
    const CHANGES: u32 = 10_000;
    let runs = MemoryRuns::default();
    let stage = Stage::set(Scene {
        runs: runs.clone(),
        ..Scene::default()
    })
    .await;
    let mut silent = ask(&stage, "/v1/events").await;
    read_until(&mut silent, |line| line == "retry: 1000\n").await;
    let mut reader = ask(&stage, "/v1/events").await;
    read_until(&mut reader, |line| line == "retry: 1000\n").await;
    let (_task, sender) = {
        let followers = runs.followers.lock().unwrap();
        assert_eq!(followers.len(), 1, "one call for both");
        followers[0].clone()
    };
    for number in 0..CHANGES {
        sender.send(Ok(change(number))).await.unwrap();
        if number % 100 == 0 {
            let event = format!("task-{number}-");
            let read = timeout(SOON, read_until(&mut reader, |line| line.contains(&event))).await;
            read.expect("an event that waits for no other follower");
        }
    }
    // The one that reads nothing has lost most of them, and its answer ends.
    let mut rest = Vec::new();
    let all = async {
        while !rest.ends_with(b"0\r\n\r\n") {
            assert_ne!(silent.read_buf(&mut rest).await.unwrap(), 0);
        }
    };
    timeout(SOON, all)
        .await
        .expect("the follower that is behind loses its answer");
    let rest = String::from_utf8(rest).unwrap();
    assert!(!rest.contains(&format!("task-{}-", CHANGES - 1)));
}
