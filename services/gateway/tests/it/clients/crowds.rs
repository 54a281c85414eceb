//! More clients than there are places for, and as many as there may well be (docs/rest.md#limits).

use std::sync::Arc;
use std::time::Duration;

use cts_gateway::Limits;
use cts_listen::ClientLimit;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::runs::{MemoryRuns, RUN};
use crate::stage::{Answer, FrozenTime, LIMITS, SOON, Scene, Stage, read_until};
use crate::tasks::{MemoryTasks, three_tasks};

async fn stage(limits: Limits) -> Stage {
    Stage::set(Scene {
        limits: Some(limits),
        tasks: three_tasks(),
        ..Scene::default()
    })
    .await
}

const fn size(total: usize, per_client: usize) -> ClientLimit {
    ClientLimit { total, per_client }
}

/// Sends a request for a client of the proxy that the gateway trusts.
async fn ask(stage: &Stage, client: &str, path: &str) -> TcpStream {
    let mut socket = stage.connect().await;
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {client}\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    socket
}

/// A follower whose answer has begun.
async fn follow(stage: &Stage, client: &str) -> TcpStream {
    let mut follower = ask(stage, client, "/v1/events").await;
    read_until(&mut follower, "retry: 1000\n").await;
    follower
}

async fn status(stage: &Stage, client: &str, path: &str) -> String {
    let mut socket = ask(stage, client, path).await;
    let head = read_until(&mut socket, "\r\n\r\n").await;
    head["HTTP/1.1 ".len()..][..3].to_owned()
}

#[tokio::test]
async fn a_connection_without_a_place_is_told_so() {
    let stage = stage(Limits {
        connections: size(3, 3),
        ..LIMITS
    })
    .await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut socket = ask(&stage, "192.0.2.1", "/v1/health").await;
        read_until(&mut socket, "\r\n\r\n").await;
        held.push(socket);
    }
    let refused = stage.ask("GET", "/v1/health").await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("Retry-After"), Some("5"));
    assert_eq!(
        refused.body,
        "{\"error\":{\"message\":\"no connection is free: there are too many in total\",\"code\":\"too-many-requests\"}}\n"
    );
    held.pop();
    timeout(SOON, async {
        while stage.ask("GET", "/v1/health").await.status != 200 {}
    })
    .await
    .expect("the place of a client that has gone is free");
}

#[tokio::test]
async fn one_client_takes_its_own_places_only() {
    let stage = stage(Limits {
        streams: size(3, 2),
        ..LIMITS
    })
    .await;
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(follow(&stage, "192.0.2.1").await);
    }
    let mut third = ask(&stage, "192.0.2.1", "/v1/events").await;
    let refused = read_until(&mut third, "request_id").await;
    assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
    assert!(refused.contains("\r\nRetry-After: 5\r\n"), "{refused}");
    assert!(
        refused.contains("this client has too many logs and events in progress"),
        "{refused}"
    );
    let log = format!("/v1/runs/{RUN}/log?follow=true");
    assert_eq!(status(&stage, "192.0.2.1", &log).await, "429");
    held.push(follow(&stage, "192.0.2.2").await);
    assert_eq!(status(&stage, "192.0.2.3", "/v1/events").await, "503");
    assert_eq!(status(&stage, "192.0.2.3", "/v1/health").await, "200");
    held.clear();
    timeout(SOON, async {
        while status(&stage, "192.0.2.1", "/v1/events").await != "200" {}
    })
    .await
    .expect("the places of followers that have gone are free");
}

#[tokio::test]
async fn requests_that_wait_for_runs_have_places() {
    let tasks = MemoryTasks {
        gate: Arc::new(Semaphore::new(0)),
        ..three_tasks()
    };
    let stage = Stage::set(Scene {
        limits: Some(Limits {
            waiting: size(1, 1),
            ..LIMITS
        }),
        tasks: tasks.clone(),
        ..Scene::default()
    })
    .await;
    let task = task("\"a\"");
    let create = || stage.ask_with("POST", "/v1/tasks", &[JSON], task.as_bytes());
    let (first, ()) = tokio::join!(create(), async {
        tasks.arrivals.acquire().await.unwrap().forget();
        let second = create().await;
        assert_eq!(second.status, 503, "{second:?}");
        assert_eq!(second.header("Retry-After"), Some("5"));
        // Requests that wait for no run are still answered.
        assert_eq!(stage.ask("GET", "/v1/health").await.status, 200);
        tasks.gate.add_permits(1);
    });
    assert_eq!(first.status, 201, "{first:?}");
}

