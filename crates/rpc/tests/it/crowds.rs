//! More connections than a server has places for (docs/configuration.md#limits).

use cts_listen::ClientLimit;
use cts_rpc::{ClientTls, ServerTls, connect, connect_tls};
use cts_testkit::{Authority, eventually};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::folder::Folder;
use crate::rig::{LIMIT, Server, bind, who};

const SIZE: ClientLimit = ClientLimit {
    total: 64,
    per_client: 64,
};

/// Less than a handshake that stands still has.
const SOON: std::time::Duration = std::time::Duration::from_secs(5);

#[tokio::test]
async fn handshakes_that_stand_still_keep_nobody_out() {
    let authority = Authority::new();
    let folder = Folder::new(&authority, &authority);
    let tls = ServerTls::load(&folder.files()).await.unwrap();
    let server = Server::of_size(SIZE, bind(), "guarded", Some(tls));
    let mut idle = Vec::new();
    for _ in 0..200 {
        idle.push(TcpStream::connect(server.address).await.unwrap());
    }
    let tls = ClientTls::load(folder.client()).await.unwrap();
    let address = server.address.to_string().parse().unwrap();
    let asked = timeout(SOON, who(connect_tls(&address, &tls)));
    let answer = asked.await.expect("an answer beside idle connections");
    assert_eq!(answer.unwrap(), "guarded");
}

#[tokio::test]
async fn places_of_clients_that_have_gone_are_free() {
    let server = Server::of_size(SIZE, bind(), "busy", None);
    let mut held = Vec::new();
    for _ in 0..SIZE.total {
        let channel = connect(&server.address.to_string()).unwrap();
        assert_eq!(who(channel.clone()).await.unwrap(), "busy");
        held.push(channel);
    }
    let refused = connect(&server.address.to_string()).unwrap();
    who(refused).await.unwrap_err();
    held.pop();
    let address = server.address.to_string();
    eventually(LIMIT, async || who(connect(&address).unwrap()).await).await;
}
