//! Clients that are let in over TLS, and errors of files that cannot be used.

use cts_core::Chain;
use cts_rpc::{ClientTls, ClientTlsFiles, ServerTls, TlsError, TlsFiles, connect, connect_tls};
use cts_testkit::{Authority, KeyKind, KeyPairFiles, Openssl};
use tokio::net::TcpStream;

use crate::folder::Folder;
use crate::rig::{Followed, Server, who};

async fn serve(files: &TlsFiles) -> Server {
    Server::with_tls("guarded", ServerTls::load(files).await.unwrap())
}

async fn ask(server: &Server, files: ClientTlsFiles) -> Result<String, tonic::transport::Error> {
    let tls = ClientTls::load(files).await.unwrap();
    let address = server.address.to_string().parse().unwrap();
    who(connect_tls(&address, &tls)).await
}

#[tokio::test]
async fn peers_of_one_authority_talk() {
    let authority = Authority::new();
    let folder = Folder::new(&authority, &authority);
    let server = serve(&folder.files()).await;
    assert_eq!(ask(&server, folder.client()).await.unwrap(), "guarded");

    let tls = ClientTls::load((&folder.files()).into()).await.unwrap();
    let address = format!("https://{}", server.address);
    let mut followed = Followed::new(&[address], Some(&tls));
    followed.until_healthy(&[server.address]).await;
    followed.hears_only("guarded").await;
}

#[tokio::test]
async fn strangers_are_refused() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let folder = Folder::new(&ours, &ours);
    let server = serve(&folder.files()).await;

    let distrusting = Folder::new(&theirs, &ours);
    ask(&server, distrusting.client()).await.unwrap_err();
    let impostor = Folder::new(&ours, &theirs);
    ask(&server, impostor.client()).await.unwrap_err();
    let nobody = ClientTlsFiles {
        identity: None,
        ..folder.client()
    };
    ask(&server, nobody).await.unwrap_err();
    let plain = connect(&server.address.to_string()).unwrap();
    who(plain).await.unwrap_err();

    assert_eq!(ask(&server, folder.client()).await.unwrap(), "guarded");
}

#[tokio::test]
async fn services_may_share_a_certificate_that_is_its_own_authority() {
    let openssl = Openssl::new();
    let pair = openssl.self_signed("all", KeyKind::Rsa, &["subjectAltName=IP:127.0.0.1"]);
    let files = |pair: &KeyPairFiles| TlsFiles {
        ca_cert: pair.cert.clone(),
        cert: pair.cert.clone(),
        key: pair.key.clone(),
        server_name: None,
        verify_incoming: true,
    };
    let server = serve(&files(&pair)).await;
    let client = |pair| (&files(pair)).into();
    assert_eq!(ask(&server, client(&pair)).await.unwrap(), "guarded");
    let stranger = openssl.self_signed("stranger", KeyKind::Rsa, &["subjectAltName=IP:127.0.0.1"]);
    ask(&server, client(&stranger)).await.unwrap_err();
    let impostor = ClientTlsFiles {
        ca_cert: pair.cert.clone(),
        ..client(&stranger)
    };
    ask(&server, impostor).await.unwrap_err();
}

#[tokio::test]
async fn clients_may_come_without_a_certificate_if_so_configured() {
    let authority = Authority::new();
    let folder = Folder::new(&authority, &authority);
    let open = TlsFiles {
        verify_incoming: false,
        ..folder.files()
    };
    let server = serve(&open).await;
    let nobody = ClientTlsFiles {
        identity: None,
        ..folder.client()
    };
    assert_eq!(ask(&server, nobody).await.unwrap(), "guarded");
}

#[tokio::test]
async fn the_name_in_the_certificate_must_be_the_expected_one() {
    let authority = Authority::new();
    let folder = Folder::new(&authority, &authority);
    folder.fill(&authority, &authority, &["cts.internal"]);
    let server = serve(&folder.files()).await;
    ask(&server, folder.client()).await.unwrap_err();
    let named = |name: &str| ClientTlsFiles {
        server_name: Some(name.to_owned()),
        ..folder.client()
    };
    ask(&server, named("other.internal")).await.unwrap_err();
    assert_eq!(
        ask(&server, named("cts.internal")).await.unwrap(),
        "guarded"
    );
}

#[tokio::test]
async fn a_client_that_says_nothing_delays_no_other() {
    let authority = Authority::new();
    let folder = Folder::new(&authority, &authority);
    let server = serve(&folder.files()).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    assert_eq!(ask(&server, folder.client()).await.unwrap(), "guarded");
}

#[tokio::test]
async fn unusable_files_are_named() {
    let authority = Authority::new();
    let folder = Folder::new(&authority, &authority);
    let load = async || {
        let server = ServerTls::load(&folder.files()).await.unwrap_err();
        let client = ClientTls::load(folder.client()).await.unwrap_err();
        let text = Chain(&server).to_string();
        assert_eq!(text, Chain(&client).to_string());
        (server, text)
    };

    folder.write("key.pem", &authority.issue(&["other"]).1);
    let (error, text) = load().await;
    assert!(matches!(error, TlsError::Mismatch { .. }), "{text}");
    assert!(
        text.contains("key.pem") && text.contains("cert.pem"),
        "{text}"
    );

    folder.write("key.pem", "-----BEGIN CERTIFICATE-----\n");
    let (error, text) = load().await;
    assert!(matches!(error, TlsError::Pem { .. }), "{text}");
    assert!(text.contains("key.pem"), "{text}");

    folder.write("cert.pem", "no certificate");
    let (error, text) = load().await;
    assert!(matches!(error, TlsError::Absent { .. }), "{text}");
    assert!(text.contains("cert.pem"), "{text}");

    std::fs::remove_file(folder.path("ca.pem")).unwrap();
    let (error, text) = load().await;
    assert!(matches!(error, TlsError::Read { .. }), "{text}");
    assert!(text.contains("ca.pem"), "{text}");

    let misnamed = ClientTlsFiles {
        server_name: Some("not a name".into()),
        ..folder.client()
    };
    let error = ClientTls::load(misnamed).await.unwrap_err();
    assert!(matches!(error, TlsError::ServerName(_)));
}
