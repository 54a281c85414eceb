//! `services`, a cts-only block: where the other services are, and the settings of the connections to them.

use std::net::SocketAddr;
use std::path::PathBuf;

use http::uri::Authority;

use crate::blocks::client_limits::ServicesLimits;
use crate::keys::{Keyed, Keys};

/// `services`; of use where the services are processes of their own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServicesConfig {
    /// `schedulers`, as written: `host:port`, or a URL of `http` or `https` with a port and no path.
    /// Empty if none are configured.
    pub schedulers: Vec<String>,
    /// `watchers`, likewise.
    pub watchers: Vec<String>,
    /// `listen`.
    pub listen: ListenConfig,
    /// `plaintext`: whether services may talk without TLS beyond this machine.
    pub plaintext: bool,
    /// `tls`; without it connections are not encrypted.
    pub tls: Option<ServicesTls>,
    /// `limits`.
    pub limits: ServicesLimits,
}

/// `services.listen`: where each service serves gRPC, `None` for its default. The services share the file, so each has
/// its own key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ListenConfig {
    /// `watcher`.
    pub watcher: Option<SocketAddr>,
    /// `scheduler`.
    pub scheduler: Option<SocketAddr>,
    /// `worker`.
    pub worker: Option<SocketAddr>,
    /// `gateway`.
    pub gateway: Option<SocketAddr>,
}

/// `services.tls`: what a service shows the others and demands of them. The paths are absolute; files
/// are not opened here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServicesTls {
    /// PEM file of the authorities that sign the services' certificates.
    pub ca_cert: PathBuf,
    /// PEM file of this service's certificate, shown as server and as client.
    pub cert: PathBuf,
    /// PEM file of its private key.
    pub key: PathBuf,
    /// Name that the certificates of servers must have; `None` for the host of the address.
    pub server_name: Option<String>,
    /// Whether clients must show a certificate.
    pub verify_incoming: bool,
}

impl Default for ServicesTls {
    fn default() -> Self {
        Self {
            ca_cert: PathBuf::new(),
            cert: PathBuf::new(),
            key: PathBuf::new(),
            server_name: None,
            verify_incoming: true,
        }
    }
}

impl Keyed for ServicesConfig {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        keys.texts("schedulers", &mut self.schedulers, check_address);
        keys.texts("watchers", &mut self.watchers, check_address);
        keys.flag("plaintext", &mut self.plaintext);
        keys.block("listen", &mut self.listen);
        keys.optional_block("tls", &mut self.tls);
        keys.block("limits", &mut self.limits);
    }
}

impl Keyed for ListenConfig {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        keys.socket("watcher", &mut self.watcher, "10.0.0.1:8561");
        keys.socket("scheduler", &mut self.scheduler, "10.0.0.1:8560");
        keys.socket("worker", &mut self.worker, "127.0.0.1:8562");
        keys.socket("gateway", &mut self.gateway, "127.0.0.1:8563");
    }
}

impl Keyed for ServicesTls {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        keys.required_path("ca_cert", &mut self.ca_cert);
        keys.required_path("cert", &mut self.cert);
        keys.required_path("key", &mut self.key);
        keys.optional_text("server_name", &mut self.server_name);
        keys.flag("verify_incoming", &mut self.verify_incoming);
    }
}

/// Whether `text` is `host:port`, with or without `http://` or `https://` before it.
fn check_address(text: &str) -> Result<(), &'static str> {
    const EXPECTED: &str = "is no address such as \"10.0.0.1:8560\" or \"https://host:8560\"";
    let authority = match text.split_once("://") {
        Some((scheme, rest)) if ["http", "https"].contains(&scheme) => rest,
        Some(_) => return Err("has another scheme than http:// or https://"),
        None => text,
    };
    if authority.contains('@') {
        return Err("must not hold a user name: services know each other by certificates");
    }
    if authority.contains(['/', '?', '#']) {
        return Err("must end after the port");
    }
    let parsed: Authority = authority.parse().map_err(|_unusable| EXPECTED)?;
    if parsed.host().is_empty() {
        return Err(EXPECTED);
    }
    match parsed.port_u16() {
        Some(1..) => Ok(()),
        Some(0) | None => Err("needs a port between 1 and 65535, as in \"10.0.0.1:8560\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for good in [
            "10.0.0.1:8560",
            "scheduler.example.net:8560",
            "localhost:1",
            "[::1]:8560",
            "http://a:1",
            "https://[2001:db8::1]:65535",
        ] {
            assert_eq!(check_address(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "a",
            "a:",
            ":8560",
            "a:0",
            "a:65536",
            "a:b",
            "a b:1",
            "::1:8560",
            "http://a",
            "https://:1",
            "ftp://a:1",
            "unix:///run/x.sock",
            "http://a:1/",
            "a:1?x",
            "u:p@a:1",
        ] {
            assert!(check_address(bad).is_err(), "{bad}");
        }
    }
}
