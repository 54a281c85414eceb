//! `consul` and `vault`.

use cts_core::hidden::HIDDEN;
use secrecy::{ExposeSecret, SecretString};

use crate::blocks::client_tls::ClientTls;
use crate::blocks::consul::ConsulConfig;
use crate::blocks::environment::Setting;
use crate::blocks::vault::VaultConfig;
use crate::dump_body::Body;
use crate::dump_values::path;
use crate::keys::dumped;

pub(super) fn consul(consul: &ConsulConfig) -> Body {
    let mut body = Body::default();
    body.set("address", consul.address.as_str());
    body.set("token", secret(consul.token.as_ref()));
    body.set("kv_path", consul.kv_path.as_str());
    body.set("hold_filtered", consul.hold_filtered);
    let by_file = consul.tls.enabled || consul.address.to_ascii_lowercase().starts_with("https://");
    if consul.https && !by_file {
        body.note(format!("{} is true", Setting::CONSUL_HTTPS.variable()));
    }
    for (setting, value) in [
        (Setting::CONSUL_NAMESPACE, &consul.namespace),
        (Setting::CONSUL_PARTITION, &consul.partition),
    ] {
        if let Some(value) = value {
            body.note(format!("{} is {value}", setting.variable()));
        }
    }
    let mut auth = Body::default();
    auth.set("enabled", consul.auth.is_some());
    if let Some(written) = &consul.auth {
        auth.set("username", written.username.as_str());
        auth.set("password", secret(Some(&written.password)));
    }
    body.block("auth", auth);
    body.block("tls", client_tls(&consul.tls));
    body.block("transport", dumped(&consul.transport));
    let registration = dumped(&consul.service_registration);
    body.block("service_registration", registration);
    body
}

pub(super) fn vault(vault: Option<&VaultConfig>) -> Body {
    let mut body = Body::default();
    body.set("enabled", vault.is_some());
    let Some(vault) = vault else { return body };
    body.set("address", vault.address.as_str());
    body.set("namespace", vault.namespace.as_str());
    match &vault.vault_agent_token_file {
        Some(file) => body.set("vault_agent_token_file", path(file)),
        None => body.set("token", secret(vault.token.as_ref())),
    }
    body.set("renew_token", vault.renew_token);
    body.set("unwrap_token", vault.unwrap_token);
    body.block("tls", client_tls(&vault.tls));
    body.block("transport", dumped(&vault.transport));
    body
}

pub(super) fn client_tls(tls: &ClientTls) -> Body {
    let mut body = Body::default();
    body.set("enabled", tls.enabled);
    body.set("verify", tls.verify);
    body.set("ca_cert", tls.ca_cert.as_str());
    body.set("ca_path", tls.ca_path.as_str());
    body.set("cert", tls.cert.as_str());
    body.set("key", tls.key.as_str());
    body.set("server_name", tls.server_name.as_str());
    body
}

/// Whether there is one is shown.
fn secret(secret: Option<&SecretString>) -> &'static str {
    match secret {
        Some(secret) if !secret.expose_secret().is_empty() => HIDDEN,
        _ => "",
    }
}
