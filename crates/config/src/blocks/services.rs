//! `services`, a cts-only block: where the other services are, and the settings of the connections to them.

use std::net::SocketAddr;
use std::path::PathBuf;

use http::uri::Authority;

use crate::blocks::client_limits::ServicesLimits;
use crate::settings::settings;

settings! {
    /// `services`; of use where the services are processes of their own.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ServicesConfig {
        /// `schedulers`, as written: `host:port`, or a URL of `http` or `https` with a port and no path.
        /// Empty if none are configured.
        pub schedulers: Vec<String> = Vec::new() => texts(check_address),
        /// `watchers`, likewise.
        pub watchers: Vec<String> = Vec::new() => texts(check_address),
        /// `plaintext`: whether services may talk without TLS beyond this machine.
        pub plaintext: bool = false => flag,
        /// `listen`.
        pub listen: ListenConfig = ListenConfig::default() => block,
        /// `tls`; without it connections are not encrypted.
        pub tls: Option<ServicesTls> = None => optional_block,
        /// `limits`.
        pub limits: ServicesLimits = ServicesLimits::default() => block,
    }
}

settings! {
    /// `services.listen`: where each service serves gRPC, `None` for its default. The services share the file, so each
    /// has its own key.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct ListenConfig {
        /// `watcher`.
        pub watcher: Option<SocketAddr> = None => socket("10.0.0.1:8561"),
        /// `scheduler`.
        pub scheduler: Option<SocketAddr> = None => socket("10.0.0.1:8560"),
        /// `worker`.
        pub worker: Option<SocketAddr> = None => socket("127.0.0.1:8562"),
        /// `gateway`.
        pub gateway: Option<SocketAddr> = None => socket("127.0.0.1:8563"),
    }
}

settings! {
    /// `services.tls`: what a service shows the others and demands of them. The paths are absolute; files
    /// are not opened here.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ServicesTls {
        /// PEM file of the authorities that sign the services' certificates.
        pub ca_cert: PathBuf = PathBuf::new() => required_path,
        /// PEM file of this service's certificate, shown as server and as client.
        pub cert: PathBuf = PathBuf::new() => required_path,
        /// PEM file of its private key.
        pub key: PathBuf = PathBuf::new() => required_path,
        /// Name that the certificates of servers must have; `None` for the host of the address.
        pub server_name: Option<String> = None => optional_text,
        /// Whether clients must show a certificate.
        pub verify_incoming: bool = true => flag,
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
