//! Faults of TLS, in the words that scripts of the original look for (docs/cli.md#options-of-all-of-them).

use std::net::Ipv4Addr;

use cts_testkit::{Authority, ScriptedHttp};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::rustls::SupportedProtocolVersion;
use tokio_rustls::rustls::version::{TLS12, TLS13};

use super::call::{Call, CommandOutput};

const UNKNOWN: &str = "x509: certificate signed by unknown authority";
const REQUIRED: &str = "remote error: tls: certificate required";

/// A server with TLS of one version. It demands a certificate if it has `clients`.
struct Server {
    authority: Authority,
    http: ScriptedHttp,
    _files: TempDir,
}

impl Server {
    async fn start(version: &'static SupportedProtocolVersion, demands: bool) -> Self {
        let authority = Authority::new();
        let files = tempfile::tempdir().unwrap();
        let pair = authority.write_pair(files.path(), "server", &["localhost"]);
        let acceptor = pair.acceptor_of(demands.then_some(&authority), &[version]);
        Self {
            http: ScriptedHttp::start_tls([], acceptor).await,
            authority,
            _files: files,
        }
    }

    /// The words of a call whose request never arrives.
    async fn refused(&self, call: Call, scheme: &str) -> CommandOutput {
        let port = self.http.address().port();
        let said = call
            .variable("CTS_ADDRESS", format!("{scheme}://localhost:{port}"))
            .file("ca.pem", self.authority.pem())
            .file("other.pem", Authority::new().pem())
            .run()
            .await;
        assert_eq!(said.code, Some(11), "{said}");
        assert_eq!(self.http.lines(), [""; 0]);
        said
    }
}

/// Calls with every method, under both names.
fn calls(options: &[&str]) -> Vec<Call> {
    let task = "task {\n  name = \"web\"\n  module = \"m/m/m\"\n  condition \"services\" { names = [\"a\"] }\n}\n";
    let enable = [&["task", "enable"], options, &["web"]].concat();
    let delete = [&["task", "delete", "-auto-approve"], options, &["web"]].concat();
    let create = [&["task", "create", "-task-file=t.hcl"], options].concat();
    [enable, delete, create]
        .iter()
        .flat_map(|words| [Call::cts(words), Call::original(words)])
        .map(|call| call.file("t.hcl", task))
        .collect()
}

#[tokio::test]
async fn each_fault_has_its_words() {
    let rows: [(bool, &[&str], &str); 4] = [
        (false, &[], UNKNOWN),
        // An authority with the same name and another key.
        (false, &["-ca-cert=other.pem"], UNKNOWN),
        (true, &["-ca-cert=ca.pem"], REQUIRED),
        (true, &["-ssl-verify=false"], REQUIRED),
    ];
    for version in [&TLS12, &TLS13] {
        for (demands, options, words) in rows {
            let server = Server::start(version, demands).await;
            for call in calls(options) {
                server.refused(call, "https").await.stdout_has([words]);
            }
        }
    }
}

#[tokio::test]
async fn plain_text_to_a_server_with_tls() {
    let server = Server::start(&TLS13, false).await;
    for call in calls(&[]) {
        let said = server.refused(call, "http").await;
        said.stdout_has(["sent an HTTP request to an HTTPS server"]);
    }
}

#[tokio::test]
async fn tls_to_a_server_in_plain_text() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            drop(stream.read(&mut [0; 4096]).await);
            let answer = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
            drop(stream.write_all(answer).await);
        }
    });
    for call in calls(&[]) {
        let address = format!("https://localhost:{port}");
        let said = call.variable("CTS_ADDRESS", address).run().await;
        assert_eq!(said.code, Some(11), "{said}");
        said.stdout_has(["http: server gave HTTP response to HTTPS client"]);
    }
}
