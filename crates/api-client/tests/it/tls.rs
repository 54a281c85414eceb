//! TLS with certificates that the tests make.

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use cts_api_client::{ApiClient, ClientSettings, ErrorForm, SetupError, TlsSettings};
use cts_testkit::{Authority, KeyKind, KeyPairFiles, Openssl, ScriptedHttp};
use cts_testkit::{ScriptedAnswer::Json, assert_contains};
use serde_json::json;
use tempfile::TempDir;

struct Scene {
    directory: TempDir,
    authority: Authority,
    pair: KeyPairFiles,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        let pair = authority.write_pair(directory.path(), "pair", &["localhost"]);
        std::fs::write(directory.path().join("ca.crt"), authority.pem()).unwrap();
        Self {
            directory,
            authority,
            pair,
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    async fn server(&self, clients: Option<&Authority>) -> ScriptedHttp {
        let answer = Json(200, json!({"tasks": []}));
        ScriptedHttp::start_tls([answer], self.pair.acceptor(clients)).await
    }
}

fn settings(server: &ScriptedHttp, tls: TlsSettings) -> ClientSettings {
    ClientSettings {
        address: format!("https://localhost:{}", server.address().port()),
        port: None,
        tls,
        token: None,
    }
}

async fn asked(server: &ScriptedHttp, tls: TlsSettings) -> Result<(), String> {
    let client = ApiClient::new(&settings(server, tls)).unwrap();
    let answer = client.tasks().await;
    answer.map(drop).map_err(|error| {
        let hint = error.hint().unwrap_or_default();
        format!("{} {hint}", error.report(ErrorForm::New))
    })
}

#[tokio::test]
async fn the_authority_of_a_file_is_trusted() {
    let scene = Scene::new();
    let server = scene.server(None).await;
    let tls = TlsSettings {
        ca_cert: Some(scene.path().join("ca.crt")),
        // The directory is not even read if the file is given.
        ca_path: Some(scene.path().join("missing")),
        ..TlsSettings::default()
    };
    asked(&server, tls).await.unwrap();
    assert_eq!(server.lines(), ["GET /v1/tasks"]);
}

#[tokio::test]
async fn the_certificate_that_the_api_itself_presents_can_be_trusted() {
    let openssl = Openssl::new();
    let pair = openssl.self_signed("api", KeyKind::Rsa, &["subjectAltName=DNS:localhost"]);
    let answer = Json(200, json!({"tasks": []}));
    let server = ScriptedHttp::start_tls([answer], pair.acceptor(None)).await;
    let tls = TlsSettings {
        ca_cert: Some(pair.cert.clone()),
        ..TlsSettings::default()
    };
    asked(&server, tls).await.unwrap();
}

#[tokio::test]
async fn the_authorities_of_a_directory_are_trusted() {
    let scene = Scene::new();
    let below = scene.path().join("authorities/deeper");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::write(below.join("ours.pem"), scene.authority.pem()).unwrap();
    let other = Authority::new();
    std::fs::write(scene.path().join("authorities/other.pem"), other.pem()).unwrap();
    // As where secrets are mounted.
    std::os::unix::fs::symlink(&below, scene.path().join("authorities/..data")).unwrap();
    let server = scene.server(None).await;
    let tls = TlsSettings {
        ca_path: Some(scene.path().join("authorities")),
        ..TlsSettings::default()
    };
    asked(&server, tls).await.unwrap();
}

#[tokio::test]
async fn strangers_are_not_trusted_unless_verification_is_off() {
    let scene = Scene::new();
    let server = scene.server(None).await;
    let refused = asked(&server, TlsSettings::default()).await.unwrap_err();
    assert!(refused.contains("invalid peer certificate"), "{refused}");
    assert_eq!(server.lines(), [""; 0]);
    let tls = TlsSettings {
        verify: false,
        ..TlsSettings::default()
    };
    asked(&server, tls).await.unwrap();
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let scene = Scene::new();
    let pair = scene
        .authority
        .write_pair(scene.path(), "other", &["elsewhere.example"]);
    let server = ScriptedHttp::start_tls([], pair.acceptor(None)).await;
    let tls = TlsSettings {
        ca_cert: Some(scene.path().join("ca.crt")),
        ..TlsSettings::default()
    };
    let refused = asked(&server, tls).await.unwrap_err();
    assert!(refused.contains("not valid for name"), "{refused}");
}

#[tokio::test]
async fn a_client_certificate_is_shown_when_demanded() {
    let scene = Scene::new();
    let server = scene.server(Some(&scene.authority)).await;
    let mut tls = TlsSettings {
        ca_cert: Some(scene.path().join("ca.crt")),
        ..TlsSettings::default()
    };
    let refused = asked(&server, tls.clone()).await.unwrap_err();
    assert!(refused.contains("CertificateRequired"), "{refused}");
    tls.client_cert = Some(scene.pair.cert.clone());
    tls.client_key = Some(scene.pair.key.clone());
    asked(&server, tls).await.unwrap();
}

#[tokio::test]
async fn plain_text_where_tls_was_expected_gives_a_hint() {
    let speaker = plain_speaker();
    let client = ApiClient::new(&ClientSettings {
        address: format!("https://localhost:{speaker}"),
        ..ClientSettings::default()
    });
    let refused = client.unwrap().tasks().await.unwrap_err();
    let hint = refused.hint().unwrap();
    assert!(hint.contains("may not speak HTTPS"), "{hint}");
}

/// Port of a server that answers whatever it gets in plain HTTP, once.
fn plain_speaker() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
    });
    port
}

#[tokio::test]
async fn files_are_read_before_the_address_is_looked_at() {
    let scene = Scene::new();
    let refused = |tls: TlsSettings| {
        let settings = ClientSettings {
            address: "nonsense".into(),
            port: None,
            tls,
            ..ClientSettings::default()
        };
        ApiClient::new(&settings).unwrap_err()
    };
    let none = TlsSettings::default;
    let cert = Some(scene.pair.cert.clone());
    let key = Some(scene.pair.key.clone());
    let ca = Some(scene.path().join("ca.crt"));

    let only_cert = refused(TlsSettings {
        client_cert: cert.clone(),
        ..none()
    });
    assert!(matches!(only_cert, SetupError::CertificateWithoutKey));
    let only_key = refused(TlsSettings {
        client_key: key.clone(),
        ..none()
    });
    assert!(matches!(only_key, SetupError::KeyWithoutCertificate));
    let no_pair = refused(TlsSettings {
        client_cert: cert,
        client_key: ca.clone(),
        ..none()
    });
    assert!(no_pair.to_string().contains("no private key"), "{no_pair}");
    let missing = refused(TlsSettings {
        ca_cert: Some("missing.pem".into()),
        ..none()
    });
    assert_eq!(missing.to_string(), "cannot read the TLS file missing.pem");
    let no_certificate = refused(TlsSettings {
        ca_cert: key,
        ..none()
    });
    assert_contains(&no_certificate, ["holds no certificate in PEM form"]);
    let empty = scene.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let nothing = refused(TlsSettings {
        ca_path: Some(empty.clone()),
        ..none()
    });
    assert_contains(&nothing, ["holds no certificate in PEM form"]);
    std::fs::write(empty.join("README"), "not a certificate").unwrap();
    let other_file = refused(TlsSettings {
        ca_path: Some(empty),
        ..none()
    });
    assert!(other_file.to_string().contains("README"), "{other_file}");

    let fine = refused(TlsSettings {
        ca_cert: ca,
        ..none()
    });
    assert!(matches!(fine, SetupError::Address(_)), "{fine:?}");
}
