//! Watchers, schedulers, workers and gateways as processes of their own, over Postgres.

mod leader;
mod member;
mod plan;
mod workers;

use std::path::PathBuf;

use cts_testkit::eventually;
use nix::sys::signal::Signal;
use tonic::transport::Channel;

use self::member::Member;
pub use self::plan::{Plan, Service};
use crate::DEADLINE;
use crate::api::Api;
use crate::health::serving;
use crate::launcher::Launcher;
use crate::process::{Exit, Process};
use crate::site::Site;

/// Another process may take a port between choice and use.
const PORT_TRIES: usize = 5;

/// Processes of one cluster, each named by its kind and index. All are ended when this is dropped; processes
/// that their workers left running are ended when the [`Site`] is dropped.
///
/// A process keeps its ports, its configuration and its working directory over restarts. The output of
/// `scheduler 1` is in `scheduler-1.log`; when a test panics, the last lines of all are shown.
#[derive(Debug)]
pub struct Cluster {
    launcher: Launcher,
    plan: Plan,
    members: Vec<Member>,
    commands: usize,
}

impl Cluster {
    /// Starts all processes and waits until they are healthy.
    pub async fn start(site: &Site, plan: Plan) -> Self {
        for _ in 0..PORT_TRIES {
            let mut cluster = Self::lay_out(site, plan.clone()).await;
            cluster.launch_all();
            if cluster.all_began().await {
                return cluster;
            }
        }
        panic!("ports were taken {PORT_TRIES} times one after the other");
    }

    /// Chooses ports and writes configuration files; nothing runs yet.
    pub async fn lay_out(site: &Site, plan: Plan) -> Self {
        match &plan.database {
            None => {
                site.database().await;
            }
            Some(url) => site.write_database(url),
        }
        let launcher = site.launcher();
        let mut members = Vec::new();
        for service in Service::ALL {
            for index in 0..plan.count(service) {
                members.push(Member::new(&launcher, &plan, service, index));
            }
        }
        let addresses = |service| -> Vec<String> {
            let of_service = members.iter().filter(|member| member.service == service);
            of_service
                .map(|member| format!("127.0.0.1:{}", member.port))
                .collect()
        };
        let text = format!(
            "services {{\n  schedulers = {:?}\n  watchers = {:?}\n}}\n",
            addresses(Service::Scheduler),
            addresses(Service::Watcher)
        );
        site.write("services.hcl", &text);
        Self {
            launcher,
            plan,
            members,
            commands: 0,
        }
    }

    /// Starts every process that does not run, without waiting.
    pub fn launch_all(&mut self) {
        for member in &mut self.members {
            if member.process.is_none() {
                member.launch(&self.launcher, &[]);
            }
        }
    }

    /// Starts a process that does not run, without waiting.
    pub fn launch(&mut self, service: Service, index: usize) {
        self.launch_with(service, index, &[]);
    }

    /// Starts a process that does not run, with further arguments such as `-config-file=…`, without waiting.
    pub fn launch_with(&mut self, service: Service, index: usize, more: &[String]) {
        let position = self.position(service, index);
        self.members[position].launch(&self.launcher, more);
    }

    /// Starts a process that does not run and waits until it is healthy.
    pub async fn run(&mut self, service: Service, index: usize) {
        self.launch(service, index);
        self.wait_until_healthy(service, index).await;
    }

    /// Lays out one more worker or gateway, which the other processes need not be configured for, and returns
    /// its index.
    pub fn add(&mut self, service: Service) -> usize {
        assert!(
            matches!(service, Service::Worker | Service::Gateway),
            "nobody would know the address of another {service}"
        );
        let index = self.count(service);
        let member = Member::new(&self.launcher, &self.plan, service, index);
        self.members.push(member);
        index
    }

    /// Number of processes of a kind, running or not.
    pub fn count(&self, service: Service) -> usize {
        let of_service = self
            .members
            .iter()
            .filter(|member| member.service == service);
        of_service.count()
    }

    /// Waits until a running process says by gRPC that it serves. Panics if it ends instead.
    pub async fn wait_until_healthy(&mut self, service: Service, index: usize) {
        assert!(
            self.began(service, index).await,
            "{service} {index} ended instead:\n{}",
            self.output(service, index)
        );
    }

    /// Waits until all running processes that are not paused report by gRPC that they serve.
    pub async fn wait_until_all_healthy(&mut self) {
        for (service, index) in self.running() {
            self.wait_until_healthy(service, index).await;
        }
    }

    /// Which processes run and are not paused.
    pub fn running(&self) -> Vec<(Service, usize)> {
        let running = self.members.iter();
        running
            .filter(|member| member.process.is_some() && !member.paused)
            .map(|member| (member.service, member.index))
            .collect()
    }

    /// Ends a process by SIGTERM, which may take the time that its runs take.
    pub async fn stop(&mut self, service: Service, index: usize) -> Exit {
        self.take(service, index).terminate().await
    }

    /// Ends a process by SIGTERM, again and again, so that a worker interrupts its runs.
    pub async fn stop_at_once(&mut self, service: Service, index: usize) -> Exit {
        self.take(service, index).terminate_insistently().await
    }

