//! Hostile clients: they get an error or lose their connection, memory stays bounded, and others are served in
//! the meantime.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use cts_tests::{Site, task};
use serde_json::json;

use crate::api::scene::{MODULE, Scene};
use crate::api::wire::{Answer, Request, exchange};

const MIB: usize = 1024 * 1024;

/// Most bytes of a body that is not that of a task.
const SMALL: usize = 16 * 1024;

/// Most memory, in KiB, by which hostile clients may let the serving process grow.
const GROWTH: u64 = 96 * 1024;

/// A line of /proc/PID/status, in KiB.
fn memory(pid: i32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.unwrap().trim_start_matches(':').trim();
    number.trim_end_matches(" kB").parse().unwrap()
}

fn head(method: &str, target: &str, more: &str) -> String {
    format!(
        "{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}\r\n"
    )
}

async fn is_served(scene: &Scene) -> Answer {
    let asked = timeout(Duration::from_secs(10), scene.ask("GET", "/v1/tasks/pool"));
    let answer = asked
        .await
        .unwrap_or_else(|elapsed| panic!("others wait: {elapsed}"));
    assert_eq!(answer.status, 200, "{answer}");
    answer
}

async fn scene() -> Scene {
    let scene = Scene::with(&task("pool", MODULE, &["web"], "")).await;
    scene.instance.api.wait_for_events("pool", 1).await;
    scene
}

#[tokio::test]
async fn bodies_that_are_nothing_are_refused() {
    let scene = scene().await;
    let deep = [
        "[".repeat(MIB - 1),
        "[".repeat(SMALL),
        "{\"task\":".repeat(MIB / 8 - 1),
        "[{\"a\":".repeat(20_000),
    ];
    let good = format!("{{\"task\":{}}}", crate::api::scene::task("deep", MODULE));
    let nested = good.replacen(
        "\"web\"",
        &format!("{}\"web\"{}", "[".repeat(100_000), "]".repeat(100_000)),
        1,
    );
    let bodies: Vec<Vec<u8>> = deep
        .into_iter()
        .map(String::into_bytes)
        .chain([
            nested.into_bytes(),
            vec![0xff; 1000],
            vec![0; 1000],
            b"{\"task\":{\"name\":\"\xc3\x28\"}}".to_vec(),
            b"\xef\xbb\xbf{}".to_vec(),
            b"1e999999999".to_vec(),
            b"{\"task\":1e400}".to_vec(),
            format!("{{\"task\":{}}}", "9".repeat(100_000)).into_bytes(),
        ])
        .collect();
    for body in &bodies {
        for (most, request) in [
            (
                MIB,
                Request::new("POST", "/v1/tasks").header("Content-Type", "application/json"),
            ),
            (SMALL, Request::new("PATCH", "/v1/tasks/pool")),
            (
                MIB,
                Request::new("PUT", "/v1/tasks/pool")
                    .header("If-Match", "*")
                    .header("Content-Type", "application/json"),
            ),
        ] {
            let status = if body.len() > most { 413 } else { 400 };
            let request = request.body(body.clone());
            let answer = scene.send(&request).await;
            assert_eq!(answer.status, status, "{request}\n{answer}");
            assert!(
                answer.message().len() < 10_000,
                "nobody wants all of it back"
            );
        }
    }
    for content_type in [
        "",
        "*/*",
        "text/html",
        "application/octet-stream",
        "multipart/form-data; boundary=----x",
        "application/json\u{7f}",
        &"x".repeat(10_000),
    ] {
        let request = Request::new("POST", "/v1/tasks")
            .header("Content-Type", content_type)
            .body("{}");
        let answer = scene.send(&request).await;
        assert_eq!(answer.status, 400, "{request}\n{answer}");
    }
    is_served(&scene).await;
    scene.instance.stop().await;
}

