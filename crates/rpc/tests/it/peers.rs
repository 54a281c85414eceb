//! Peers are found, watched and balanced over.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cts_rpc::{Address, PeerCondition, Peers, PeersError, memory_transport};
use cts_runtime::SystemClock;
use cts_testkit::eventually;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::rig::{Followed, LIMIT, Server, bind, who};

/// Passes connections on, and counts those whose client has sent something. Dropping breaks them.
struct Door {
    address: SocketAddr,
    begun: watch::Receiver<usize>,
    _connections: JoinSet<()>,
}

impl Door {
    fn open(listener: std::net::TcpListener, server: SocketAddr) -> Self {
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let listener = TcpListener::from_std(listener).unwrap();
        let (count, begun) = watch::channel(0);
        let mut connections = JoinSet::new();
        connections.spawn(async move {
            let mut passed = JoinSet::new();
            loop {
                let (mut client, _address) = listener.accept().await.unwrap();
                let count = count.clone();
                passed.spawn(async move {
                    client.readable().await.unwrap();
                    count.send_modify(|begun| *begun += 1);
                    let mut server = TcpStream::connect(server).await.unwrap();
                    drop(copy_bidirectional(&mut client, &mut server).await);
                });
            }
        });
        Self {
            address,
            begun,
            _connections: connections,
        }
    }
}

fn spelled(servers: &[&Server]) -> Vec<String> {
    servers
        .iter()
        .map(|server| server.address.to_string())
        .collect()
}

#[tokio::test]
async fn calls_go_to_all_healthy_peers() {
    let (first, second) = (Server::start("first"), Server::start("second"));
    let mut followed = Followed::plain(&spelled(&[&first, &second]));
    let peers = followed
        .until_healthy(&[first.address, second.address])
        .await;
    followed.until_heard(&["first", "second"]).await;
    for peer in &*peers {
        let name = if peer.address() == Some(first.address) {
            "first"
        } else {
            "second"
        };
        assert_eq!(who(peer.channel()).await.unwrap(), name);
        assert_eq!(peer.id(), peer.address().unwrap().to_string());
    }
}

#[tokio::test]
async fn a_dead_peer_is_left_out_and_used_again_when_it_is_back() {
    let (first, second) = (Server::start("first"), Server::start("second"));
    let both = [first.address, second.address];
    let mut followed = Followed::plain(&spelled(&[&first, &second]));
    followed.until_healthy(&both).await;
    followed.until_heard(&["first", "second"]).await;

    let address = first.address;
    drop(first);
    followed.until_healthy(&[second.address]).await;
    let conditions = followed.peers.conditions();
    let of_first = |condition: &&PeerCondition| condition.socket == address.to_string();
    let lost = conditions.iter().find(of_first).unwrap();
    assert!(!lost.healthy, "{conditions:?}");
    assert!(lost.since.is_some() && !lost.reason.is_empty(), "{lost:?}");
    assert_eq!(conditions.iter().filter(|peer| peer.healthy).count(), 1);
    followed.hears_only("second").await;

    let listener = std::net::TcpListener::bind(address).unwrap();
    let _first = Server::on(listener, "returned", None);
    followed.until_healthy(&both).await;
    followed.until_heard(&["returned", "second"]).await;
}

