//! Certificates as made with `openssl`: which of them are accepted, and the errors for the others.

use std::path::Path;
use std::sync::Arc;

use cts_testkit::{KeyKind, KeyPairFiles, Openssl};
use cts_tls::{Authorities, ClientFiles, IdentityFiles, ServerFiles, ServerTls};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::{TlsAcceptor, TlsConnector};

const DNS: &str = "subjectAltName=DNS:localhost";
const BOTH: &str = "subjectAltName=DNS:localhost,IP:127.0.0.1";

fn identity(pair: &KeyPairFiles) -> IdentityFiles {
    IdentityFiles {
        cert: pair.cert.clone(),
        key: pair.key.clone(),
    }
}

fn trusting(path: &Path) -> ClientFiles {
    ClientFiles {
        authorities: Some(Authorities::File(path.to_owned())),
        ..ClientFiles::default()
    }
}

/// A byte each way, so that both sides have accepted the other. Fails with the words of the side that refused.
async fn exchange(server: &ServerTls, client: &ClientFiles, name: &str) -> Result<(), String> {
    let config = client.read_now(&[]).unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let acceptor = TlsAcceptor::from(server.current());
    let (near, far) = tokio::io::duplex(64 * 1024);
    let serve = async {
        let mut stream = acceptor.accept(far).await?;
        let byte = stream.read_u8().await?;
        stream.write_u8(byte).await?;
        stream.shutdown().await
    };
    let ask = async {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut stream = connector.connect(name, near).await?;
        stream.write_u8(7).await?;
        assert_eq!(stream.read_u8().await?, 7);
        Ok::<_, std::io::Error>(())
    };
    let (served, asked) = tokio::join!(serve, ask);
    // An alert only repeats the error that the other side reports in full.
    let refusal = [served.err(), asked.err()].into_iter().flatten();
    let mut refusals: Vec<String> = refusal.map(|error| error.to_string()).collect();
    refusals.sort_by_key(|text| text.contains("received fatal alert"));
    refusals.into_iter().next().map_or(Ok(()), Err)
}

/// A server that shows `shown` to a client that trusts `trusted`.
async fn met(shown: &KeyPairFiles, trusted: &Path, name: &str) -> Result<(), String> {
    let files = ServerFiles {
        identity: identity(shown),
        clients: None,
        protocols: Vec::new(),
    };
    let server = ServerTls::load(files).await.unwrap();
    exchange(&server, &trusting(trusted), name).await
}

fn assert_says(result: Result<(), String>, expected: &str) {
    let refusal = result.unwrap_err();
    assert!(refusal.contains(expected), "{refusal}");
}

#[tokio::test]
async fn a_self_signed_certificate_is_accepted_by_who_trusts_it() {
    let openssl = Openssl::new();
    let forms: [&[&str]; 5] = [
        &[BOTH],
        &[BOTH, "keyUsage=keyCertSign,cRLSign"],
        &[BOTH, "keyUsage=digitalSignature,keyEncipherment"],
        &[BOTH, "extendedKeyUsage=serverAuth"],
        &[BOTH, "basicConstraints=critical,CA:FALSE"],
    ];
    for kind in [KeyKind::Rsa, KeyKind::Ec] {
        for form in forms {
            let pair = openssl.self_signed("own", kind, form);
            for name in ["localhost", "127.0.0.1"] {
                let result = met(&pair, &pair.cert, name).await;
                assert_eq!(result, Ok(()), "{kind:?} {form:?} {name}");
            }
            for name in ["other.example", "127.0.0.2"] {
                let refusal = met(&pair, &pair.cert, name).await.unwrap_err();
                assert!(refusal.contains("not valid for name"), "{form:?} {refusal}");
            }
        }
    }
}

#[tokio::test]
async fn another_certificate_of_the_same_name_and_key_is_not_that_one() {
    let openssl = Openssl::new();
    let pair = openssl.self_signed("own", KeyKind::Rsa, &[DNS]);
    let trusted = openssl.path().join("trusted.pem");
    std::fs::rename(&pair.cert, &trusted).unwrap();
    let same_name = openssl.self_signed("own", KeyKind::Rsa, &[DNS]);
    let refused = met(&same_name, &trusted, "localhost").await;
    assert_says(refused, "is itself among the trusted certificates");
}

#[tokio::test]
async fn an_authority_is_no_server_for_who_does_not_trust_it() {
    let openssl = Openssl::new();
    let root = openssl.self_signed("root", KeyKind::Rsa, &[]);
    let below = openssl.signed_by(&root, "below", &[DNS, "basicConstraints=CA:TRUE"]);
    let refused = met(&below, &root.cert, "localhost").await;
    assert_says(
        refused,
        "is itself among the trusted certificates, as in `ca_cert`",
    );
    assert_eq!(met(&below, &below.cert, "localhost").await, Ok(()));
}

