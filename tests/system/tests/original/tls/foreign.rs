//! `curl`, `openssl s_client` and plain text.

use std::process::Stdio;

use cts_tests::DEADLINE;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::{Files, mutual, plain, tls};
use crate::original::site::Server;

/// Runs a program of the system with `input`, and returns its code and all of its output.
async fn program(words: &str, input: &str) -> (Option<i32>, String) {
    let mut words = words.split_whitespace();
    let mut command = Command::new(words.next().unwrap());
    let mut child = command
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|error| panic!("{error}: run scripts/setup"));
    let mut stdin = child.stdin.take().unwrap();
    // A refused connection ends it before it reads.
    drop(stdin.write_all(input.as_bytes()).await);
    drop(stdin);
    let output = tokio::time::timeout(DEADLINE, child.wait_with_output());
    let output = output.await.unwrap().unwrap();
    let all = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&all).into_owned(),
    )
}

/// A program of the system with its arguments, whether it ends well, and a fragment of its output. A certificate is
/// used where the server demands it.
type Foreign = (&'static str, bool, &'static str);

const TO_PLAIN: [Foreign; 1] = [(
    "curl --noproxy * -sS https://localhost:PORT/v1/status",
    false,
    "curl: (35)",
)];

const TO_TLS: [Foreign; 10] = [
    (
        "curl --noproxy * -sS --cacert OURS/ca.pem https://localhost:PORT/v1/status",
        true,
        "task_summary",
    ),
    (
        "curl --noproxy * -sS --tls-max 1.2 --cacert OURS/ca.pem https://localhost:PORT/v1/status",
        true,
        "task_summary",
    ),
    (
        "curl --noproxy * -sS -k https://localhost:PORT/v1/status/tasks/web",
        true,
        "\"task_name\":\"web\"",
    ),
    (
        "curl --noproxy * -sS https://localhost:PORT/v1/status",
        false,
        "curl: (60)",
    ),
    (
        "curl --noproxy * -sS --cacert OTHERS/ca.pem https://localhost:PORT/v1/status",
        false,
        "curl: (60)",
    ),
    (
        "curl --noproxy * -sS -i http://localhost:PORT/v1/status",
        true,
        "HTTP/1.0 400 Bad Request",
    ),
    (
        "curl --noproxy * -sS http://localhost:PORT/v1/status",
        true,
        "Client sent an HTTP request to an HTTPS server.",
    ),
    (
        "curl --noproxy * -sS -X PATCH -d {\"enabled\":false} http://localhost:PORT/v1/tasks/web",
        true,
        "Client sent an HTTP request to an HTTPS server.",
    ),
    (
        "openssl s_client -quiet -tls1_2 -CAfile OURS/ca.pem -verify_return_error -connect localhost:PORT",
        true,
        "task_summary",
    ),
    (
        "openssl s_client -quiet -tls1_3 -CAfile OURS/ca.pem -verify_return_error -connect localhost:PORT",
        true,
        "task_summary",
    ),
];

const TO_MUTUAL: [Foreign; 8] = [
    (
        "curl --noproxy * -sS --cacert OURS/ca.pem --cert OURS/client.pem --key OURS/client-key.pem https://localhost:PORT/v1/status",
        true,
        "task_summary",
    ),
    (
        "curl --noproxy * -sS --cacert OURS/ca.pem https://localhost:PORT/v1/status",
        false,
        "certificate required",
    ),
    (
        "curl --noproxy * -sS --cacert OURS/ca.pem --tls-max 1.2 https://localhost:PORT/v1/status",
        false,
        "curl: (",
    ),
    (
        "curl --noproxy * -sS --cacert OURS/ca.pem --cert OTHERS/client.pem --key OTHERS/client-key.pem https://localhost:PORT/v1/status",
        false,
        "curl: (",
    ),
    (
        "openssl s_client -quiet -tls1_3 -CAfile OURS/ca.pem -cert OURS/client.pem -key OURS/client-key.pem -connect localhost:PORT",
        true,
        "task_summary",
    ),
    (
        "openssl s_client -quiet -tls1_2 -CAfile OURS/ca.pem -cert OURS/client.pem -key OURS/client-key.pem -connect localhost:PORT",
        true,
        "task_summary",
    ),
    (
        "openssl s_client -quiet -tls1_3 -CAfile OURS/ca.pem -connect localhost:PORT",
        false,
        "alert certificate required",
    ),
    (
        "openssl s_client -quiet -tls1_2 -CAfile OURS/ca.pem -connect localhost:PORT",
        false,
        "SSL alert number 116",
    ),
];

async fn assert_foreign(files: &Files, server: &Server, rows: &[Foreign]) {
    let mut faults = Vec::new();
    for (words, well, fragment) in rows {
        let words = files.replaced(&words.replace("PORT", &server.port.to_string()));
        let (code, output) = program(&words, "GET /v1/status HTTP/1.0\r\n\r\n").await;
        if (code == Some(0)) != *well || !output.contains(fragment) {
            faults.push(format!("{words}: {code:?}, not {fragment:?}:\n{output}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn other_programs() {
    let files = Files::new();
    let (to_plain, to_tls, to_mutual) = tokio::join!(plain(), tls(&files), mutual(&files));
    assert_foreign(&files, &to_plain, &TO_PLAIN).await;
    assert_foreign(&files, &to_tls, &TO_TLS).await;
    assert_foreign(&files, &to_mutual, &TO_MUTUAL).await;
    for server in [to_plain, to_tls, to_mutual] {
        server.end().await;
    }
}
