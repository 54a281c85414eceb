//! Channels to servers over the network.

use std::net::SocketAddr;
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};

use crate::address::{Address, AddressProblem, InvalidAddress};
use crate::tls::{ClientKeys, ClientTls};

/// Time for a connection to come about, TLS included.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);

/// Within the sum of both times, a call in progress notices that its server has stopped or is cut off.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(2);
const KEEP_ALIVE_LIMIT: Duration = Duration::from_secs(2);

/// Most bytes of headers, which hold the texts of errors. Texts of Terraform are among them, three times as
/// long on the wire if they are not plain ASCII.
pub(crate) const STATUS_BYTES: u32 = 1024 * 1024;

/// A channel in plain text to the one server at `address`.
///
/// The channel connects with the first call and again after every loss, so the caller need not care about a server that
/// starts later or restarts. For several servers or TLS use [`Peers`](crate::Peers). Must be called inside a tokio
/// runtime.
pub fn connect(address: &str) -> Result<Channel, InvalidAddress> {
    let address: Address = address.parse()?;
    if address.demands_tls() {
        return Err(address.refused(AddressProblem::TlsMissing));
    }
    Ok(endpoint(&address, &address.to_string(), None).connect_lazy())
}

/// A channel with TLS to the server at `address`, for programs that end before certificates change: the files are used
/// as they are now. Otherwise like [`connect`].
pub fn connect_tls(address: &Address, tls: &ClientTls) -> Channel {
    endpoint(address, &address.to_string(), Some(&tls.current())).connect_lazy()
}

/// The endpoint of one of the sockets of `address`.
pub(crate) fn peer_endpoint(
    address: &Address,
    socket: SocketAddr,
    tls: Option<&ClientKeys>,
) -> Endpoint {
    endpoint(address, &socket.to_string(), tls)
}

fn endpoint(address: &Address, target: &str, tls: Option<&ClientKeys>) -> Endpoint {
    let scheme = if tls.is_some() { "https" } else { "http" };
    // The name in the request stays the configured name, for each of its sockets.
    let origin = format!("{scheme}://{address}")
        .parse()
        .expect("host and port were checked when the address was read");
    let endpoint = Endpoint::from_shared(format!("{scheme}://{target}"))
        .expect("a host and a port make a URL")
        .origin(origin)
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_LIMIT)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .http2_max_header_list_size(STATUS_BYTES)
        .keep_alive_timeout(KEEP_ALIVE_LIMIT);
    match tls {
        None => endpoint,
        Some(keys) => keys
            .secure(endpoint, (address, target), CONNECT_LIMIT)
            .expect("keys and server name were checked when they were read"),
    }
}