#[tokio::test]
async fn a_dead_peer_is_noticed_without_waiting_for_the_next_check() {
    let server = Server::start("only");
    let addresses = vec![server.address.to_string().parse().unwrap()];
    let (peers, driver) = Peers::new("test", addresses, None, Arc::new(SystemClock)).unwrap();
    let driver = driver.with_times(cts_rpc::ProbeTimes {
        every: 100 * LIMIT,
        ..cts_rpc::ProbeTimes::default()
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(driver.run(std::future::pending()));
    let mut healthy = peers.healthy();
    timeout(LIMIT, healthy.wait_for(|peers| peers.len() == 1))
        .await
        .unwrap()
        .unwrap();
    drop(server);
    timeout(LIMIT, healthy.wait_for(|peers| peers.is_empty()))
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_peer_that_does_not_serve_is_left_out() {
    let (first, second) = (Server::start("first"), Server::start("second"));
    let both = [first.address, second.address];
    let mut followed = Followed::plain(&spelled(&[&first, &second]));
    followed.until_healthy(&both).await;

    first.health.set_serving(false);
    followed.until_healthy(&[second.address]).await;
    followed.hears_only("second").await;

    first.health.set_serving(true);
    followed.until_healthy(&both).await;
    followed.until_heard(&["first", "second"]).await;
}

/// A connection that is begun and left is one of a stranger to its server, which warns.
#[tokio::test]
async fn connections_to_a_peer_that_is_back_are_begun_whole() {
    let (first, second) = (Server::start("first"), Server::start("second"));
    let door = Door::open(bind(), second.address);
    let both = [first.address, door.address];
    let addresses = both.map(|address| address.to_string());
    let mut followed = Followed::plain(&addresses);
    followed.until_healthy(&both).await;
    followed.until_heard(&["first", "second"]).await;
    drop(door);
    followed.until_healthy(&[first.address]).await;
    followed.hears_only("first").await;

    let door = Door::open(
        std::net::TcpListener::bind(both[1]).unwrap(),
        second.address,
    );
    followed.until_healthy(&both).await;
    // The channel begins a connection, and has an answer without it.
    followed.who().await.unwrap();
    // The connection of the checks is the other one.
    let mut begun = door.begun.clone();
    let both_begun = begun.wait_for(|begun| *begun == 2);
    timeout(LIMIT, both_begun).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_peer_that_answers_knows_why_none_serves() {
    let (first, second) = (Server::start("first"), Server::start("second"));
    let both = [first.address, second.address];
    let mut followed = Followed::plain(&spelled(&[&first, &second]));
    followed.until_healthy(&both).await;
    first.health.set_serving(false);
    followed.until_healthy(&[second.address]).await;
    assert!(followed.peers.unfit().is_none());
    drop(second);
    followed.until_healthy(&[]).await;
    let unfit = eventually(LIMIT, async || followed.peers.unfit().ok_or("none"));
    assert_eq!(who(unfit.await.channel()).await.unwrap(), "first");
    drop(first);
    eventually(LIMIT, async || match followed.peers.unfit() {
        None => Ok(()),
        Some(peer) => Err(format!("{peer:?}")),
    })
    .await;
}

#[tokio::test]
async fn calls_wait_for_a_healthy_peer() {
    let listener = bind();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let followed = Followed::plain(&[address.to_string()]);
    let mut call = std::pin::pin!(followed.who());
    assert!(
        timeout(Duration::from_millis(300), &mut call)
            .await
            .is_err()
    );
    let _server = Server::on(std::net::TcpListener::bind(address).unwrap(), "late", None);
    assert_eq!(call.await.unwrap(), "late");
}

#[tokio::test]
async fn a_name_stands_for_its_addresses_and_two_spellings_for_one_peer() {
    let server = Server::start("local");
    let port = server.address.port();
    let addresses = [
        format!("localhost:{port}"),
        format!("http://127.0.0.1:{port}"),
    ];
    let mut followed = Followed::plain(&addresses);
    followed.until_healthy(&[server.address]).await;
    followed.hears_only("local").await;
}

#[tokio::test]
async fn a_name_that_is_not_found_leaves_the_others_in_peace() {
    let server = Server::start("found");
    let addresses = [
        "nowhere.invalid:8560".to_owned(),
        server.address.to_string(),
    ];
    let mut followed = Followed::plain(&addresses);
    followed.until_healthy(&[server.address]).await;
    followed.hears_only("found").await;
}

#[tokio::test]
async fn a_server_that_never_answers_is_left_out() {
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listener = bind();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let addresses = [mute.local_addr().unwrap(), address].map(|address| address.to_string());
    let mut followed = Followed::plain(&addresses);
    let _connection = timeout(LIMIT, mute.accept()).await.unwrap().unwrap();

    let _server = Server::on(
        std::net::TcpListener::bind(address).unwrap(),
        "answers",
        None,
    );
    followed.until_healthy(&[address]).await;
    followed.hears_only("answers").await;
}

#[tokio::test]
async fn a_frozen_server_is_noticed_and_used_again() {
    let server = Server::start("slow");
    let mut followed = Followed::plain(&spelled(&[&server]));
    let peers = followed.until_healthy(&[server.address]).await;
    followed.hears_only("slow").await;

    let thaw = server.freeze();
    let begun = tokio::time::Instant::now();
    let calls = futures::future::join(followed.who(), who(peers[0].channel()));
    let (balanced, single) = timeout(LIMIT, calls).await.unwrap();
    assert!(balanced.is_err() && single.is_err());
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "{:?}",
        begun.elapsed()
    );
    followed.until_healthy(&[]).await;

    drop(thaw);
    followed.until_healthy(&[server.address]).await;
    followed.hears_only("slow").await;
    assert_eq!(who(peers[0].channel()).await.unwrap(), "slow");
}

#[tokio::test]
async fn a_fixed_peer_is_always_healthy() {
    let (listener, channel) = memory_transport();
    drop(listener);
    let peers = Peers::fixed(channel);
    let healthy = peers.healthy();
    assert_eq!(healthy.borrow().len(), 1);
    assert_eq!(healthy.borrow()[0].address(), None);
    assert!(healthy.has_changed().is_ok());
}

#[tokio::test]
async fn addresses_that_cannot_be_followed_are_refused() {
    assert_eq!(
        Peers::new("watcher", Vec::new(), None, Arc::new(SystemClock)).unwrap_err(),
        PeersError::NoAddress { service: "watcher" }
    );
    let secure: Address = "https://watcher:8561".parse().unwrap();
    assert_eq!(
        Peers::new("watcher", vec![secure], None, Arc::new(SystemClock)).unwrap_err(),
        PeersError::TlsMissing {
            address: "watcher:8561".into()
        }
    );
}
