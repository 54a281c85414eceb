//! `services`, a cts-only block: where the other services are, and the settings of the connections to them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use http::uri::Authority;

use crate::blocks::client_limits::{ServicesLimits, decode_services_limits};
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::decode::path::clean;
use crate::decode::socket::decode_socket;

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

pub(crate) fn decode_services(mut block: Block<'_>, current_dir: &Path) -> ServicesConfig {
    let services = ServicesConfig {
        schedulers: decode_addresses(&mut block, "schedulers"),
        watchers: decode_addresses(&mut block, "watchers"),
        listen: decode_listen(block.block_or_empty("listen")),
        plaintext: block.flag("plaintext").unwrap_or(false),
        tls: block
            .block("tls")
            .and_then(|tls| decode_tls(tls, current_dir)),
        limits: decode_services_limits(block.block_or_empty("limits")),
    };
    block.finish();
    services
}

fn decode_listen(mut block: Block<'_>) -> ListenConfig {
    let listen = ListenConfig {
        watcher: decode_socket(&mut block, "watcher", "10.0.0.1:8561"),
        scheduler: decode_socket(&mut block, "scheduler", "10.0.0.1:8560"),
        worker: decode_socket(&mut block, "worker", "127.0.0.1:8562"),
        gateway: decode_socket(&mut block, "gateway", "127.0.0.1:8563"),
    };
    block.finish();
    listen
}

fn decode_addresses(block: &mut Block<'_>, name: &'static str) -> Vec<String> {
    let written = block.items(name);
    for address in &written {
        if let Err(reason) = check_address(&address.value) {
            let message = format!(
                "{} in `{}` {reason}",
                coerce::quoted(&address.value),
                block.path_of(name)
            );
            block.sink().error(&address.place, message);
        }
    }
    written.into_iter().map(|address| address.value).collect()
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

/// Reports each of the three files that is not named.
fn decode_tls(mut block: Block<'_>, current_dir: &Path) -> Option<ServicesTls> {
    let mut path = |name| {
        let written = block.required_text(name)?;
        Some(clean(&current_dir.join(written)))
    };
    let (ca_cert, cert, key) = (path("ca_cert"), path("cert"), path("key"));
    let server_name = block.filled_text("server_name").map(|name| name.value);
    let verify_incoming = block.flag("verify_incoming").unwrap_or(true);
    block.finish();
    Some(ServicesTls {
        ca_cert: ca_cert?,
        cert: cert?,
        key: key?,
        server_name,
        verify_incoming,
    })
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
