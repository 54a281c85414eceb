//! `consul`: the connection and the registration there (spec/config.md 7).

mod decode;

use std::time::Duration;

use secrecy::SecretString;

pub(crate) use decode::decode_consul;

/// How Consul is reached.
#[derive(Debug, Clone)]
pub struct ConsulConfig {
    /// `host:port`, or a URL with `http://`, `https://` or `unix://`; never empty.
    pub address: String,
    /// Whether the connection uses TLS: `tls` is enabled, the address says so, or the environment.
    pub https: bool,
    /// ACL token.
    pub token: Option<SecretString>,
    /// HTTP basic authentication.
    pub auth: Option<BasicAuth>,
    /// `tls`.
    pub tls: ConsulTls,
    /// `transport`.
    pub transport: Transport,
    /// `kv_path`, as written: base of the default path of Terraform's state.
    pub kv_path: String,
    /// Consul Enterprise namespace for requests that name none; from the environment only.
    pub namespace: Option<String>,
    /// Consul Enterprise partition; from the environment only.
    pub partition: Option<String>,
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

/// `consul.tls` (spec/config.md 7.2). Empty strings are unset; files are not opened here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsulTls {
    /// Whether TLS is on. Values from the environment do not switch it on.
    pub enabled: bool,
    /// Whether the server's certificate is verified.
    pub verify: bool,
    /// PEM file of certificate authorities; beats `ca_path`.
    pub ca_cert: String,
    /// Directory of certificate authorities.
    pub ca_path: String,
    /// PEM file of the client certificate, with its key if `key` is empty.
    pub cert: String,
    /// PEM file of the client's private key.
    pub key: String,
    /// Name that the server's certificate must have.
    pub server_name: String,
}

/// `consul.transport` (spec/config.md 7.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transport {
    /// Interval of TCP keep-alive probes.
    pub dial_keep_alive: Duration,
    /// Limit for establishing a connection.
    pub dial_timeout: Duration,
    /// Whether every request gets a connection of its own.
    pub disable_keep_alives: bool,
    /// How long an unused connection is kept.
    pub idle_conn_timeout: Duration,
    /// Unused connections over all hosts; 0 for no limit.
    pub max_idle_conns: usize,
    /// Unused connections for each host.
    pub max_idle_conns_per_host: usize,
    /// Limit for the TLS handshake.
    pub tls_handshake_timeout: Duration,
}

/// `consul.service_registration` (spec/config.md 7.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceRegistration {
    /// Whether this instance registers itself.
    pub enabled: bool,
    /// Service name.
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
