//! The gRPC listener of the service: whether this machine has its address, and whether TLS protects it.

use std::net::SocketAddr;

use tokio::net::TcpListener;

use super::finding::Finding;
use super::subject::Subject;
use crate::services::connections::transport_rule;

const LISTENER: &str = "listener";

/// Checks the address. The service itself may use the port already, so any free port stands in for it.
pub(super) async fn check(subject: Subject<'_>) -> Vec<Finding> {
    let Some(address) = subject.grpc else {
        return Vec::new();
    };
    let rule = transport_rule(&subject.config.services);
    let finding = match rule.check_listener(address) {
        Err(refused) => Finding::error(
            LISTENER,
            refused.to_string(),
            "`cts certs` makes certificates; see docs/configuration.md#tls-between-the-services",
        ),
        Ok(()) => match TcpListener::bind(SocketAddr::new(address.ip(), 0)).await {
            Ok(_listener) => Finding::ok(LISTENER, format!("gRPC at {address}")),
            Err(error) => Finding::error(
                LISTENER,
                format!("cannot listen on {address}: {error}"),
                "name an address of this machine in services.listen or -grpc-address",
            ),
        },
    };
    vec![finding]
}