/// A request with a task that names one service in addition to `names`.
fn task(names: &str) -> String {
    format!(
        "{{\"task\":{{\"name\":\"new\",\"module\":\"./m\",\"condition\":{{\"services\":{{\"names\":[{names}]}}}},\
         \"module_input\":{{\"services\":{{\"names\":[\"c\"]}}}}}}}}"
    )
}

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// Sends `length` bytes of the body of a task, which has one more byte, for a client of the proxy.
async fn begin_body(stage: &Stage, client: &str, length: usize) -> TcpStream {
    let mut socket = stage.connect().await;
    let head = format!(
        "POST /v1/tasks HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {client}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        length + 1
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(&vec![b' '; length]).await.unwrap();
    socket
}

/// The answer to a small task of a client of the proxy.
async fn create(stage: &Stage, client: &str) -> Answer {
    let headers = [JSON, ("X-Forwarded-For", client)];
    let body = task("");
    stage
        .ask_with("POST", "/v1/tasks", &headers, body.as_bytes())
        .await
}

#[tokio::test]
async fn bodies_that_are_being_read_take_bounded_memory() {
    const LARGEST: usize = (1 << 20) - 1;
    let stage = Stage::start(three_tasks()).await;
    let until = async |client: &str, status: u16| {
        let asked = async {
            loop {
                let answer = create(&stage, client).await;
                if answer.status == status {
                    return answer;
                }
                assert_ne!(answer.status, 500, "{answer:?}");
            }
        };
        timeout(SOON, asked).await.expect("the memory is counted")
    };
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(begin_body(&stage, "192.0.2.1", LARGEST).await);
    }
    let refused = until("192.0.2.1", 429).await;
    assert_eq!(refused.header("Retry-After"), Some("5"));
    assert_eq!(refused.header("Connection"), Some("close"));
    let text = "this client has too many bytes of request bodies in progress";
    assert!(refused.body.contains(text), "{refused:?}");
    let other = create(&stage, "192.0.2.2").await;
    assert_ne!(other.status, 429, "{other:?}");
    for number in 8..32 {
        let client = format!("192.0.2.{}", 1 + number / 8);
        held.push(begin_body(&stage, &client, LARGEST).await);
    }
    let refused = until("192.0.2.9", 503).await;
    assert!(refused.body.contains("all clients together"), "{refused:?}");
    // Requests without a body do not count.
    assert_eq!(status(&stage, "192.0.2.1", "/v1/health").await, "200");
    drop(held);
    until("192.0.2.1", other.status).await;
}

#[tokio::test]
async fn requests_that_wait_for_their_bodies_are_bounded() {
    let stage = Stage::start(three_tasks()).await;
    let release = async |client: &str| {
        let headers = [JSON, ("X-Forwarded-For", client)];
        let path = "/v1/tasks/dns/release";
        stage.ask_with("POST", path, &headers, b"{}").await
    };
    let usual = release("192.0.2.1").await.status;
    let mut held = Vec::new();
    for _ in 0..256 {
        let mut socket = stage.connect().await;
        let head = "POST /v1/tasks/dns/release HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\
                    Content-Type: application/json\r\nContent-Length: 2\r\n\r\n";
        socket.write_all(head.as_bytes()).await.unwrap();
        held.push(socket);
    }
    let refused = async {
        loop {
            let answer = release("192.0.2.1").await;
            if answer.status == 429 {
                return answer;
            }
        }
    };
    let refused = timeout(SOON, refused).await.expect("each of them counts");
    let text = "this client has too many bytes of request bodies in progress";
    assert!(refused.body.contains(text), "{refused:?}");
    assert_eq!(release("192.0.2.2").await.status, usual);
    assert_eq!(status(&stage, "192.0.2.1", "/v1/health").await, "200");
}