/// Two requests like these stopped the whole process: the first was rendered twice at each level, the second parsed
/// its template again for each element.
#[tokio::test]
async fn variables_that_ask_for_hours_of_work_hold_nobody_up() {
    let text = "variable \"services\" { type = any }\nvariable \"deep\" { type = any }\n";
    let site = Site::new();
    site.write("modules/deep/main.tf", text);
    let scene = Scene::of_site(site, &task("pool", MODULE, &["web"], "")).await;
    let mut wanted = crate::api::scene::task("deep", "./modules/deep");
    let deep = format!("{}{{ a = 1 }}{}", "[".repeat(60), "]".repeat(60));
    wanted["variables"] = json!({ "deep": deep });
    let created = scene.create(&wanted, "?run=now").await.expect(201);
    assert_eq!(created["task"]["name"], "deep");

    let (long, many) = ("x".repeat(400_000), vec!["1"; 100_000].join(","));
    let looping = format!("[for a in [{many}] : \"{long}${{a}}\" == \"\"]");
    wanted["name"] = json!("looping");
    wanted["variables"] = json!({ "deep": looping });
    let message = scene.create(&wanted, "?run=now").await.refused(500);
    assert!(message.contains("take too long"), "{message}");
    is_served(&scene).await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn names_and_queries_of_any_kind_are_only_text() {
    let scene = scene().await;
    let targets = [
        format!("/v1/tasks/{}", "a".repeat(50_000)),
        "/v1/tasks/%00".to_owned(),
        "/v1/tasks/%2e%2e%2f%2e%2e%2fetc%2fpasswd".to_owned(),
        "/v1/tasks/..%2f".to_owned(),
        "/v1/tasks/'%20OR%201=1--".to_owned(),
        "/v1/tasks/%F0%9F%92%A9".to_owned(),
        "/v1/tasks/%ff%fe".to_owned(),
        "/v1/status/tasks/%0d%0aX:%20y".to_owned(),
        format!("/v1/status/tasks?status={}", "x".repeat(50_000)),
        "/v1/runs?task=%27%3b%20DROP%20TABLE%20tasks&limit=1".to_owned(),
        "/v1/runs/%27%3b--".to_owned(),
        "/v1/runs?after=%00".to_owned(),
        "/v1/runs?task=%00".to_owned(),
    ];
    for target in targets {
        for method in ["GET", "DELETE"] {
            let answer = exchange(
                scene.instance.api.address(),
                Request::new(method, &target)
                    .head(scene.instance.api.address())
                    .as_bytes(),
            )
            .await;
            let answer = answer.unwrap_or_else(|error| panic!("{method} {target}: {error}"));
            assert!(answer.status < 500, "{method} {target}: {answer}");
            assert_eq!(answer.header("X"), None, "{method} {target}");
        }
    }
    is_served(&scene).await;
    scene.instance.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_clients_and_many_connections_lose_their_connections_and_hold_nobody_up() {
    let scene = scene().await;
    let address = scene.instance.api.address();
    let pid = scene.instance.api_pid();
    let before = memory(pid, "VmRSS");
    let begun = Instant::now();
    let mut clients = JoinSet::new();
    let body = "Content-Length: 100\r\n";
    let beginnings = [
        "G".to_owned(),
        "GET /v1/tasks HTTP/1.1\r\nHost: localhost\r\nX: ".to_owned(),
        head("POST", "/v1/tasks", body) + "{",
        head("PATCH", "/v1/tasks/pool", body) + "{",
        head("POST", "/v1/tasks", "Transfer-Encoding: chunked\r\n") + "1\r\n{\r\n",
        String::new(),
    ];
    for number in 0..600 {
        let beginning = beginnings[number % beginnings.len()].clone();
        // One connection after another: a connection that does not fit into the system's queue is not made,
        // though it looks so.
        let mut stream = TcpStream::connect(address).await.unwrap();
        if number % 50 == 0 {
            is_served(&scene).await;
        }
        clients.spawn(async move {
            // One byte after another, and never the end.
            let (whole, last) = beginning.split_at(beginning.len().saturating_sub(1));
            stream.write_all(whole.as_bytes()).await.unwrap();
            stream.write_all(last.as_bytes()).await.unwrap();
            let mut bytes = Vec::new();
            let end = timeout(Duration::from_secs(90), stream.read_to_end(&mut bytes)).await;
            let _reset = end.unwrap_or_else(|elapsed| panic!("{beginning:?} goes on: {elapsed}"));
            String::from_utf8_lossy(&bytes)
                .chars()
                .take(12)
                .collect::<String>()
        });
    }
    let mut served = 0;
    while begun.elapsed() < Duration::from_secs(5) {
        is_served(&scene).await;
        served += 1;
    }
    assert!(served > 20, "others are served, not {served} times only");
    while let Some(answer) = clients.join_next().await {
        let answer = answer.unwrap();
        assert!(
            ["", "HTTP/1.1 400", "HTTP/1.1 408", "HTTP/1.1 500"].contains(&answer.as_str()),
            "{answer}"
        );
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(80), "{took:?}");
    let grown = memory(pid, "VmHWM").saturating_sub(before);
    assert!(grown < GROWTH, "it has grown by {grown} KiB");
    is_served(&scene).await;
    scene.instance.stop().await;
}
