//! Connections through a proxy.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use cts_testkit::{Link, ScriptedAnswer, ScriptedHttp, TcpProxy, eventually};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

const DEADLINE: Duration = Duration::from_secs(20);
/// Long enough to see that nothing comes.
const SILENCE: Duration = Duration::from_millis(200);

/// A server that sends back what it gets, after its own first byte.
async fn echo(own: u8) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut open = JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            open.spawn(async move {
                let _gone = stream.write_all(&[own]).await;
                let (mut from, mut to) = stream.split();
                let _gone = tokio::io::copy(&mut from, &mut to).await;
            });
        }
    });
    (address, tasks)
}

async fn byte(stream: &mut TcpStream) -> std::io::Result<u8> {
    timeout(DEADLINE, stream.read_u8()).await.unwrap()
}

async fn connected(proxy: &TcpProxy, own: u8) -> TcpStream {
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(byte(&mut stream).await.unwrap(), own);
    stream
}

#[tokio::test]
async fn an_open_link_passes_both_ways_and_ends_in_order() {
    let (server, _tasks) = echo(1).await;
    let proxy = TcpProxy::start(server).await;
    let mut stream = connected(&proxy, 1).await;
    stream.write_all(&[2, 3]).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, [2, 3]);
}

#[tokio::test]
async fn a_slow_link_passes_later() {
    let (server, _tasks) = echo(1).await;
    let proxy = TcpProxy::start(server).await;
    let mut stream = connected(&proxy, 1).await;
    proxy.set_link(Link::Slow(SILENCE));
    let begun = Instant::now();
    stream.write_all(&[2]).await.unwrap();
    assert_eq!(byte(&mut stream).await.unwrap(), 2);
    assert!(begun.elapsed() >= 2 * SILENCE);
}

#[tokio::test]
async fn a_cut_link_resets_open_and_new_connections_until_it_is_open_again() {
    let (server, _tasks) = echo(1).await;
    let proxy = TcpProxy::start(server).await;
    let mut stream = connected(&proxy, 1).await;
    proxy.set_link(Link::Cut);
    assert!(byte(&mut stream).await.is_err());
    if let Ok(mut stream) = TcpStream::connect(proxy.address()).await {
        assert!(byte(&mut stream).await.is_err());
    }
    proxy.set_link(Link::Open);
    connected(&proxy, 1).await;
}

#[tokio::test]
async fn a_half_open_link_is_silent_and_keeps_what_was_sent() {
    let (server, _tasks) = echo(1).await;
    let proxy = TcpProxy::start(server).await;
    let mut before = connected(&proxy, 1).await;
    proxy.set_link(Link::HalfOpen);
    before.write_all(&[2]).await.unwrap();
    let mut new = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(timeout(SILENCE, before.read_u8()).await.is_err());
    assert!(timeout(SILENCE, new.read_u8()).await.is_err());
    proxy.set_link(Link::Open);
    assert_eq!(byte(&mut before).await.unwrap(), 2);
    assert_eq!(byte(&mut new).await.unwrap(), 1);
}

#[tokio::test]
async fn a_one_way_link_passes_one_way() {
    let (server, _tasks) = echo(1).await;
    let proxy = TcpProxy::start(server).await;
    let mut stream = connected(&proxy, 1).await;
    for link in [Link::ToServer, Link::ToClient] {
        proxy.set_link(link);
        stream.write_all(&[7]).await.unwrap();
        assert!(
            timeout(SILENCE, stream.read_u8()).await.is_err(),
            "{link:?}"
        );
        proxy.set_link(Link::Open);
        assert_eq!(byte(&mut stream).await.unwrap(), 7, "{link:?}");
    }
}

#[tokio::test]
async fn another_server_takes_new_connections_and_those_to_the_first_are_reset() {
    let (first, _first_tasks) = echo(1).await;
    let (second, _second_tasks) = echo(2).await;
    let proxy = TcpProxy::start(first).await;
    let mut stream = connected(&proxy, 1).await;
    proxy.set_server(second);
    assert!(byte(&mut stream).await.is_err());
    connected(&proxy, 2).await;
}

#[tokio::test]
async fn requests_are_answered_instead_of_the_server_and_by_the_server_afterwards() {
    let server = ScriptedHttp::start([ScriptedAnswer::Json(200, json!({}))]).await;
    let proxy = TcpProxy::start(server.address()).await;
    let client = reqwest::Client::builder().no_proxy().timeout(DEADLINE);
    let client = client.build().unwrap();
    let url = format!("http://{}/v1/x", proxy.address());
    proxy.set_link(Link::Answer(429, "too many"));
    for _ in 0..2 {
        let answer = client.put(&url).body("a body").send().await.unwrap();
        assert_eq!(answer.status(), 429);
        assert_eq!(answer.text().await.unwrap(), "too many");
    }
    assert_eq!(server.requests().len(), 0);
    proxy.set_link(Link::Open);
    // A connection of before may be found closed once.
    let mut answer = client.get(&url).send().await;
    if answer.is_err() {
        answer = client.get(&url).send().await;
    }
    assert_eq!(answer.unwrap().status(), 200);
}

#[tokio::test]
async fn a_request_that_is_held_is_lost_and_others_pass() {
    let (server, _tasks) = echo(1).await;
    let proxy = TcpProxy::start(server).await;
    let mut other = connected(&proxy, 1).await;
    let mut held = connected(&proxy, 1).await;
    proxy.set_link(Link::Hold("PUT /a "));
    held.write_all(b"PUT /a HTTP/1.1").await.unwrap();
    other.write_all(b"PUT /b HTTP/1.1").await.unwrap();
    assert_eq!(byte(&mut other).await.unwrap(), b'P');
    eventually(DEADLINE, async || match proxy.held() {
        1 => Ok(()),
        count => Err(count),
    })
    .await;
    proxy.set_link(Link::Open);
    byte(&mut held).await.unwrap_err();
}
