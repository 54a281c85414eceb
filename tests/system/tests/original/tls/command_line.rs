//! The command line with its options and variables.

use super::{Files, mutual, plain, tls};
use crate::cli::task::call::{Call, CommandOutput};
use crate::original::site::Server;

/// Options and variables of a call, divided by blanks, and the outcome: `ok`, or a fragment on standard output.
type Row = (&'static str, &'static str, &'static str);

const UNKNOWN: &str = "x509: certificate signed by unknown authority";
const REQUIRED: &str = "remote error: tls: certificate required";

const PLAIN: [Row; 3] = [
    ("-http-addr=http://localhost:PORT", "", "ok"),
    (
        "-http-addr=https://localhost:PORT",
        "",
        "http: server gave HTTP response to HTTPS client",
    ),
    (
        "-ssl-verify=false",
        "CTS_ADDRESS=https://localhost:PORT",
        "HTTP response to HTTPS client",
    ),
];

const TLS: [Row; 14] = [
    (
        "-http-addr=https://localhost:PORT -ca-cert=OURS/ca.pem",
        "",
        "ok",
    ),
    (
        "-http-addr https://localhost:PORT -ca-path OURS/authorities",
        "",
        "ok",
    ),
    (
        "",
        "CTS_ADDRESS=https://localhost:PORT CTS_CACERT=OURS/ca.pem",
        "ok",
    ),
    (
        "",
        "CTS_ADDRESS=https://localhost:PORT CTS_CAPATH=OURS/authorities",
        "ok",
    ),
    (
        "-http-addr=https://localhost:PORT -ssl-verify=false",
        "",
        "ok",
    ),
    (
        "-http-addr=https://localhost:PORT",
        "CTS_SSL_VERIFY=false",
        "ok",
    ),
    (
        "-http-addr=https://localhost:PORT -ca-cert=OURS/server.pem",
        "",
        "ok",
    ),
    // The option counts, not the variable.
    (
        "-http-addr=https://localhost:PORT -ssl-verify=true",
        "CTS_SSL_VERIFY=false",
        UNKNOWN,
    ),
    ("-http-addr=https://localhost:PORT", "", UNKNOWN),
    (
        "-http-addr=https://localhost:PORT -ca-cert=OTHERS/unknown.pem",
        "",
        UNKNOWN,
    ),
    (
        "-http-addr=https://localhost:PORT -ca-cert=OTHERS/ca.pem",
        "",
        UNKNOWN,
    ),
    (
        "",
        "CTS_ADDRESS=https://localhost:PORT CTS_CACERT=OTHERS/ca.pem",
        "signed by unknown authority",
    ),
    (
        "-http-addr=http://localhost:PORT",
        "",
        "Client sent an HTTP request to an HTTPS server.",
    ),
    (
        "-http-addr=http://localhost:PORT -ca-cert=OURS/ca.pem",
        "",
        "sent an HTTP request to an HTTPS server",
    ),
];

const MUTUAL: [Row; 7] = [
    (
        "-http-addr=https://localhost:PORT -ca-cert=OURS/ca.pem -client-cert=OURS/client.pem -client-key=OURS/client-key.pem",
        "",
        "ok",
    ),
    (
        "",
        "CTS_ADDRESS=https://localhost:PORT CTS_CACERT=OURS/ca.pem CTS_CLIENT_CERT=OURS/client.pem CTS_CLIENT_KEY=OURS/client-key.pem",
        "ok",
    ),
    (
        "-client-cert=OURS/client.pem -ssl-verify=false",
        "CTS_ADDRESS=https://localhost:PORT CTS_CLIENT_KEY=OURS/client-key.pem",
        "ok",
    ),
    (
        "-http-addr=https://localhost:PORT -ca-cert=OURS/ca.pem",
        "",
        REQUIRED,
    ),
    (
        "-http-addr=https://localhost:PORT -ssl-verify=false",
        "",
        REQUIRED,
    ),
    (
        "-http-addr=https://localhost:PORT -client-cert=OURS/client.pem -client-key=OURS/client-key.pem",
        "",
        UNKNOWN,
    ),
    (
        "-http-addr=http://localhost:PORT",
        "",
        "sent an HTTP request to an HTTPS server",
    ),
];

/// One of the commands, with the options and variables of a row.
fn call(files: &Files, port: u16, (options, variables, _): Row, command: &[&str]) -> Call {
    let text = |text: &str| files.replaced(&text.replace("PORT", &port.to_string()));
    let [group, name, arguments @ ..] = command else {
        panic!("{command:?} is no command of a group");
    };
    let file = "task {\n  name = \"made\"\n  module = \"m/m/m\"\n  condition \"services\" { names = [\"a\"] }\n}\n";
    let mut call = Call::original(&[group, name]).file("made.hcl", file);
    for option in options.split_whitespace() {
        call = call.argument(text(option));
    }
    for argument in arguments {
        call = call.argument(*argument);
    }
    for variable in variables.split_whitespace() {
        let (name, value) = variable.split_once('=').unwrap();
        call = call.variable(name, text(value));
    }
    call
}

const COMMANDS: [&[&str]; 4] = [
    &["task", "enable", "web"],
    &["task", "disable", "web"],
    &["task", "delete", "-auto-approve", "web"],
    &["task", "create", "-task-file=made.hcl"],
];

async fn assert_rows(files: &Files, server: &Server, rows: &[Row]) {
    let mut faults = Vec::new();
    for row in rows {
        let mut check = |command: &[&str], said: CommandOutput, code: i32, fragment: &str| {
            if said.code != Some(code) || !said.stdout.contains(fragment) {
                faults.push(format!("{row:?} with {command:?}, {fragment:?}:\n{said}"));
            }
        };
        if row.2 == "ok" {
            let said = call(files, server.port, *row, COMMANDS[1]).run().await;
            check(COMMANDS[1], said, 0, "'web' disable complete!");
            continue;
        }
        for command in COMMANDS {
            let said = call(files, server.port, *row, command).run().await;
            check(command, said, 11, row.2);
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn the_command_line_against_a_plain_api() {
    let files = Files::new();
    let server = plain().await;
    assert_rows(&files, &server, &PLAIN).await;
    server.end().await;
}

#[tokio::test]
async fn the_command_line_against_an_api_with_tls() {
    let files = Files::new();
    let server = tls(&files).await;
    assert_rows(&files, &server, &TLS).await;
    server.end().await;
}

#[tokio::test]
async fn the_command_line_against_an_api_with_mutual_tls() {
    let files = Files::new();
    let server = mutual(&files).await;
    assert_rows(&files, &server, &MUTUAL).await;
    server.end().await;
}
