//! TLS against the real Consul, which also makes the certificates.

use std::path::{Path, PathBuf};

use cts_consul::{ConsulClient, ConsulSettings, SettingsError, TlsSettings};
use cts_testkit::{ConsulAgent, KeyKind, Openssl, consul_path, free_port};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

use crate::{AskHealth as _, ids, settings, view};

/// The name in the server's certificate that its address does not say.
const SERVER_NAME: &str = "server.dc1.consul";

pub(crate) struct Secure {
    pub(crate) consul: ConsulAgent,
    directory: TempDir,
    port: u16,
}

impl Secure {
    /// A Consul that demands client certificates on its HTTPS port.
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        make(path, &["ca", "create"]).await;
        make(path, &["cert", "create", "-server", "-dc", "dc1"]).await;
        make(path, &["cert", "create", "-client", "-dc", "dc1"]).await;
        let port = free_port();
        let consul = ConsulAgent::start_with(json!({
            "ports": {"https": port},
            "ca_file": path.join("consul-agent-ca.pem"),
            "cert_file": path.join("dc1-server-consul-0.pem"),
            "key_file": path.join("dc1-server-consul-0-key.pem"),
            "verify_incoming_https": true,
        }))
        .await;
        consul.register_service("web", "a", 80, &[], &[]).await;
        Self {
            consul,
            directory,
            port,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn settings(&self) -> ConsulSettings {
        ConsulSettings {
            tls: TlsSettings {
                enabled: true,
                ca_cert: Some(self.file("consul-agent-ca.pem")),
                cert: Some(self.file("dc1-client-consul-0.pem")),
                key: Some(self.file("dc1-client-consul-0-key.pem")),
                ..TlsSettings::default()
            },
            // Another address of this machine, which no certificate names.
            ..settings(&format!("127.0.0.1:{}", self.port))
        }
    }
}

async fn make(directory: &Path, arguments: &[&str]) {
    let output = Command::new(consul_path())
        .arg("tls")
        .args(arguments)
        .current_dir(directory)
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

async fn report(settings: &ConsulSettings) -> Result<usize, String> {
    let client = ConsulClient::new(settings).map_err(|error| format!("{error:?}"))?;
    let answer = client.health_service(&view("web"), 0).await;
    let answer = answer.map_err(|error| error.report())?;
    assert_eq!(ids(&answer.instances), ["a"]);
    Ok(answer.instances.len())
}

#[tokio::test]
async fn certificates_are_presented_and_checked() {
    let secure = Secure::start().await;
    let good = secure.settings();
    assert_eq!(report(&good).await, Ok(1));

    let mut named = good.clone();
    named.tls.server_name = Some(SERVER_NAME.into());
    assert_eq!(report(&named).await, Ok(1));
    named.tls.server_name = Some("other.example".into());
    let refusal = report(&named).await.unwrap_err();
    assert!(refusal.contains("certificate"), "{refusal}");
    named.tls.verify = false;
    assert_eq!(report(&named).await, Ok(1));

    let mut stranger = good.clone();
    stranger.tls.cert = None;
    stranger.tls.key = None;
    assert!(report(&stranger).await.is_err());

    let mut distrustful = good.clone();
    distrustful.tls.ca_cert = None;
    let refusal = report(&distrustful).await.unwrap_err();
    assert!(refusal.contains("certificate"), "{refusal}");
    distrustful.tls.ca_path = Some(secure.file("authorities"));
    std::fs::create_dir(secure.file("authorities")).unwrap();
    std::fs::copy(
        secure.file("consul-agent-ca.pem"),
        secure.file("authorities/ca.pem"),
    )
    .unwrap();
    assert_eq!(report(&distrustful).await, Ok(1));

    // One file with both: named as the certificate only.
    let both = secure.file("both.pem");
    let mut text = std::fs::read(secure.file("dc1-client-consul-0-key.pem")).unwrap();
    text.extend(std::fs::read(secure.file("dc1-client-consul-0.pem")).unwrap());
    std::fs::write(&both, text).unwrap();
    let mut single = good.clone();
    single.tls.cert = Some(both);
    single.tls.key = None;
    single.address = format!("https://localhost:{}", secure.port);
    single.tls.enabled = false;
    assert_eq!(report(&single).await, Ok(1));
    drop(secure.consul);
}

#[tokio::test]
async fn the_certificate_that_consul_itself_presents_can_be_trusted() {
    let openssl = Openssl::new();
    let name = "subjectAltName=DNS:localhost,IP:127.0.0.1";
    let pair = openssl.self_signed("consul", KeyKind::Ec, &[name]);
    let port = free_port();
    let consul = ConsulAgent::start_with(json!({
        "ports": {"https": port},
        "cert_file": pair.cert,
        "key_file": pair.key,
    }))
    .await;
    consul.register_service("web", "a", 80, &[], &[]).await;
    let trusting = |ca_cert: &Path| {
        let mut settings = settings(&format!("https://localhost:{port}"));
        settings.tls.ca_cert = Some(ca_cert.to_owned());
        settings
    };
    assert_eq!(report(&trusting(&pair.cert)).await, Ok(1));
    let other = openssl.self_signed("other", KeyKind::Ec, &[name]);
    let refusal = report(&trusting(&other.cert)).await.unwrap_err();
    assert!(refusal.contains("as in `ca_cert`"), "{refusal}");
}

#[test]
fn an_address_is_no_server_name() {
    let mut secure = settings("https://localhost:8501");
    secure.tls.server_name = Some("10.0.0.1".into());
    let error = ConsulClient::new(&secure).unwrap_err();
    assert!(
        matches!(&error, SettingsError::InvalidServerName(invalid) if invalid.name == "10.0.0.1"),
        "{error:?}"
    );
}
