//! Shared parts of the HTTP clients that the library does not bring.
#![warn(missing_docs)]

use std::net::{IpAddr, SocketAddr};

use reqwest::ClientBuilder;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The name cannot be used for SNI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the TLS server name {name:?} is not a host name")]
pub struct InvalidServerName {
    /// The name.
    pub name: String,
}

/// Makes a client whose URLs carry `name` connect to `host`.
///
/// The HTTP library takes SNI and the name to verify from the URL. So the URL carries the server name,
/// and looking that up gives the address of the real host. A proxy would get the wrong host,
/// therefore none is used.
pub fn with_server_name(
    builder: ClientBuilder,
    name: &str,
    host: &str,
) -> Result<ClientBuilder, InvalidServerName> {
    let is_host_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let usable = !name.is_empty() && name.parse::<IpAddr>().is_err();
    if !usable || !name.bytes().all(is_host_name) {
        return Err(InvalidServerName {
            name: name.to_owned(),
        });
    }
    let real = RealHost(host.to_owned());
    Ok(builder.no_proxy().dns_resolver(real))
}

#[derive(Debug)]
struct RealHost(String);

impl Resolve for RealHost {
    fn resolve(&self, _server_name: Name) -> Resolving {
        let host = self.0.clone();
        Box::pin(async move {
            // Port 0 stands for the one in the URL.
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
