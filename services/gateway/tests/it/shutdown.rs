//! The end of the gateway (docs/rest.md#transport).

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::stage::Stage;
use crate::tasks::{MemoryTasks, three_tasks};

const SOON: Duration = Duration::from_secs(10);

const HEALTH: &[u8] = b"GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n";
const TASKS: &[u8] = b"GET /v1/tasks HTTP/1.1\r\nHost: a\r\n\r\n";

/// A stage, the gate of its task service, and a connection whose request waits there.
async fn with_request_in_progress() -> (Stage, Arc<Semaphore>, TcpStream) {
    let gate = Arc::new(Semaphore::new(0));
    let tasks = MemoryTasks {
        gate: Arc::clone(&gate),
        ..three_tasks()
    };
    let arrivals = Arc::clone(&tasks.arrivals);
    let stage = Stage::start(tasks).await;
    let mut socket = TcpStream::connect(stage.address).await.unwrap();
    socket.write_all(TASKS).await.unwrap();
    arrivals.acquire().await.unwrap().forget();
    (stage, gate, socket)
}

/// A connection that has had an answer and is kept open.
async fn idle_connection(stage: &Stage) -> TcpStream {
    let mut socket = TcpStream::connect(stage.address).await.unwrap();
    socket.write_all(HEALTH).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"{}\n") {
        assert_ne!(socket.read_buf(&mut answer).await.unwrap(), 0);
    }
    socket
}

async fn refused(stage: &Stage) {
    let gone = async { while TcpStream::connect(stage.address).await.is_ok() {} };
    timeout(SOON, gone).await.unwrap();
}

#[tokio::test]
async fn requests_in_progress_are_finished() {
    let (mut stage, gate, mut socket) = with_request_in_progress().await;
    let mut idle = idle_connection(&stage).await;
    stage.shutdown.cancel();
    refused(&stage).await;
    gate.add_permits(1);
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("]}\n"), "{answer}");
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"");
    let ended = timeout(SOON, stage.gateway.join_next()).await.unwrap();
    ended.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn requests_beyond_the_shutdown_limit_lose_their_connection() {
    let (mut stage, _gate, mut socket) = with_request_in_progress().await;
    stage.shutdown.cancel();
    refused(&stage).await;
    tokio::time::pause();
    let start = Instant::now();
    stage.gateway.join_next().await.unwrap().unwrap().unwrap();
    let took = start.elapsed();
    // The pause of the clock is a little later than the start of the limit.
    assert!(took < Duration::from_millis(5_100), "{took:?}");
    assert!(took > Duration::from_secs(4), "{took:?}");
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"");
}
