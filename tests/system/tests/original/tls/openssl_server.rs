//! The command line against `openssl s_server`, which speaks one version of TLS only.

use std::net::Ipv4Addr;
use std::process::Stdio;

use cts_testkit::{eventually, free_port};
use cts_tests::DEADLINE;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use super::Files;
use crate::cli::task::call::Call;

/// A version, whether the server demands a certificate, options of the call, and a fragment on standard output.
const ROWS: [(&str, bool, &str, &str); 8] = [
    ("-tls1_2", false, "", "signed by unknown authority"),
    ("-tls1_3", false, "", "signed by unknown authority"),
    (
        "-tls1_2",
        false,
        "-ca-cert=OTHERS/ca.pem",
        "signed by unknown authority",
    ),
    (
        "-tls1_3",
        false,
        "-ca-cert=OTHERS/ca.pem",
        "signed by unknown authority",
    ),
    // OpenSSL has no other alert in this version.
    (
        "-tls1_2",
        true,
        "-ca-cert=OURS/ca.pem",
        "remote error: tls: handshake failure",
    ),
    (
        "-tls1_3",
        true,
        "-ca-cert=OURS/ca.pem",
        "remote error: tls: certificate required",
    ),
    (
        "-tls1_3",
        true,
        "-ssl-verify=false",
        "remote error: tls: certificate required",
    ),
    (
        "-tls1_2",
        true,
        "-ca-cert=OTHERS/unknown.pem",
        "signed by unknown authority",
    ),
];

fn server(files: &Files, port: u16, version: &str, demands: bool) -> Child {
    let port = port.to_string();
    let mut command = Command::new("openssl");
    command.args(["s_server", "-quiet", version, "-accept", &port]);
    for (option, file) in [
        ("-cert", "server.pem"),
        ("-key", "server-key.pem"),
        ("-CAfile", "ca.pem"),
    ] {
        command.arg(option).arg(files.ours.path().join(file));
    }
    if demands {
        command.args(["-Verify", "1", "-verify_return_error"]);
    }
    command
        // It ends with its input.
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn each_version_has_its_words() {
    let files = Files::new();
    let mut faults = Vec::new();
    for row in ROWS {
        let (version, demands, option, fragment) = row;
        let port = free_port();
        let _server = server(&files, port, version, demands);
        eventually(DEADLINE, async || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await
        })
        .await;
        let mut call = Call::original(&["task", "disable"])
            .argument(format!("-http-addr=https://localhost:{port}"));
        if !option.is_empty() {
            call = call.argument(files.replaced(option));
        }
        let said = call.argument("web").run().await;
        if said.code != Some(11) || !said.stdout.contains(fragment) {
            faults.push(format!("{row:?}:\n{said}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
