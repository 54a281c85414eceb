//! Versions of answers, passed on from a scripted follow service.

use std::sync::{Arc, Mutex};

use cts_proto::cluster::v1::follow_service_server::FollowService;
use cts_proto::cluster::v1::{FollowRequest, FollowResponse, KeyVersion};
use cts_testkit::assert_contains;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use crate::runs::RUN;
use crate::stage::{SOON, Scene, Stage, read_until};

/// Names the version `x.1` of each key, and then the versions that a test sends.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryFollow {
    /// Whether the scheduler is of a version without the service.
    pub(crate) unserved: bool,
    pub(crate) followers: Arc<Mutex<Vec<Follower>>>,
}

/// The request of a follower, and the way to the follower.
pub(crate) type Follower = (FollowRequest, mpsc::Sender<Result<FollowResponse, Status>>);

#[tonic::async_trait]
impl FollowService for MemoryFollow {
    type FollowStream = ReceiverStream<Result<FollowResponse, Status>>;

    async fn follow(
        &self,
        request: Request<FollowRequest>,
    ) -> Result<Response<Self::FollowStream>, Status> {
        let request = request.into_inner();
        let (sender, receiver) = mpsc::channel(8);
        let present = request.keys.iter().map(|key| version(key, 1, &[]));
        sender.send(Ok(versions(present))).await.unwrap();
        self.followers.lock().unwrap().push((request, sender));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}

impl MemoryFollow {
    pub(crate) fn last(&self) -> Follower {
        self.followers.lock().unwrap().last().unwrap().clone()
    }
}

fn version(key: &str, number: u32, groups: &[u32]) -> KeyVersion {
    KeyVersion {
        key: key.to_owned(),
        version: format!("x.{number}"),
        groups: groups.to_vec(),
    }
}

fn versions(versions: impl IntoIterator<Item = KeyVersion>) -> FollowResponse {
    FollowResponse {
        versions: versions.into_iter().collect(),
    }
}

fn event(key: &str, number: u32, rest: &str) -> String {
    format!("event: version\ndata: {{\"key\":\"{key}\",\"version\":\"x.{number}\"{rest}}}\n\n")
}

/// A follower whose answer has begun, with the text of the answer.
pub(crate) async fn begin(stage: &Stage, keys: &str, headers: &str) -> (TcpStream, String) {
    let mut socket = stage.connect().await;
    let request =
        format!("GET /v1/follow?keys={keys} HTTP/1.1\r\nHost: cts.example\r\n{headers}\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let text = read_until(&mut socket, "\r\n\r\n").await;
    (socket, text)
}

#[tokio::test]
async fn versions_are_told_until_the_gateway_ends() {
    let follow = MemoryFollow::default();
    let stage = Stage::set(Scene {
        follow: follow.clone(),
        ..Scene::default()
    })
    .await;
    let keys = format!("overview,tasks,grid:3,task:dns,run:{RUN},approvals,workers,causes");
    let (mut socket, mut text) = begin(&stage, &keys, "").await;
    let last = event("workers", 1, "");
    if !text.contains(&last) {
        text += &read_until(&mut socket, &last).await;
    }
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert_contains(&text, ["Content-Type: text/event-stream\r\n"]);
    assert_contains(&text, ["X-Accel-Buffering: no\r\n", "retry: 1000\n"]);
    for key in keys.split(',') {
        assert_contains(&text, [&event(key, 1, "")]);
    }
    let (request, sender) = follow.last();
    assert_eq!(request.keys.join(","), keys);
    assert_eq!(request.visible_tasks, [""; 0]);
    let changes = [version("tasks", 2, &[0, 7]), version("overview", 3, &[])];
    sender.send(Ok(versions(changes))).await.unwrap();
    let text = read_until(&mut socket, &event("tasks", 2, ",\"groups\":[0,7]")).await;
    assert_contains(&text, [&event("overview", 3, "")]);
    stage.shutdown.cancel();
    read_until(&mut socket, "0\r\n\r\n").await;
}

#[tokio::test]
async fn versions_end_with_their_scheduler() {
    let follow = MemoryFollow::default();
    let stage = Stage::set(Scene {
        follow: follow.clone(),
        ..Scene::default()
    })
    .await;
    for end in [None, Some(Status::unavailable("the scheduler ends"))] {
        let (mut socket, _) = begin(&stage, "overview", "").await;
        let (_, sender) = follow.last();
        follow.followers.lock().unwrap().clear();
        if let Some(status) = end {
            sender.send(Err(status)).await.unwrap();
        }
        drop(sender);
        read_until(&mut socket, "0\r\n\r\n").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_cut_off() {
    const CHANGES: u32 = 4_000;
    let follow = MemoryFollow::default();
    let stage = Stage::set(Scene {
        follow: follow.clone(),
        ..Scene::default()
    })
    .await;
    let keys: Vec<_> = (0..64).map(|group| format!("grid:{group}")).collect();
    let (mut socket, _) = begin(&stage, &keys.join(","), "").await;
    let (_, sender) = follow.last();
    for number in 2..CHANGES {
        let changes = keys.iter().map(|key| version(key, number, &[]));
        let sending = sender.send(Ok(versions(changes)));
        // The gateway ends the call of a client that it cuts off.
        if timeout(SOON, sending).await.unwrap().is_err() {
            break;
        }
    }
    let mut text = Vec::new();
    let reading = async {
        while !text.ends_with(b"0\r\n\r\n") {
            assert_ne!(socket.read_buf(&mut text).await.unwrap(), 0, "closed");
        }
    };
    timeout(SOON, reading).await.unwrap();
    let last = event("grid:63", CHANGES - 1, "");
    assert!(!String::from_utf8_lossy(&text).contains(&last));
}

#[tokio::test]
async fn other_keys_are_refused_and_runs_must_exist() {
    let stage = Stage::set(Scene::default()).await;
    let many: Vec<_> = (0..65).map(|group| format!("grid:{group}")).collect();
    for (query, expected) in [
        (String::new(), 400),
        ("?keys=".to_owned(), 400),
        ("?keys=events".to_owned(), 400),
        ("?keys=task:a%20b".to_owned(), 400),
        (format!("?keys={}", many.join(",")), 400),
        (
            "?keys=overview,run:0197a000-0000-7000-8000-000000000009".to_owned(),
            404,
        ),
    ] {
        let answer = stage.ask("GET", &format!("/v1/follow{query}")).await;
        assert_eq!(answer.status, expected, "{query}: {answer:?}");
    }
}

#[tokio::test]
async fn a_scheduler_without_versions_is_told_so() {
    let stage = Stage::set(Scene {
        follow: MemoryFollow {
            unserved: true,
            ..MemoryFollow::default()
        },
        ..Scene::default()
    })
    .await;
    let answer = stage.ask("GET", "/v1/follow?keys=overview").await;
    assert_eq!(answer.status, 501, "{answer:?}");
    let text = "the scheduler is of an earlier version, which does not have versions to follow";
    assert_contains(&answer.body, [text]);
}
