//! Channels to servers over the network.

use std::time::Duration;

use tonic::transport::{Channel, Endpoint};

/// An address is no URL of a gRPC server.
#[derive(Debug, thiserror::Error)]
#[error("{address:?} is not the address of a gRPC server, such as http://127.0.0.1:8560")]
pub struct InvalidAddress {
    address: String,
    #[source]
    source: tonic::transport::Error,
}

/// A channel to the server at `address`. It connects with the first call and again after every loss,
/// so a server that starts later or restarts needs no care of the caller's.
pub fn connect(address: &str) -> Result<Channel, InvalidAddress> {
    let endpoint = Endpoint::from_shared(address.to_owned()).map_err(|source| InvalidAddress {
        address: address.to_owned(),
        source,
    })?;
    Ok(endpoint
        .tcp_nodelay(true)
        .connect_timeout(Duration::from_secs(5))
        .http2_keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(10))
        .connect_lazy())
}
