//! Runs the stub of HCP Terraform until it is interrupted, and shows the variables that give it to a test run
//! (CONTRIBUTING.md).
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "this is a tool for tests"
)]

use cts_testkit::hcp::{HcpAccess, HcpSettings};
use cts_testkit::{Authority, HcpServer, terraform_path};

#[tokio::main]
async fn main() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let pair = authority.write_pair(directory.path(), "server", &["127.0.0.1"]);
    let file = directory.path().join("ca.pem");
    std::fs::write(&file, authority.pem()).unwrap();
    let settings = HcpSettings {
        terraform: Some(terraform_path()),
        environment: vec![("CHECKPOINT_DISABLE".into(), "1".into())],
        ..HcpSettings::default()
    };
    let server = HcpServer::start_tls(settings, pair.acceptor(None)).await;
    for (name, value) in HcpAccess::of_stub(&server, &file).variables() {
        println!("export {name}='{value}'");
    }
    tokio::signal::ctrl_c().await.unwrap();
    println!("workspaces that are left: {:?}", server.workspaces());
}
