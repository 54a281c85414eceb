//! Tokens, audit records and certificates, as docs/access.md and docs/configuration.md make and use them.

use cts_testkit::{ConsulAgent, assert_contains};

use super::blocks::{Block, section};
use super::terminal::Machine;

#[tokio::test]
async fn tokens_are_made_as_printed() {
    let consul = ConsulAgent::start().await;
    let machine = Machine::new(Some(&consul.address()));
    machine.write("cts.hcl", "log_level = \"INFO\"\n");
    // The first start makes the file of the database.
    let mut service = machine.terminal("");
    service.leave("cts start -config-file cts.hcl").await;
    machine.until_healthy().await;
    service.close().await;
    let mut terminal = machine.terminal("");
    let blocks = section("docs/access.md", "Tokens");
    let mut said = String::new();
    for command in blocks.iter().flat_map(Block::commands) {
        said += &terminal.works(&command).await;
    }
    assert_contains(&said, ["has the role operate", "web-*", "is revoked"]);
    let token = std::fs::read_to_string(machine.path().join("ci.token")).unwrap();
    assert!(token.starts_with("cts_"), "{token}");
    assert!(!said.contains(token.trim()), "{said}");
    terminal.close().await;
}

#[tokio::test]
async fn records_are_read_as_printed() {
    let consul = ConsulAgent::start().await;
    let machine = Machine::new(Some(&consul.address()));
    let configuration = "security {\n  require_auth = true\n}\ntls {\n  enabled = true\n  cert = \"gateway.pem\"\n  key = \
        \"gateway-key.pem\"\n}\n";
    machine.write("cts.hcl", configuration);
    let mut terminal = machine.terminal("");
    terminal
        .works("cts certs -dir . -domain cts.internal -role gateway -local")
        .await;
    terminal
        .works("export CTS_CACERT=ca.pem CTS_ADDRESS=https://localhost:8558")
        .await;
    let mut service = machine.terminal("");
    service.leave("cts start -config-file cts.hcl").await;
    terminal.until_it_works("cts health").await;
    terminal
        .works("cts token create me -role admin -config-file cts.hcl -out me.token")
        .await;
    terminal.works("export CTS_TOKEN=$(cat me.token)").await;
    // Gateways know a new token within two seconds.
    terminal.until_it_works("cts task list").await;
    let mut said = String::new();
    for command in section("docs/access.md", "Audit")
        .iter()
        .flat_map(Block::commands)
    {
        said += &terminal.works(&command).await;
    }
    assert_contains(&said, ["token.create", "\"records\""]);
    service.close().await;
    terminal.close().await;
}

#[tokio::test]
async fn certificates_are_made_as_printed() {
    let machine = Machine::new(None);
    let mut terminal = machine.terminal("");
    let blocks = section("docs/configuration.md", "TLS between the services");
    for command in blocks.iter().flat_map(Block::commands) {
        terminal.works(&command).await;
    }
    let verify = "openssl verify -CAfile ca.pem -verify_hostname worker.cts.example worker.pem";
    assert_contains(&terminal.works(verify).await, ["worker.pem: OK"]);
    terminal.close().await;
}
