//! Tokens on their way from the schedulers (docs/access.md#roles).

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;
use tonic::Status;

use super::{ADMIN, READ, ask, scene, stage, tokens};
use crate::access_service::{MemoryAccess, token};
use crate::stage::{FrozenTime, SOON, Scene, Stage, read_until};

#[tokio::test]
async fn before_the_tokens_are_known_only_health_is_answered() {
    let access = MemoryAccess::with(tokens());
    access.send(Err(Status::unavailable("not yet")));
    let stage = Stage::set(Scene {
        access: access.clone(),
        ..scene()
    })
    .await;
    assert_eq!(ask(&stage, "GET", "/v1/health", None).await.status, 200);
    let early = ask(&stage, "GET", "/v1/tasks", Some(READ)).await;
    assert_eq!(early.status, 503, "{early:?}");
    assert!(early.body.contains("the tokens are not known yet"));
    assert_eq!(early.header("Retry-After"), Some("5"));
    access.send(Ok(tokens().into()));
    let known = async { while ask(&stage, "GET", "/v1/tasks", Some(READ)).await.status == 503 {} };
    timeout(SOON, known).await.unwrap();
    assert_eq!(
        ask(&stage, "GET", "/v1/tasks", Some(READ)).await.status,
        200
    );
}

#[tokio::test]
async fn tokens_come_and_go_and_stay_while_no_scheduler_sends_them() {
    let scene = scene();
    let access = scene.access.clone();
    let stage = stage(scene).await;
    let status = async |token| ask(&stage, "GET", "/v1/tasks", Some(token)).await.status;
    assert_eq!((status(READ).await, status("cts_new").await), (200, 401));
    access.send(Err(Status::unavailable("the scheduler ends")));
    // The second call comes after the loss of the stream.
    let followed_again = access.wait_for_follows(2);
    timeout(SOON, followed_again).await.unwrap();
    assert_eq!((status(READ).await, status("cts_new").await), (200, 401));
    access.send(Ok(vec![token("cts_new", "read")]));
    let changed = async { while status("cts_new").await != 200 {} };
    timeout(SOON, changed).await.unwrap();
    assert_eq!(status(READ).await, 401);
}

#[tokio::test]
async fn followed_events_end_with_their_token() {
    let scene = scene();
    let access = scene.access.clone();
    let stage = stage(scene).await;
    let mut followers = Vec::new();
    for (path, token) in [
        ("/v1/events", READ),
        ("/v1/follow?keys=tasks", READ),
        ("/v1/events", ADMIN),
    ] {
        let mut socket = stage.connect().await;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: cts.example\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        read_until(&mut socket, "retry: 1000\n").await;
        followers.push(socket);
    }
    access.send(Ok(vec![token(ADMIN, "admin")]));
    let revoked =
        async { while ask(&stage, "GET", "/v1/tasks", Some(READ)).await.status == 200 {} };
    timeout(SOON, revoked).await.unwrap();
    let time = FrozenTime::start();
    time.advance(Duration::from_secs(10)).await;
    // The last chunk.
    for follower in &mut followers[..2] {
        read_until(follower, "0\r\n\r\n").await;
    }
    time.advance(Duration::from_secs(6)).await;
    read_until(&mut followers[2], ":\n\n").await;
}
