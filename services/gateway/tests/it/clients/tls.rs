//! TLS and mutual TLS (docs/rest.md#transport).

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use cts_gateway::Gateway;
use cts_testkit::Authority;
use cts_tls::{Authorities, IdentityFiles, ServerFiles, ServerTls, TlsError};
use http::{StatusCode, Version};
use reqwest::{Certificate, Client, ClientBuilder, Identity, tls};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::runs::RUN;
use crate::stage::{Scene, Stage};
use crate::tasks::three_tasks;

const SOON: Duration = Duration::from_secs(20);

/// A client that trusts this authority.
pub(crate) fn trusting(authority: &Authority) -> ClientBuilder {
    let trusted = Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    Client::builder().tls_certs_only([trusted]).timeout(SOON)
}

fn identity(authority: &Authority) -> Identity {
    named(authority, &["127.0.0.1"])
}

/// A certificate with these names.
pub(crate) fn named(authority: &Authority, names: &[&str]) -> Identity {
    let (cert, key) = authority.issue(names);
    Identity::from_pem(format!("{cert}{key}").as_bytes()).unwrap()
}

/// An API with TLS, and the files that it reads.
pub(crate) struct Guarded {
    folder: TempDir,
    tls: ServerTls,
    pub(crate) stage: Stage,
}

impl Guarded {
    async fn start(authority: &Authority) -> Self {
        Self::start_with(authority, |_folder| None).await
    }

    async fn start_with(
        authority: &Authority,
        clients: impl FnOnce(&TempDir) -> Option<Authorities>,
    ) -> Self {
        let scene = Scene {
            tasks: three_tasks(),
            ..Scene::default()
        };
        Self::set(authority, scene, clients).await
    }

    pub(crate) async fn set(
        authority: &Authority,
        scene: Scene,
        clients: impl FnOnce(&TempDir) -> Option<Authorities>,
    ) -> Self {
        let folder = TempDir::new().unwrap();
        write_identity(&folder, authority);
        let clients = clients(&folder);
        let tls = ServerTls::load(files(&folder, clients)).await.unwrap();
        let stage = Stage::set(Scene {
            tls: Some(tls.clone()),
            ..scene
        })
        .await;
        Self { folder, tls, stage }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.stage.address)
    }

    async fn get(&self, client: ClientBuilder, path: &str) -> reqwest::Result<reqwest::Response> {
        client.build().unwrap().get(self.url(path)).send().await
    }

    /// Sends bytes without TLS and gives what comes back until the connection is closed.
    async fn send_plain(&self, bytes: &[u8]) -> Vec<u8> {
        let mut socket = TcpStream::connect(self.stage.address).await.unwrap();
        socket.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        // The server may reset bytes that it did not read.
        drop(
            timeout(SOON, socket.read_to_end(&mut answer))
                .await
                .unwrap(),
        );
        answer
    }
}

pub(crate) fn path(folder: &TempDir, name: &str) -> PathBuf {
    folder.path().join(name)
}

fn write_identity(folder: &TempDir, authority: &Authority) {
    let (cert, key) = authority.issue(&["127.0.0.1"]);
    fs::write(path(folder, "cert.pem"), cert).unwrap();
    fs::write(path(folder, "key.pem"), key).unwrap();
}

fn files(folder: &TempDir, clients: Option<Authorities>) -> ServerFiles {
    ServerFiles {
        identity: IdentityFiles {
            cert: path(folder, "cert.pem"),
            key: path(folder, "key.pem"),
        },
        clients,
        protocols: Gateway::TLS_PROTOCOLS.to_vec(),
    }
}

