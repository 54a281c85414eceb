//! Clients that follow something quiet, and go.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use tonic::Status;

use crate::logs::MemoryLogs;
use crate::runs::{MemoryRuns, RUN};
use crate::stage::{SOON, Scene, Stage, read_until};

const FOLLOWERS: usize = 40;

async fn stage() -> (Stage, MemoryRuns, MemoryLogs) {
    let (runs, logs) = (MemoryRuns::default(), MemoryLogs::default());
    let scene = Scene {
        runs: runs.clone(),
        logs: logs.clone(),
        ..Scene::default()
    };
    (Stage::set(scene).await, runs, logs)
}

async fn request(stage: &Stage, target: &str) -> TcpStream {
    let mut socket = stage.connect().await;
    let request = format!("GET {target} HTTP/1.1\r\nHost: cts.example\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    socket
}

async fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < SOON, "{what}");
        sleep(Duration::from_millis(10)).await;
    }
}

fn followed() -> String {
    format!("/v1/runs/{RUN}/log?follow=true")
}

#[tokio::test]
async fn followers_of_a_quiet_log_that_have_gone_are_noticed() {
    let (stage, _, logs) = stage().await;
    let mut followers = Vec::new();
    for _ in 0..FOLLOWERS {
        let mut socket = request(&stage, &followed()).await;
        read_until(&mut socket, "done\n").await;
        followers.push(socket);
    }
    // The stage and this test hold it too.
    assert_eq!(Arc::strong_count(&logs.endless), FOLLOWERS + 2);
    drop(followers);
    soon("the scheduler is asked no more", || {
        Arc::strong_count(&logs.endless) == 2
    })
    .await;
}

#[tokio::test]
async fn a_follower_that_resets_its_connection_is_noticed() {
    let (stage, _, logs) = stage().await;
    let mut socket = request(&stage, &followed()).await;
    read_until(&mut socket, "done\n").await;
    socket.set_zero_linger().unwrap();
    drop(socket);
    soon("the scheduler is asked no more", || {
        Arc::strong_count(&logs.endless) == 2
    })
    .await;
}

#[tokio::test]
async fn followers_of_events_that_have_gone_are_noticed() {
    let (stage, runs, _) = stage().await;
    let mut socket = request(&stage, "/v1/events").await;
    read_until(&mut socket, "retry: 1000\n").await;
    let (_, sender) = runs.followers.lock().unwrap()[0].clone();
    drop(socket);
    soon("the scheduler is asked no more", || sender.is_closed()).await;
}

#[tokio::test]
async fn a_follower_that_closes_its_half_gets_what_there_is_and_the_end() {
    let (stage, _, _) = stage().await;
    let mut socket = request(&stage, &followed()).await;
    socket.shutdown().await.unwrap();
    let mut text = String::new();
    timeout(SOON, socket.read_to_string(&mut text))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(text.matches("Plan: 1 to add\n").count(), 1, "{text:?}");
    assert_eq!(text.matches("done\n").count(), 1, "{text:?}");
    assert!(text.ends_with("0\r\n\r\n"), "{text:?}");
}

#[tokio::test]
async fn a_follower_that_closes_its_half_sees_that_the_rest_is_missing() {
    let logs = MemoryLogs {
        refusal: Some(Status::unavailable("no leader")),
        ..MemoryLogs::default()
    };
    let stage = Stage::set(Scene {
        logs,
        ..Scene::default()
    })
    .await;
    let mut socket = request(&stage, &followed()).await;
    let text = read_until(&mut socket, "done\n").await;
    socket.shutdown().await.unwrap();
    let mut rest = String::new();
    let reading = timeout(SOON, socket.read_to_string(&mut rest));
    reading.await.unwrap().unwrap();
    let text = text + &rest;
    assert!(text.ends_with("done\n\r\n"), "{text:?}");
}

#[tokio::test]
async fn a_follower_may_ask_for_something_else_before_the_end() {
    let (stage, _, logs) = stage().await;
    let mut socket = request(&stage, &followed()).await;
    read_until(&mut socket, "done\n").await;
    let next = "GET /v1/health HTTP/1.1\r\nHost: cts.example\r\n\r\n";
    socket.write_all(next.as_bytes()).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(Arc::strong_count(&logs.endless), 3);
    // The gateway ends, breaks the log off, and answers nothing further.
    stage.shutdown.cancel();
    let mut rest = String::new();
    let reading = timeout(SOON, socket.read_to_string(&mut rest));
    reading.await.unwrap().unwrap();
    assert_eq!(rest, "");
}