#[tokio::test]
async fn a_name_in_the_subject_alone_is_none() {
    let openssl = Openssl::new();
    let pair = openssl.self_signed("localhost", KeyKind::Rsa, &[]);
    let refused = met(&pair, &pair.cert, "localhost").await;
    assert_says(refused, "not valid for name");
}

#[tokio::test]
async fn refuses_expired_certificates_even_if_they_are_trusted() {
    let openssl = Openssl::new();
    for kind in ["CA:TRUE", "CA:FALSE"] {
        let constraint = format!("basicConstraints={kind}");
        let pair = openssl.expired("past", &[DNS, &constraint]);
        assert_says(met(&pair, &pair.cert, "localhost").await, "expired");
    }
}

#[tokio::test]
async fn a_chain_leads_to_its_root_and_a_leaf_may_be_trusted_alone() {
    let openssl = Openssl::new();
    let root = openssl.self_signed("root", KeyKind::Ec, &[]);
    let middle = openssl.signed_by(&root, "middle", &["basicConstraints=CA:TRUE"]);
    let leaf = openssl.signed_by(&middle, "leaf", &[BOTH]);
    let chained = KeyPairFiles {
        cert: openssl.chain("chain.pem", &[&leaf.cert, &middle.cert]),
        ..leaf.clone()
    };
    assert_eq!(met(&chained, &root.cert, "localhost").await, Ok(()));
    assert_eq!(met(&chained, &middle.cert, "127.0.0.1").await, Ok(()));
    assert_eq!(met(&leaf, &leaf.cert, "localhost").await, Ok(()));
    // The root without the certificate in between.
    assert_says(met(&leaf, &root.cert, "localhost").await, "UnknownIssuer");
    let stranger = openssl.self_signed("stranger", KeyKind::Rsa, &[BOTH]);
    let refused = met(&chained, &stranger.cert, "localhost").await;
    assert_says(refused, "UnknownIssuer");
}

#[tokio::test]
async fn clients_certificates_are_judged_alike() {
    let openssl = Openssl::new();
    let pair = openssl.self_signed("own", KeyKind::Rsa, &[DNS]);
    let other = openssl.self_signed("other", KeyKind::Rsa, &[DNS]);
    let past = openssl.expired("past", &[DNS, "basicConstraints=CA:TRUE"]);
    let trusted = openssl.chain("trusted.pem", &[&pair.cert, &past.cert]);
    let files = ServerFiles {
        identity: identity(&pair),
        clients: Some(Authorities::File(trusted)),
        protocols: Vec::new(),
    };
    let server = ServerTls::load(files).await.unwrap();
    let shows = |client: Option<&KeyPairFiles>| {
        let files = ClientFiles {
            identity: client.map(identity),
            ..trusting(&pair.cert)
        };
        let server = server.clone();
        async move { exchange(&server, &files, "localhost").await }
    };
    assert_eq!(shows(Some(&pair)).await, Ok(()));
    assert_says(shows(Some(&other)).await, "is itself among the trusted");
    assert_says(shows(Some(&past)).await, "expired");
    assert_says(shows(None).await, "no certificates");
}

#[tokio::test]
async fn a_listener_speaks_protocols_of_its_own_with_the_same_certificate() {
    let openssl = Openssl::new();
    let pair = openssl.self_signed("own", KeyKind::Rsa, &[DNS]);
    let server = ServerTls::load(ServerFiles {
        identity: identity(&pair),
        clients: None,
        protocols: vec!["h2"],
    });
    let server = server.await.unwrap();
    assert_eq!(server.current().alpn_protocols, [b"h2"]);
    let other = server.lenient(&["http/1.1"]);
    assert_eq!(other.alpn_protocols, [b"http/1.1"]);
    assert_eq!(server.current().alpn_protocols, [b"h2"]);
}

#[tokio::test]
async fn the_systems_certificates_are_the_default_and_checks_can_be_left_out() {
    let openssl = Openssl::new();
    let pair = openssl.self_signed("own", KeyKind::Rsa, &[DNS]);
    let server = ServerTls::load(ServerFiles {
        identity: identity(&pair),
        clients: None,
        protocols: Vec::new(),
    });
    let server = server.await.unwrap();
    let refused = exchange(&server, &ClientFiles::default(), "localhost").await;
    assert_says(refused, "certificate");
    let careless = ClientFiles {
        verify: false,
        ..ClientFiles::default()
    };
    assert_eq!(exchange(&server, &careless, "other.example").await, Ok(()));
}
