//! `consul`: the connection and the registration there (docs/configuration.md#consul).

mod address;
mod decode;

use secrecy::SecretString;

use crate::blocks::client_tls::ClientTls;
use crate::blocks::transport::Transport;

pub(crate) use address::{has_path, without_slash};
pub(crate) use decode::decode_consul;

/// How Consul is reached.
#[derive(Debug, Clone)]
pub struct ConsulConfig {
    /// `host:port`, or a URL with `http://`, `https://` or `unix://`; never empty, and without a slash at its end.
    pub address: String,
    /// Whether the connection uses TLS: because `tls` is enabled, or because of the address or the
    /// environment.
    pub https: bool,
    /// ACL token.
    pub token: Option<SecretString>,
    /// HTTP basic authentication.
    pub auth: Option<BasicAuth>,
    /// `tls`.
    pub tls: ClientTls,
    /// `transport`.
    pub transport: Transport,
    /// `kv_path`, as written: base of the default path of Terraform's state.
    pub kv_path: String,
    /// Consul Enterprise namespace for requests that name none; from the environment only.
    pub namespace: Option<String>,
    /// Consul Enterprise partition; from the environment only.
    pub partition: Option<String>,
    /// `hold_filtered`, cts-only: items that vanish when Consul begins to filter by the token's rights are
    /// kept.
    pub hold_filtered: bool,
    /// `service_registration`.
    pub service_registration: ServiceRegistration,
}

/// HTTP basic authentication.
#[derive(Debug, Clone)]
pub struct BasicAuth {
    /// User name, may be empty.
    pub username: String,
    /// Password, may be empty.
    pub password: SecretString,
}

/// `consul.service_registration` (`docs/configuration.md#consulservice_registration`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceRegistration {
    /// Whether this instance registers itself.
    pub enabled: bool,
    pub service_name: String,
    /// Address; empty for the agent's.
    pub address: String,
    /// Consul Enterprise namespace, may be empty.
    pub namespace: String,
    /// `default_check`.
    pub default_check: DefaultCheck,
}

/// `consul.service_registration.default_check`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultCheck {
    /// Whether the registration has a health check.
    pub enabled: bool,
    /// URL of this instance's API as Consul reaches it, without `/v1/health`; never empty.
    pub address: String,
}
