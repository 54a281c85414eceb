//! One process of a cluster.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use cts_rpc::{Address, ClientTls};
use cts_testkit::free_port;
use tonic::transport::Channel;

use super::plan::{Plan, Service};
use crate::api::Api;
use crate::launcher::Launcher;
use crate::process::Process;

/// A process and its place, which it keeps over restarts.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) service: Service,
    pub(super) index: usize,
    pub(super) port: u16,
    pub(super) channel: Channel,
    pub(super) api: Option<Api>,
    /// Arguments after the command.
    arguments: Vec<String>,
    pub(super) process: Option<Process>,
    pub(super) paused: bool,
}

impl Member {
    /// Chooses ports and writes the file of this process alone.
    pub(super) fn new(launcher: &Launcher, plan: &Plan, service: Service, index: usize) -> Self {
        let port = free_port();
        let api_port = (service == Service::Gateway).then(free_port);
        let name = format!("{service}-{index}");
        let own = format!("{name}.hcl");
        let text = own_configuration(plan, service, &name, api_port);
        std::fs::write(launcher.path().join(&own), text).unwrap();
        let shared = plan
            .files
            .iter()
            .filter(|(of, _)| of.is_none_or(|of| of == service));
        let named = |file: &String| file.replace("{name}", &name);
        let [services, database] = &plan.addresses;
        let mut files = vec![named(services)];
        files.extend(shared.map(|(_, file)| named(file)));
        if service == Service::Scheduler {
            files.push(named(database));
        }
        files.push(own);
        let mut arguments = vec![format!("-grpc-address=127.0.0.1:{port}")];
        arguments.extend(files.iter().map(|file| format!("-config-file={file}")));
        match service {
            Service::Gateway => arguments.push("-bind-address=127.0.0.1".to_owned()),
            Service::Worker => {
                let directory = working_directory(launcher, plan, index);
                arguments.push(format!("-working-dir={}", directory.display()));
            }
            Service::Watcher | Service::Scheduler => {}
        }
        let api = api_port.map(|port| Api::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
        Self {
            service,
            index,
            port,
            channel: channel(port, plan.tls.as_ref()),
            api,
            arguments,
            process: None,
            paused: false,
        }
    }

    pub(super) fn log(&self) -> String {
        format!("{}-{}.log", self.service, self.index)
    }

    /// Starts the process, more arguments last.
    pub(super) fn launch(&mut self, launcher: &Launcher, more: &[String]) {
        assert!(self.process.is_none(), "{} runs already", self.log());
        let mut arguments = vec![self.service.name().to_owned()];
        arguments.extend(self.arguments.iter().chain(more).cloned());
        self.process = Some(launcher.run("cts", &arguments, &self.log()));
        self.paused = false;
    }

    pub(super) fn output(&self, launcher: &Launcher) -> String {
        let bytes = std::fs::read(launcher.path().join(self.log())).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(super) fn running(&self) -> &Process {
        let process = self.process.as_ref();
        process.unwrap_or_else(|| panic!("{} {} does not run", self.service, self.index))
    }

    pub(super) fn take(&mut self) -> Process {
        self.paused = false;
        let process = self.process.take();
        process.unwrap_or_else(|| panic!("{} {} does not run", self.service, self.index))
    }
}

/// Working directory of a worker; the first worker has the one of `cts start`.
pub(super) fn working_directory(launcher: &Launcher, plan: &Plan, index: usize) -> PathBuf {
    let parent = plan.workers_below.as_deref().unwrap_or(launcher.path());
    if index == 0 {
        parent.join("work")
    } else {
        parent.join(format!("work-{index}"))
    }
}

fn channel(port: u16, tls: Option<&ClientTls>) -> Channel {
    match tls {
        None => cts_rpc::connect(&format!("http://127.0.0.1:{port}")).unwrap(),
        Some(tls) => {
            let address: Address = format!("127.0.0.1:{port}").parse().unwrap();
            cts_rpc::connect_tls(&address, tls)
        }
    }
}

fn own_configuration(plan: &Plan, service: Service, name: &str, api_port: Option<u16>) -> String {
    let of_service = match service {
        Service::Watcher => String::new(),
        Service::Scheduler => of_scheduler(plan, name),
        Service::Worker => format!("worker {{ slots = {} }}\n", plan.slots),
        Service::Gateway => api_port.map_or_else(String::new, |port| format!("port = {port}\n")),
    };
    format!("id = \"{name}\"\n{of_service}")
}

fn of_scheduler(plan: &Plan, name: &str) -> String {
    let (lease, session) = (plan.lease_ttl.as_millis(), plan.session_ttl.as_millis());
    let high_availability = plan.storage.map_or_else(String::new, |storage| {
        format!(
            "high_availability {{\n  cluster {{\n    name = \"edge\"\n    \
             storage \"{storage}\" {{ session_ttl = \"{session}ms\" }}\n  }}\n  \
             instance {{ address = \"{name}.example.net:8558\" }}\n}}\n"
        )
    });
    let on_takeover = plan
        .on_takeover
        .map_or_else(String::new, |what| format!("  on_takeover = \"{what}\"\n"));
    format!("scheduler {{\n  lease_ttl = \"{lease}ms\"\n{on_takeover}}}\n{high_availability}")
}
