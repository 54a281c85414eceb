//! Certificates change while servers and clients run.

use cts_rpc::{ClientTls, ServerTls, TlsError, connect_tls};
use cts_testkit::Authority;
use tokio::time::timeout;

use crate::folder::Folder;
use crate::rig::{Followed, LIMIT, Server, shown, who};

#[tokio::test]
async fn new_connections_get_the_new_certificate_and_old_ones_live_on() {
    let (before, after) = (Authority::new(), Authority::new());
    let folder = Folder::new(&before, &before);
    let tls = ServerTls::load(&folder.files()).await.unwrap();
    let server = Server::with_tls("renewed", tls.clone());
    let address = server.address.to_string().parse().unwrap();
    let old_client = ClientTls::load(Folder::new(&before, &before).client())
        .await
        .unwrap();
    let new_client = ClientTls::load(Folder::new(&after, &after).client())
        .await
        .unwrap();
    let old_connection = connect_tls(&address, &old_client);
    assert_eq!(who(old_connection.clone()).await.unwrap(), "renewed");

    assert!(!tls.reload().await.unwrap());
    folder.fill(&after, &after, &["127.0.0.1"]);
    assert!(tls.reload().await.unwrap());

    assert_eq!(who(old_connection).await.unwrap(), "renewed");
    let old_style = connect_tls(&address, &old_client);
    who(old_style).await.unwrap_err();
    let new_style = connect_tls(&address, &new_client);
    assert_eq!(who(new_style).await.unwrap(), "renewed");
}

#[tokio::test]
async fn a_broken_new_file_keeps_the_old_state() {
    let authority = Authority::new();
    let folder = Folder::new(&authority, &authority);
    let server_tls = ServerTls::load(&folder.files()).await.unwrap();
    let client_tls = ClientTls::load(folder.client()).await.unwrap();
    let server = Server::with_tls("steady", server_tls.clone());
    let address = server.address.to_string().parse().unwrap();

    folder.write("key.pem", &authority.issue(&["127.0.0.1"]).1);
    let error = server_tls.reload().await.unwrap_err();
    assert!(matches!(error, TlsError::Mismatch { .. }), "{error}");
    let error = client_tls.reload().await.unwrap_err();
    assert!(matches!(error, TlsError::Mismatch { .. }), "{error}");

    let channel = connect_tls(&address, &client_tls);
    assert_eq!(who(channel).await.unwrap(), "steady");

    folder.fill(&authority, &authority, &["127.0.0.1"]);
    assert!(server_tls.reload().await.unwrap());
    assert!(client_tls.reload().await.unwrap());
    let channel = connect_tls(&address, &client_tls);
    assert_eq!(who(channel).await.unwrap(), "steady");
}

#[tokio::test]
async fn followed_peers_take_up_new_keys() {
    let (before, after) = (Authority::new(), Authority::new());
    let (server_side, client_side) = (Folder::new(&before, &before), Folder::new(&before, &before));
    let server_tls = ServerTls::load(&server_side.files()).await.unwrap();
    let client_tls = ClientTls::load(client_side.client()).await.unwrap();
    let server = Server::with_tls("before", server_tls);
    let address = server.address;
    let mut followed = Followed::new(&[address.to_string()], Some(&client_tls));
    let peers = followed.until_healthy(&[address]).await;
    followed.hears_only("before").await;
    let outdated = peers[0].channel();

    drop(server);
    followed.until_healthy(&[]).await;
    server_side.fill(&after, &after, &["127.0.0.1"]);
    let server_tls = ServerTls::load(&server_side.files()).await.unwrap();
    let listener = std::net::TcpListener::bind(address).unwrap();
    let _server = Server::on(listener, "after", Some(server_tls));
    who(outdated).await.unwrap_err();

    client_side.fill(&after, &after, &["127.0.0.1"]);
    assert!(client_tls.reload().await.unwrap());
    followed.until_healthy(&[address]).await;
    followed.hears_only("after").await;
    assert_eq!(who(peers[0].channel()).await.unwrap(), "after");
}

#[tokio::test]
async fn healthy_peers_are_connected_to_anew_with_new_keys() {
    let authority = Authority::new();
    let folder = Folder::new(&authority, &authority);
    let server_tls = ServerTls::load(&folder.files()).await.unwrap();
    let client_tls = ClientTls::load(folder.client()).await.unwrap();
    let server = Server::with_tls("renewed", server_tls);
    let mut followed = Followed::new(&[server.address.to_string()], Some(&client_tls));
    let peers = followed.until_healthy(&[server.address]).await;
    let before = shown(peers[0].channel()).await.unwrap();
    assert_eq!(shown(followed.peers.channel()).await.unwrap(), before);

    folder.fill(&authority, &authority, &["127.0.0.1"]);
    assert!(client_tls.reload().await.unwrap());
    let another = async {
        while shown(followed.peers.channel()).await.unwrap() == before {}
        while shown(peers[0].channel()).await.unwrap() == before {}
    };
    timeout(LIMIT, another).await.unwrap();
}
