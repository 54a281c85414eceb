//! The client options (docs/cli.md#options-of-all-of-them).

use cts_testkit::{ScriptedAnswer, ScriptedHttp, free_port};
use insta::assert_snapshot;
use serde_json::json;

use super::call::Call;
use super::{Conversation, ok};

const DISABLE: &str = r#"PATCH /v1/tasks/web {"Enabled":false}"#;

fn disable(options: &[&str]) -> Call {
    Call::original(&[&["task", "disable"], options, &["web"]].concat())
}

fn done() -> ScriptedAnswer {
    ok(json!({}))
}

#[tokio::test]
async fn reports_an_unreachable_server() {
    let port = free_port();
    let call = disable(&["-http-addr", &format!("http://127.0.0.1:{port}/")]);
    assert_snapshot!(call.run().await.replace(&port.to_string(), "PORT"));
}

#[tokio::test]
async fn the_port_is_deprecated() {
    let server = ScriptedHttp::start([done(), done()]).await;
    let port = format!("-port={}", server.address().port());
    let call = disable(&[&port]).variable("CTS_ADDRESS", "http://127.0.0.1:1");
    assert_snapshot!(call.run().await);
    assert_eq!(server.lines(), [DISABLE]);
    let address = format!("-http-addr=http://{}", server.address());
    let said = disable(&["-port=1", &address]).run().await;
    assert_eq!(said.code, Some(0), "{said}");
    said.stderr_has(["has no effect beside -http-addr"]);
}

#[tokio::test]
async fn addresses_need_a_scheme() {
    assert_snapshot!(disable(&["-http-addr=localhost"]).run().await);
    for (address, expected) in [
        ("127.0.0.1", "is not an absolute URL"),
        ("ftp://localhost", "unknown scheme \"ftp\""),
        ("", "the address of the API is empty"),
    ] {
        for call in [
            disable(&[&format!("-http-addr={address}")]),
            disable(&[]).variable("CTS_ADDRESS", address),
        ] {
            let said = call.run().await;
            assert_eq!(said.code, Some(11), "{said}");
            assert!(said.stdout.contains(expected), "{said}");
        }
    }
}

#[tokio::test]
async fn delete_says_nothing_before_its_client_is_ready() {
    let call = Call::original(&["task", "delete", "-http-addr=x", "web"]).input("yes\n");
    assert_snapshot!(call.run().await);
}

#[tokio::test]
async fn an_unclear_switch_in_the_environment_is_told() {
    let server = Conversation::with([done()]).await;
    let call = disable(&[]).variable("CTS_SSL_VERIFY", "perhaps");
    let said = server.run(call, &[DISABLE]).await;
    assert_eq!(said.code, Some(0), "{said}");
    said.stderr_has(["CTS_SSL_VERIFY is \"perhaps\""]);
}

#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    let server = Conversation::with([done()]).await;
    let proxy = ScriptedHttp::start([]).await;
    let mut call = disable(&[]);
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        call = call.variable(name, format!("http://{}", proxy.address()));
    }
    let said = server.run(call, &[DISABLE]).await;
    assert_eq!(said.code, Some(0), "{said}");
    assert_eq!(proxy.lines(), [""; 0]);
}

#[tokio::test]
async fn a_certificate_without_its_key() {
    let call = disable(&["-client-cert=client.pem", "-http-addr=https://127.0.0.1:1"]);
    assert_snapshot!(call.run().await);
}

#[tokio::test]
async fn a_file_that_is_missing_counts_for_plain_text_too() {
    let call = disable(&["-ca-cert=missing.pem", "-http-addr=http://127.0.0.1:1"]);
    assert_snapshot!(call.run().await);
}