    /// Ends a process by SIGKILL, paused or not.
    pub async fn kill(&mut self, service: Service, index: usize) {
        self.take(service, index).kill().await;
    }

    /// Sends a signal and waits for nothing.
    pub fn signal(&self, service: Service, index: usize, signal: Signal) {
        self.member(service, index).running().signal(signal);
    }

    /// Freezes a process (SIGSTOP).
    pub fn pause(&mut self, service: Service, index: usize) {
        let position = self.position(service, index);
        self.members[position].running().signal(Signal::SIGSTOP);
        self.members[position].paused = true;
    }

    /// Lets a frozen process go on (SIGCONT).
    pub fn resume(&mut self, service: Service, index: usize) {
        let position = self.position(service, index);
        self.members[position].running().signal(Signal::SIGCONT);
        self.members[position].paused = false;
    }

    /// Stops a process in order, starts it again and waits until it is healthy.
    pub async fn restart(&mut self, service: Service, index: usize) {
        let exit = self.stop(service, index).await;
        assert_eq!(exit.code, Some(0), "{service} {index}: {}", exit.output);
        self.run(service, index).await;
    }

    /// Whether a process runs, paused or not. A process that ended by itself does not.
    pub fn is_running(&mut self, service: Service, index: usize) -> bool {
        let position = self.position(service, index);
        let process = self.members[position].process.as_mut();
        process.is_some_and(Process::is_running)
    }

    /// Takes a process out of the cluster's hands; it can be launched again afterwards.
    pub fn take(&mut self, service: Service, index: usize) -> Process {
        let position = self.position(service, index);
        self.members[position].take()
    }

    /// Process id.
    pub fn pid(&self, service: Service, index: usize) -> i32 {
        self.member(service, index).running().pid()
    }

    /// A channel to a process, running or not.
    pub fn channel(&self, service: Service, index: usize) -> Channel {
        self.member(service, index).channel.clone()
    }

    /// `127.0.0.1:port` of its gRPC listener.
    pub fn grpc_address(&self, service: Service, index: usize) -> String {
        format!("127.0.0.1:{}", self.member(service, index).port)
    }

    /// The REST API of a gateway.
    pub fn api(&self, gateway: usize) -> Api {
        let member = self.member(Service::Gateway, gateway);
        member.api.clone().unwrap()
    }

    /// Working directory of a worker.
    pub fn work(&self, worker: usize) -> PathBuf {
        member::working_directory(&self.launcher, &self.plan, worker)
    }

    /// Output of a process, including earlier processes with its index.
    pub fn output(&self, service: Service, index: usize) -> String {
        self.member(service, index).output(&self.launcher)
    }

    /// Output of all processes.
    pub fn all_output(&self) -> String {
        let outputs = self.members.iter();
        outputs
            .map(|member| member.output(&self.launcher))
            .collect()
    }

    /// Runs a command of `cts` to its end, as in `["workers", "list"]`, with the cluster's addresses.
    pub async fn command(&mut self, arguments: &[&str]) -> Exit {
        self.begin_command(arguments).wait().await
    }

    /// Starts a command of `cts` with the cluster's addresses.
    pub fn begin_command(&mut self, arguments: &[&str]) -> Process {
        self.commands += 1;
        let mut all: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
        all.push("-config-file=services.hcl".to_owned());
        let of_all = self.plan.files.iter().filter(|(of, _)| of.is_none());
        all.extend(of_all.map(|(_, file)| format!("-config-file={file}")));
        let log = format!("command-{}.log", self.commands);
        self.launcher.run("cts", &all, &log)
    }

    async fn all_began(&mut self) -> bool {
        for (service, index) in self.running() {
            if !self.began(service, index).await {
                let output = self.output(service, index);
                assert!(
                    output.contains("cannot listen on"),
                    "{service} {index} ended instead of starting:\n{output}"
                );
                return false;
            }
        }
        true
    }

    /// Waits until the process is healthy, or has ended: `false`.
    async fn began(&mut self, service: Service, index: usize) -> bool {
        let position = self.position(service, index);
        let member = &mut self.members[position];
        let channel = member.channel.clone();
        let mut process = member.take();
        let began = eventually(DEADLINE, async || {
            if !process.is_running() {
                return Ok(false);
            }
            serving(&channel).await.map(|()| true)
        })
        .await;
        self.members[position].process = Some(process);
        began
    }

    fn member(&self, service: Service, index: usize) -> &Member {
        &self.members[self.position(service, index)]
    }

    fn position(&self, service: Service, index: usize) -> usize {
        self.members
            .iter()
            .position(|member| member.service == service && member.index == index)
            .unwrap_or_else(|| panic!("there is no {service} {index}"))
    }
}

impl Drop for Cluster {
    /// Kills the processes: to end in order they would wait for each other and for the test's own connections,
    /// which stand still while this waits. The guards end Terraform, and the [`Site`] ends the rest.
    fn drop(&mut self) {
        for process in self
            .members
            .iter()
            .filter_map(|member| member.process.as_ref())
        {
            process.signal(Signal::SIGKILL);
        }
        if std::thread::panicking() {
            for member in self.members.iter().filter(|one| one.process.is_none()) {
                crate::process::show(&member.log(), &member.output(&self.launcher));
            }
        }
    }
}
