//! Runs the stub of HCP Terraform until it is interrupted, and shows the variables that give it to a test run
//! (CONTRIBUTING.md).
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "this is a tool for tests"
)]

use cts_testkit::HcpServer;
use cts_testkit::hcp::{HcpAccess, HcpSettings};

#[tokio::main]
async fn main() {
    let directory = tempfile::tempdir().unwrap();
    let server = HcpServer::start_in(directory.path(), HcpSettings::with_terraform()).await;
    for (name, value) in HcpAccess::of_stub(&server, directory.path()).variables() {
        println!("export {name}='{value}'");
    }
    tokio::signal::ctrl_c().await.unwrap();
    println!("workspaces that are left: {:?}", server.workspaces());
}
