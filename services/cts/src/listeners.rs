//! Address at which a service serves gRPC: its option, else `services.listen`, else the loopback.

use std::net::{Ipv4Addr, SocketAddr};

use cts_cli::{Gateway, Scheduler, ServiceCommand, ServiceRole, Start, Watcher, Worker};
use cts_config::ListenConfig;

/// The gRPC address of the service that a command starts. All services in one process serve gRPC only with the option.
pub(crate) fn of_command(command: &ServiceCommand, listen: &ListenConfig) -> Option<SocketAddr> {
    let (role, given) = match command {
        ServiceCommand::Start(Start { grpc_address, .. }) => return *grpc_address,
        ServiceCommand::Watcher(Watcher { grpc_address, .. }) => {
            (ServiceRole::Watcher, grpc_address)
        }
        ServiceCommand::Scheduler(Scheduler { grpc_address, .. }) => {
            (ServiceRole::Scheduler, grpc_address)
        }
        ServiceCommand::Worker(Worker { grpc_address, .. }) => (ServiceRole::Worker, grpc_address),
        ServiceCommand::Gateway(Gateway { grpc_address, .. }) => {
            (ServiceRole::Gateway, grpc_address)
        }
    };
    Some(of_role(role, *given, listen))
}

/// The gRPC address of a service that runs alone; `given` is its option.
pub(crate) fn of_role(
    role: ServiceRole,
    given: Option<SocketAddr>,
    listen: &ListenConfig,
) -> SocketAddr {
    let (configured, port) = match role {
        ServiceRole::Watcher => (listen.watcher, 8561),
        ServiceRole::Scheduler => (listen.scheduler, 8560),
        ServiceRole::Worker => (listen.worker, 8562),
        ServiceRole::Gateway => (listen.gateway, 8563),
    };
    let default = (Ipv4Addr::LOCALHOST, port).into();
    given.or(configured).unwrap_or(default)
}