#[tokio::test]
async fn the_api_answers_over_both_versions_of_http_and_of_tls() {
    let authority = Authority::new();
    let api = Guarded::start(&authority).await;
    for (client, version) in [
        (trusting(&authority), Version::HTTP_2),
        (trusting(&authority).http1_only(), Version::HTTP_11),
        (
            trusting(&authority).tls_version_max(tls::Version::TLS_1_2),
            Version::HTTP_2,
        ),
        (
            trusting(&authority).tls_version_min(tls::Version::TLS_1_3),
            Version::HTTP_2,
        ),
    ] {
        let client = client.build().unwrap();
        for path in ["/v1/health", "/v1/tasks", "/v1/status"] {
            let answer = client.get(api.url(path)).send().await.unwrap();
            assert_eq!(
                (answer.status(), answer.version()),
                (StatusCode::OK, version)
            );
            assert_eq!(answer.headers()["access-control-allow-origin"], "*");
        }
    }
    // At once on one connection.
    let client = trusting(&authority).build().unwrap();
    let ask = || client.get(api.url("/v1/tasks")).send();
    let (one, two, three) = tokio::join!(ask(), ask(), ask());
    for answer in [one, two, three] {
        assert_eq!(answer.unwrap().status(), StatusCode::OK);
    }
}

/// The greeting of a client that supports no version of TLS newer than `3.minor`.
fn greeting(minor: u8) -> Vec<u8> {
    let mut greeting = vec![0x16, 3, 1, 0, 63, 1, 0, 0, 59, 3, minor];
    greeting.extend([7; 32]);
    // No session; one cipher suite, for keys of elliptic curves; no compression.
    greeting.extend([0, 0, 2, 0xc0, 0x2b, 1, 0]);
    // The extensions for signature algorithms and for curves.
    greeting.extend([0, 16, 0, 13, 0, 4, 0, 2, 4, 3, 0, 10, 0, 4, 0, 2, 0, 0x17]);
    greeting
}

#[tokio::test]
async fn older_versions_of_tls_are_refused() {
    let api = Guarded::start(&Authority::new()).await;
    let answer = async |minor| {
        let mut socket = TcpStream::connect(api.stage.address).await.unwrap();
        socket.write_all(&greeting(minor)).await.unwrap();
        let mut answer = [0; 7];
        let read = timeout(SOON, socket.read_exact(&mut answer)).await;
        read.unwrap().unwrap();
        answer
    };
    // TLS 1.2 goes on with a handshake; older ones get an alert: fatal, protocol_version.
    assert_eq!(answer(3).await[0], 0x16);
    for minor in [0, 1, 2] {
        let answer = answer(minor).await;
        assert_eq!((answer[0], &answer[5..]), (0x15, &[2, 70][..]), "{minor}");
    }
}

#[tokio::test]
async fn clients_must_show_a_certificate_of_the_configured_authorities() {
    let (servers, ours, others) = (Authority::new(), Authority::new(), Authority::new());
    let in_file = |folder: &TempDir| {
        let file = path(folder, "clients.pem");
        fs::write(&file, ours.pem()).unwrap();
        Some(Authorities::File(file))
    };
    let in_directory = |folder: &TempDir| {
        let directory = path(folder, "clients");
        fs::create_dir_all(directory.join("below")).unwrap();
        fs::write(directory.join("a"), servers.pem()).unwrap();
        fs::write(directory.join("below/b"), ours.pem()).unwrap();
        Some(Authorities::Directory(directory))
    };
    for api in [
        Guarded::start_with(&servers, in_file).await,
        Guarded::start_with(&servers, in_directory).await,
    ] {
        let ours = trusting(&servers).identity(identity(&ours));
        let answer = api.get(ours, "/v1/tasks").await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        let theirs = trusting(&servers).identity(identity(&others));
        api.get(theirs, "/v1/tasks").await.unwrap_err();
        api.get(trusting(&servers), "/v1/tasks").await.unwrap_err();
    }
}

