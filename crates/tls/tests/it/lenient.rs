//! Listeners that clients may use without a certificate.

use std::sync::Arc;

use cts_testkit::{Authority, KeyPairFiles};
use cts_tls::{Authorities, ClientFiles, IdentityFiles, ServerFiles, ServerTls};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Whether the server saw a certificate of the client; `None` if it refused the client.
async fn certified(server: &ServerTls, lenient: bool, client: &ClientFiles) -> Option<bool> {
    let config = if lenient {
        server.lenient(&["http/1.1"])
    } else {
        server.current()
    };
    let (near, far) = tokio::io::duplex(64 * 1024);
    let connector = TlsConnector::from(Arc::new(client.read_now(&[]).unwrap()));
    let serve = async {
        let mut stream = TlsAcceptor::from(config).accept(far).await.ok()?;
        stream.write_u8(7).await.ok()?;
        Some(stream.get_ref().1.peer_certificates().is_some())
    };
    let ask = async {
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = connector.connect(name, near).await.ok()?;
        stream.read_u8().await.ok()
    };
    tokio::join!(serve, ask).0
}

#[tokio::test]
async fn a_lenient_listener_demands_no_certificate_and_believes_no_foreign_one() {
    let (authority, foreign) = (Authority::new(), Authority::new());
    let folder = tempfile::tempdir().unwrap();
    let pair = |authority: &Authority, stem| {
        let KeyPairFiles { cert, key } = authority.write_pair(folder.path(), stem, &["localhost"]);
        IdentityFiles { cert, key }
    };
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();
    let server = ServerTls::load(ServerFiles {
        identity: pair(&authority, "server"),
        clients: Some(Authorities::File(ca.clone())),
        protocols: Vec::new(),
    });
    let server = server.await.unwrap();
    let (own, foreign) = (pair(&authority, "own"), pair(&foreign, "foreign"));
    for (identity, lenient, expected) in [
        (None, true, Some(false)),
        (None, false, None),
        (Some(&own), true, Some(true)),
        (Some(&own), false, Some(true)),
        (Some(&foreign), true, None),
        (Some(&foreign), false, None),
    ] {
        let client = ClientFiles {
            authorities: Some(Authorities::File(ca.clone())),
            identity: identity.cloned(),
            verify: true,
        };
        let found = certified(&server, lenient, &client).await;
        assert_eq!(found, expected, "{identity:?} {lenient}");
    }
}
