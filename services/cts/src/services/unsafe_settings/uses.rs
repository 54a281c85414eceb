//! Dependencies and listeners of a service, as far as its settings can be unsafe.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use cts_cli::{ApiAddress, Doctor, Gateway, ServiceCommand, ServiceRole};
use cts_config::Config;
use cts_core::callers;

use crate::listeners;

/// Listening addresses of a service, by its options and `services.listen`.
#[derive(Debug, Clone, Copy, Default)]
struct Listeners {
    api: Option<IpAddr>,
    grpc: Option<SocketAddr>,
}

/// A service as named by its command and options, at its start and in the checks before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Service {
    /// `None` for all services in one process.
    role: Option<ServiceRole>,
    listeners: Listeners,
}

impl Service {
    /// The service that a command starts.
    pub(crate) fn of_command(command: &ServiceCommand, config: &Config) -> Self {
        let (role, api) = match command {
            ServiceCommand::Start(start) => {
                let serves = !start.once && !start.inspect && start.inspect_task.is_empty();
                (None, serves.then_some(&start.api))
            }
            ServiceCommand::Watcher(_) => (Some(ServiceRole::Watcher), None),
            ServiceCommand::Scheduler(_) => (Some(ServiceRole::Scheduler), None),
            ServiceCommand::Worker(_) => (Some(ServiceRole::Worker), None),
            ServiceCommand::Gateway(Gateway { api, .. }) => (Some(ServiceRole::Gateway), Some(api)),
        };
        Self {
            role,
            listeners: Listeners {
                api: api.map(api_address),
                grpc: listeners::of_command(command, &config.services.listen),
            },
        }
    }

    /// The service that `cts doctor` checks.
    pub(crate) fn of_checks(doctor: &Doctor, config: &Config) -> Self {
        let given = doctor.grpc_address;
        let own = |role| listeners::of_role(role, given, &config.services.listen);
        Self {
            role: doctor.role,
            listeners: Listeners {
                api: Some(api_address(&doctor.api)),
                grpc: doctor.role.map(own).or(given),
            },
        }
    }

    /// The address for gRPC; `None` if the service serves none.
    pub(crate) fn grpc(self) -> Option<SocketAddr> {
        self.listeners.grpc
    }

    /// The role that callers of the service expect in its certificate; `None` if the service has no callers by gRPC.
    pub(crate) fn server_role(self) -> Option<callers::ServiceRole> {
        match self.role {
            // Commands call it as a scheduler.
            None => self
                .listeners
                .grpc
                .map(|_address| callers::ServiceRole::Scheduler),
            Some(ServiceRole::Watcher) => Some(callers::ServiceRole::Watcher),
            Some(ServiceRole::Scheduler) => Some(callers::ServiceRole::Scheduler),
            Some(ServiceRole::Worker) => Some(callers::ServiceRole::Worker),
            Some(ServiceRole::Gateway) => Some(callers::ServiceRole::Gateway),
        }
    }
}

/// Resources that a service uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    pub(crate) consul: bool,
    pub(crate) vault: bool,
    pub(crate) database: bool,
    pub(crate) terraform: bool,
    /// The service communicates with other services, or with their clients, over the network.
    pub(crate) services: bool,
    /// Other processes can call the service by gRPC.
    pub(crate) grpc: bool,
    /// The service offers the API beyond this machine.
    pub(crate) open_api: bool,
    /// The service offers the page beyond this machine, on a listener of its own.
    pub(crate) open_page: bool,
}

impl Uses {
    /// The uses of a service.
    pub(crate) fn of(service: Service, config: &Config) -> Self {
        let Service { role, listeners } = service;
        let is = |one: ServiceRole| role.is_none_or(|role| role == one);
        let serves_api = is(ServiceRole::Gateway) && listeners.api.is_some();
        let registers = serves_api && config.consul.service_registration.enabled;
        let worker = is(ServiceRole::Worker);
        let grpc = listeners.grpc.map(|address| address.ip());
        let page = config.page.listen.map(|address| address.ip());
        Self {
            consul: is(ServiceRole::Watcher) || worker || registers,
            vault: worker,
            database: is(ServiceRole::Scheduler),
            terraform: worker,
            services: role.is_some() || grpc.is_some_and(is_reachable),
            grpc: grpc.is_some(),
            open_api: serves_api && listeners.api.is_some_and(is_reachable),
            open_page: serves_api && config.page.enabled && page.is_some_and(is_reachable),
        }
    }
}

/// Listening address of the API by these options; by default every address of the host.
fn api_address(options: &ApiAddress) -> IpAddr {
    let all = Ipv4Addr::UNSPECIFIED.into();
    options.bind_address.unwrap_or(all)
}

/// Whether other machines can reach this address.
pub(super) fn is_reachable(address: IpAddr) -> bool {
    !address.to_canonical().is_loopback()
}
