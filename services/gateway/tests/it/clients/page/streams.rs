//! Streams below the prefix.

use cts_testkit::assert_contains;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::{ADMIN, get, log_in, scene, stage, with_cookie};
use crate::runs::RUN;
use crate::stage::{SOON, Stage, read_until};

#[tokio::test]
async fn versions_are_followed_below_the_prefix_until_the_session_ends() {
    let scene = scene(true);
    let sessions = scene.sessions.clone();
    let stage = stage(scene).await;
    let cookie = log_in(&stage, ADMIN).await;
    let mut socket = stage.connect().await;
    let request = format!(
        "GET /ui/follow?keys=tasks HTTP/1.1\r\nHost: cts.example\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let text = read_until(&mut socket, "x.1").await.to_ascii_lowercase();
    assert_contains(&text, ["content-type: text/event-stream"]);
    assert_contains(&text, ["cache-control: no-store"]);
    assert!(!text.contains("access-control"), "{text}");
    sessions.end_last();
    let mut rest = String::new();
    let ended = timeout(SOON, socket.read_to_string(&mut rest)).await;
    drop(ended.unwrap());
    let answer = with_cookie(&stage, "follow?keys=tasks", &cookie).await;
    assert_eq!(answer.status, 401, "{answer:?}");
}

#[tokio::test]
async fn a_log_comes_in_parts_and_as_a_file() {
    let stage = Stage::set(scene(false)).await;
    let api = format!("/v1/runs/{RUN}/log");
    let whole = stage.ask("GET", &format!("{api}?format=text")).await;
    let raw = get(&stage, &format!("runs/{RUN}/raw"), &[]).await;
    assert_eq!((raw.status, &raw.body), (200, &whole.body));
    let disposition = format!("attachment; filename=\"run-{RUN}.log\"");
    assert_eq!(
        raw.header("Content-Disposition"),
        Some(disposition.as_str())
    );
    assert_eq!(
        raw.header("Content-Type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(raw.header("Cache-Control"), Some("no-store"));
    for query in ["", "?tail=2&format=ndjson", "?line=1"] {
        let part = get(&stage, &format!("runs/{RUN}/log{query}"), &[]).await;
        let expected = stage.ask("GET", &format!("{api}{query}")).await;
        assert_eq!((part.status, part.body), (200, expected.body), "{query}");
    }
}

#[tokio::test]
async fn streams_before_the_login_are_refused() {
    let stage = stage(scene(true)).await;
    for path in [
        "follow?keys=tasks",
        &format!("runs/{RUN}/log"),
        &format!("runs/{RUN}/raw"),
        "?fragment=problems",
        "?fragment=problems&v=1",
    ] {
        let answer = get(&stage, path, &[]).await;
        assert_eq!(answer.status, 401, "{path}: {answer:?}");
        assert_eq!(answer.header("Location"), None);
    }
}
