//! What a service uses, as far as its settings can be unsafe.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use cts_cli::{
    ApiAddress, Gateway, Scheduler, ServiceCommand, ServiceRole, Start, Watcher, Worker,
};
use cts_config::Config;

/// Where a service listens, as its options say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Listeners {
    /// The API.
    pub(crate) api: Option<IpAddr>,
    /// gRPC.
    pub(crate) grpc: Option<SocketAddr>,
}

/// Resources that a service uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    pub(crate) consul: bool,
    pub(crate) vault: bool,
    pub(crate) database: bool,
    pub(crate) terraform: bool,
    /// It talks with other services, or with their clients, over the network.
    pub(crate) services: bool,
    /// Other processes can call the service by gRPC.
    pub(crate) grpc: bool,
    /// The service offers the API beyond this machine.
    pub(crate) open_api: bool,
}

impl Uses {
    pub(super) fn of_command(command: &ServiceCommand, config: &Config) -> Self {
        let listens = |api, grpc| Listeners { api, grpc };
        let (role, listeners) = match command {
            ServiceCommand::Start(start) => {
                let Start {
                    api, grpc_address, ..
                } = start;
                let serves = !start.once && !start.inspect && start.inspect_task.is_empty();
                let api = serves.then(|| api_address(api));
                (None, listens(api, *grpc_address))
            }
            ServiceCommand::Watcher(Watcher { grpc_address, .. }) => (
                Some(ServiceRole::Watcher),
                listens(None, Some(*grpc_address)),
            ),
            ServiceCommand::Scheduler(Scheduler { grpc_address, .. }) => (
                Some(ServiceRole::Scheduler),
                listens(None, Some(*grpc_address)),
            ),
            ServiceCommand::Worker(Worker { grpc_address, .. }) => (
                Some(ServiceRole::Worker),
                listens(None, Some(*grpc_address)),
            ),
            ServiceCommand::Gateway(Gateway {
                api, grpc_address, ..
            }) => {
                let listeners = listens(Some(api_address(api)), Some(*grpc_address));
                (Some(ServiceRole::Gateway), listeners)
            }
        };
        Self::of(role, listeners, config)
    }

    /// Those of one service; without a role those of `cts start`.
    pub(crate) fn of(role: Option<ServiceRole>, listeners: Listeners, config: &Config) -> Self {
        let is = |one: ServiceRole| role.is_none_or(|role| role == one);
        let serves_api = is(ServiceRole::Gateway) && listeners.api.is_some();
        let registers = serves_api && config.consul.service_registration.enabled;
        let worker = is(ServiceRole::Worker);
        let grpc = listeners.grpc.map(|address| address.ip());
        Self {
            consul: is(ServiceRole::Watcher) || worker || registers,
            vault: worker,
            database: is(ServiceRole::Scheduler),
            terraform: worker,
            services: role.is_some() || grpc.is_some_and(is_reachable),
            grpc: grpc.is_some(),
            open_api: serves_api && listeners.api.is_some_and(is_reachable),
        }
    }
}

/// Where the API listens by these options; by default on every address of the host.
pub(crate) fn api_address(options: &ApiAddress) -> IpAddr {
    let all = Ipv4Addr::UNSPECIFIED.into();
    options.bind_address.unwrap_or(all)
}

/// Whether others reach what listens on this address.
pub(super) fn is_reachable(address: IpAddr) -> bool {
    !address.to_canonical().is_loopback()
}
