//! The outside view of the program: its entry in the catalog, its API over TLS, signals and log. Tests are
//! about `cts start` itself unless they say otherwise.

use std::net::{Ipv4Addr, SocketAddr};

use cts_testkit::{ConsulAgent, eventually, free_port};
use cts_tests::{
    Api, Backend, DEADLINE, Instance, Process, RECORDER, Shape, Site, executable, met, task,
};
use nix::sys::signal::Signal;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use reqwest::{Certificate, Client};
use serde_json::{Value, json};

/// A site whose tasks have nothing to do.
fn site(consul: &ConsulAgent, more: &str) -> Site {
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(
        &consul.address(),
        Backend::Shared,
        &format!("{more}\n{pool}"),
    );
    site
}

/// The only service with the tag of cts.
async fn entry(consul: &ConsulAgent) -> Result<Value, String> {
    let services = consul.get("/v1/agent/services").await;
    let all = services.as_object().unwrap().values();
    let ours: Vec<&Value> = all
        .filter(|service| service["Tags"][0] == json!("cts"))
        .collect();
    match ours.as_slice() {
        [one] => Ok((*one).clone()),
        _ => Err(services.to_string()),
    }
}

/// Waits until Consul's check of the program's API has passed.
async fn until_passing(consul: &ConsulAgent, id: &str) {
    eventually(DEADLINE, async || {
        let checks = consul.get("/v1/agent/checks").await;
        let check = &checks[format!("{id}-health")];
        met(check["Status"] == json!("passing"), check.to_string())
    })
    .await;
}

#[tokio::test]
async fn the_api_is_in_the_catalog_while_it_is_served() {
    let consul = ConsulAgent::start().await;
    let site = site(&consul, "id = \"cts-one\"");
    let cts = Instance::start(&site).await;
    let found = eventually(DEADLINE, async || entry(&consul).await).await;
    let id = match Shape::of_this_run() {
        Shape::Embedded => "cts-one",
        // Each process of a cluster has an id of its own.
        Shape::Cluster => "gateway-0",
    };
    assert_eq!(found["ID"], id);
    assert_eq!(found["Service"], "consul-terraform-sync");
    let port = found["Port"].as_u64().unwrap();
    assert!(cts.api.url("").ends_with(&format!(":{port}")), "{found}");
    until_passing(&consul, id).await;
    cts.stop().await;
    assert_eq!(consul.get("/v1/agent/services").await, json!({}));
}

#[tokio::test]
async fn the_catalog_is_left_alone_if_so_configured() {
    let consul = ConsulAgent::start().await;
    let site = site(&consul, "");
    site.write(
        "quiet.hcl",
        "consul { service_registration { enabled = false } }\n",
    );
    let port = free_port();
    let cts = site.run_cts(port, &["-config-file", "quiet.hcl"]);
    until_healthy(port).await;
    let exit = cts.terminate().await;
    exit.assert_code(0);
    assert!(!exit.output.contains("registered"), "{}", exit.output);
    assert_eq!(consul.get("/v1/agent/services").await, json!({}));
}

async fn until_healthy(port: u16) {
    let api = Api::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    eventually(DEADLINE, async || match api.ask("/v1/health").await {
        Ok((200, _)) => Ok(()),
        Ok((status, body)) => Err(format!("{status} {body}")),
        Err(error) => Err(error.to_string()),
    })
    .await;
}

/// `tls.hcl` for the API, and a client that trusts it.
fn with_tls(site: &Site) -> Client {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    site.write("cert.pem", &cert.pem());
    site.write("key.pem", &signing_key.serialize_pem());
    site.write(
        "tls.hcl",
        "tls {\n  cert = \"cert.pem\"\n  key = \"key.pem\"\n}\n",
    );
    let trusted = Certificate::from_pem(cert.pem().as_bytes()).unwrap();
    let client = Client::builder().no_proxy().tls_certs_only([trusted]);
    client.build().unwrap()
}

#[tokio::test]
async fn consul_checks_the_api_over_tls_too() {
    let consul = ConsulAgent::start().await;
    let site = site(&consul, "id = \"cts-two\"");
    let client = with_tls(&site);
    let port = free_port();
    let cts = site.run_cts(port, &["-config-file", "tls.hcl"]);
    let url = format!("https://localhost:{port}/v1/tasks");
    let answer = eventually(DEADLINE, async || client.get(&url).send().await).await;
    assert_eq!(answer.status(), 200);
    until_passing(&consul, "cts-two").await;
    let exit = cts.terminate().await;
    exit.assert_code(0);
}

async fn refused(site: &Site, name: &str, text: &str, code: i32, expected: &[&str]) {
    site.write("more.hcl", text);
    let exit = site.run_cts(free_port(), &["-config-file", "more.hcl"]);
    let exit = exit.wait().await;
    assert_eq!(exit.code, Some(code), "{name}: {}", exit.output);
    for part in expected {
        assert!(
            exit.output.contains(part),
            "{name}: no {part:?} in\n{}",
            exit.output
        );
    }
    assert!(!site.work().exists(), "{name} left something behind");
}

#[tokio::test]
async fn unusable_tls_file_or_syslog_ends_the_start() {
    let consul = ConsulAgent::start().await;
    let site = site(&consul, "");
    with_tls(&site);
    let tls = "tls { cert = \"cert.pem\" key = \"key.pem\" verify_incoming = true ca_cert = \"key.pem\" }";
    let expected = [
        "tls cannot be used for the API",
        "key.pem holds no certificate",
    ];
    refused(&site, "authorities", tls, 15, &expected).await;
    // If the machine has no syslog.
    if !["/dev/log", "/var/run/syslog", "/var/run/log"]
        .iter()
        .any(|path| std::path::Path::new(path).exists())
    {
        let expected = ["the log cannot be set up", "/dev/log"];
        refused(&site, "syslog", "syslog { enabled = true }", 15, &expected).await;
    }
}

#[tokio::test]
async fn an_ignored_hangup_stays_ignored() {
    let consul = ConsulAgent::start().await;
    let site = site(&consul, "");
    let port = free_port();
    site.write("port.hcl", &format!("port = {port}\n"));
    let program = executable("cts").into_os_string().into_string().unwrap();
    let words = [
        "-c",
        "trap '' HUP; exec \"$0\" \"$@\"",
        &program,
        "start",
        "-config-file=cts.hcl",
        "-config-file=port.hcl",
        "-bind-address=127.0.0.1",
    ];
    let cts: Process = site.run("/bin/sh", &words, "cts.log");
    until_healthy(port).await;
    cts.signal(Signal::SIGHUP);
    cts.signal(Signal::SIGHUP);
    let exit = cts.terminate().await;
    exit.assert_code(0).says(["signal=terminated"]);
    assert!(!exit.output.contains("hangup"), "{}", exit.output);
}