#[tokio::test]
async fn authorities_that_cannot_be_used_are_named() {
    let authority = Authority::new();
    let folder = TempDir::new().unwrap();
    write_identity(&folder, &authority);
    let directory = path(&folder, "clients");
    let load = async |clients| {
        let loaded = ServerTls::load(files(&folder, Some(clients))).await;
        loaded.unwrap_err()
    };
    let in_directory = || Authorities::Directory(directory.clone());
    let error = load(in_directory()).await;
    assert!(matches!(error, TlsError::Read { .. }), "{error}");
    fs::create_dir(&directory).unwrap();
    let error = load(in_directory()).await;
    assert_eq!(error.path(), Some(directory.as_path()), "{error}");
    fs::write(directory.join("a.pem"), authority.pem()).unwrap();
    fs::write(directory.join("readme"), "no certificate").unwrap();
    let error = load(in_directory()).await;
    assert_eq!(error.path(), Some(directory.join("readme").as_path()));
    let error = load(Authorities::File(path(&folder, "key.pem"))).await;
    assert!(matches!(error, TlsError::Absent { .. }), "{error}");
}

#[tokio::test]
async fn plain_http_requests_are_answered_with_an_explanation() {
    let api = Guarded::start(&Authority::new()).await;
    // The larger body is longer than what the sockets hold, and is sent before the answer is read.
    for length in [0, 20, 32 << 20] {
        let body = "x".repeat(length);
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let request = format!(
                "{method} /v1/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}"
            );
            let answer = api.send_plain(request.as_bytes()).await;
            assert_eq!(
                String::from_utf8(answer).unwrap(),
                "HTTP/1.0 400 Bad Request\r\n\r\n\
                 Client sent an HTTP request to an HTTPS server.\n",
                "{method} {length}"
            );
        }
    }
    // Something else is not answered.
    assert_eq!(api.send_plain(b"EHLO example\r\n").await, b"");
}

#[tokio::test]
async fn a_new_certificate_counts_for_new_connections() {
    let (before, after) = (Authority::new(), Authority::new());
    let api = Guarded::start(&before).await;
    let client = trusting(&before).build().unwrap();
    client.get(api.url("/v1/health")).send().await.unwrap();
    write_identity(&api.folder, &after);
    assert!(api.tls.reload().await.unwrap());
    // The open connection goes on.
    client.get(api.url("/v1/health")).send().await.unwrap();
    api.get(trusting(&before), "/v1/health").await.unwrap_err();
    api.get(trusting(&after), "/v1/health").await.unwrap();

    fs::write(path(&api.folder, "key.pem"), "broken").unwrap();
    api.tls.reload().await.unwrap_err();
    api.get(trusting(&after), "/v1/health").await.unwrap();
}

#[tokio::test]
async fn silent_connections_delay_neither_requests_nor_the_end() {
    let authority = Authority::new();
    let mut api = Guarded::start(&authority).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(TcpStream::connect(api.stage.address).await.unwrap());
    }
    let mut begun = TcpStream::connect(api.stage.address).await.unwrap();
    begun.write_all(&[0x16, 3, 1]).await.unwrap();
    let answer = api.get(trusting(&authority), "/v1/health").await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    api.stage.shutdown.cancel();
    // Less than the time that requests in progress would get.
    let end = timeout(Duration::from_secs(4), api.stage.gateway.join_next()).await;
    end.unwrap().unwrap().unwrap().unwrap();
    let mut rest = Vec::new();
    drop(begun.read_to_end(&mut rest).await);
    assert_eq!(rest, b"");
}

#[tokio::test]
async fn a_followed_log_breaks_off_in_both_versions_of_http_when_the_gateway_ends() {
    let authority = Authority::new();
    let api = Guarded::start(&authority).await;
    let path = format!("/v1/runs/{RUN}/log?follow=true");
    let mut answers = Vec::new();
    for (client, version) in [
        (trusting(&authority), Version::HTTP_2),
        (trusting(&authority).http1_only(), Version::HTTP_11),
    ] {
        let mut answer = api.get(client, &path).await.unwrap();
        assert_eq!(answer.version(), version);
        let mut text = Vec::new();
        while !text.ends_with(b"done\n") {
            text.extend(answer.chunk().await.unwrap().unwrap());
        }
        answers.push(answer);
    }
    api.stage.shutdown.cancel();
    for mut answer in answers {
        let end = answer.chunk().await;
        assert!(end.is_err(), "{:?}: {end:?}", answer.version());
    }
}