#[tokio::test]
async fn names_in_a_request_are_counted() {
    let stage = stage(Limits { names: 3, ..LIMITS }).await;
    let create = async |names: &str| -> Answer {
        let body = task(names);
        let answer = stage.ask_with("POST", "/v1/tasks", &[JSON], body.as_bytes());
        answer.await
    };
    let refused = create("\"a\",\"b\",\"d\"").await;
    assert_eq!(refused.status, 400, "{refused:?}");
    let expected =
        "request body has an error: 4 names of services, at most 3 are allowed; use a regexp";
    assert!(refused.body.contains(expected), "{}", refused.body);
    let taken = create("\"a\",\"b\"").await;
    assert!(!taken.body.contains("at most 3"), "{}", taken.body);
}

#[tokio::test]
async fn texts_that_cannot_be_handed_on_are_refused_with_their_position() {
    let stage = stage(LIMITS).await;
    let deep = "\"filter\":\"((((((a b))))))\"";
    let long = format!("\"datacenter\":\"{}\"", "d".repeat(256));
    for (member, expected) in [
        (
            deep,
            "`filter` cannot be sent to Consul: more than 5 parentheses are open at character 6",
        ),
        (&long, "`datacenter` has 256 bytes, more than 255"),
    ] {
        let body = format!(
            "{{\"task\":{{\"name\":\"new\",\"module\":\"./m\",\"condition\":{{\"services\":{{\"names\":[\"a\"],{member}}}}}}}}}"
        );
        for (method, path) in [
            ("POST", "/v1/tasks"),
            ("POST", "/v1/tasks?run=now"),
            ("POST", "/v1/tasks?run=inspect"),
            ("PUT", "/v1/tasks/new"),
        ] {
            let refused = stage.ask_with(method, path, &[JSON], body.as_bytes()).await;
            assert_eq!(refused.status, 400, "{method} {path}: {refused:?}");
            let expected = format!("request body has an error: {expected}");
            assert!(refused.body.contains(&expected), "{}", refused.body);
        }
    }
}

#[tokio::test]
async fn a_list_that_is_too_long_is_refused() {
    let stage = stage(Limits {
        answer_bytes: 16,
        ..LIMITS
    })
    .await;
    for path in ["/v1/tasks", "/v1/status/tasks", "/v1/status"] {
        let answer = stage.ask("GET", path).await;
        assert_eq!(answer.status, 500, "{answer:?}");
        let expected = "the answer would have more than 16 bytes: ask for single tasks";
        assert!(answer.body.contains(expected), "{}", answer.body);
    }
}

#[tokio::test]
async fn two_hundred_quiet_followers_stay_for_an_hour() {
    const FOLLOWERS: usize = 200;
    const HOUR: Duration = Duration::from_hours(1);
    const STEP: Duration = Duration::from_millis(15_001);
    let time = FrozenTime::start();
    let runs = MemoryRuns::default();
    let stage = Stage::set(Scene {
        runs: runs.clone(),
        ..Scene::default()
    })
    .await;
    let mut followers = Vec::new();
    for _ in 0..FOLLOWERS {
        followers.push(follow(&stage, "192.0.2.1").await);
    }
    let mut passed = Duration::ZERO;
    while passed < HOUR {
        time.advance(STEP).await;
        passed += STEP;
        for follower in &mut followers {
            read_until(follower, ":\n\n").await;
        }
    }
    assert_eq!(runs.followers.lock().unwrap().len(), 1, "one call for all");
    assert_eq!(status(&stage, "192.0.2.1", "/v1/health").await, "200");
}

#[tokio::test]
async fn five_hundred_clients_behind_one_address_are_served() {
    const CLIENTS: usize = 500;
    let stage = stage(LIMITS).await;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(ask(&stage, "192.0.2.1", "/v1/status/tasks").await);
    }
    for client in &mut clients {
        let head = read_until(client, "\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    }
}
