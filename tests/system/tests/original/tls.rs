//! TLS and mutual TLS with certificates as `openssl` makes them, against an API with the block `tls`.

mod command_line;
mod foreign;
mod openssl_server;

use cts_testkit::{KeyKind, Openssl};
use cts_tests::task;

use super::site::Server;

/// The files of the tests, all below directories of `openssl`.
struct Files {
    ours: Openssl,
    others: Openssl,
}

impl Files {
    fn new() -> Self {
        let (ours, others) = (Openssl::new(), Openssl::new());
        let ca = ours.self_signed("ca", KeyKind::Rsa, &[]);
        ours.signed_by(&ca, "server", &["subjectAltName=DNS:localhost"]);
        ours.signed_by(&ca, "client", &["extendedKeyUsage=clientAuth"]);
        std::fs::create_dir(ours.path().join("authorities")).unwrap();
        std::fs::copy(&ca.cert, ours.path().join("authorities/ca.pem")).unwrap();
        // The name of this authority is that of the right one.
        let same = others.self_signed("ca", KeyKind::Rsa, &[]);
        others.signed_by(&same, "client", &["extendedKeyUsage=clientAuth"]);
        others.self_signed("unknown", KeyKind::Ec, &[]);
        Self { ours, others }
    }

    /// `text` with the directories in place of `OURS` and `OTHERS`.
    fn replaced(&self, text: &str) -> String {
        let ours = self.ours.path().to_str().unwrap();
        let others = self.others.path().to_str().unwrap();
        text.replace("OURS", ours).replace("OTHERS", others)
    }
}

async fn plain() -> Server {
    with_block("").await
}

async fn tls(files: &Files) -> Server {
    let block = "tls {\n  cert = \"OURS/server.pem\"\n  key = \"OURS/server-key.pem\"\n}\n";
    with_block(&files.replaced(block)).await
}

async fn mutual(files: &Files) -> Server {
    let block = "tls {\n  enabled = true\n  cert = \"OURS/server.pem\"\n  key = \"OURS/server-key.pem\"\n  \
                 verify_incoming = true\n  ca_cert = \"OURS/ca.pem\"\n}\n";
    with_block(&files.replaced(block)).await
}

/// An instance with this `tls` block and a task `web`, which has run.
async fn with_block(block: &str) -> Server {
    let web = task("web", "./module", &["web"], "");
    Server::start_with(&format!("{block}{web}")).await
}
