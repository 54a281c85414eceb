//! The processes of cts, in either shape, for code that kills and restarts them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cts_testkit::free_port;
use cts_tests::{Api, Cluster, Launcher, Process, Service, Site, serving};
use nix::sys::signal::Signal;
use tokio::time::{Instant, sleep};

use crate::plan::Member;

#[derive(Debug)]
pub(crate) enum System {
    Cluster(Box<Cluster>),
    Whole(Box<Whole>),
}

/// `cts start`, which keeps its place over restarts.
#[derive(Debug)]
pub(crate) struct Whole {
    launcher: Launcher,
    arguments: Vec<String>,
    process: Option<Process>,
    api: Api,
    grpc: u16,
}

/// Channel on which a process reports by gRPC whether it serves.
pub(crate) type Health = tonic::transport::Channel;

impl Whole {
    /// Chooses ports; nothing runs yet. Its configuration is `cts.hcl`.
    pub(crate) fn lay_out(site: &Site) -> Self {
        let (port, grpc) = (free_port(), free_port());
        site.write("port.hcl", &format!("port = {port}\n"));
        let arguments = [
            "start",
            "-config-file=cts.hcl",
            "-config-file=port.hcl",
            "-bind-address=127.0.0.1",
        ];
        let mut arguments: Vec<String> = arguments.map(str::to_owned).into();
        arguments.push(format!("-grpc-address=127.0.0.1:{grpc}"));
        Self {
            launcher: site.launcher(),
            arguments,
            process: None,
            api: Api::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
            grpc,
        }
    }

    fn running(&self) -> &Process {
        self.process.as_ref().unwrap()
    }
}

const LOG: &str = "cts.log";
/// How long all processes together may take to start.
const STARTING: Duration = Duration::from_mins(3);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

impl System {
    /// Starts a process that does not run, without waiting.
    pub(crate) fn launch(&mut self, member: Member) {
        match (self, member) {
            (Self::Cluster(cluster), Member::Of(service, index)) => cluster.launch(service, index),
            (Self::Whole(whole), _) => {
                whole.process = Some(whole.launcher.run("cts", &whole.arguments, LOG));
            }
            (Self::Cluster(_), Member::Whole) => {}
        }
    }

    /// Whether it runs, paused or not. A process that ended by itself does not.
    pub(crate) fn is_running(&mut self, member: Member) -> bool {
        match (self, member) {
            (Self::Cluster(cluster), Member::Of(service, index)) => {
                cluster.is_running(service, index)
            }
            (Self::Whole(whole), _) => whole.process.as_mut().is_some_and(Process::is_running),
            (Self::Cluster(_), Member::Whole) => false,
        }
    }

    /// Takes it out of the system; it can be launched again afterwards.
    pub(crate) fn take(&mut self, member: Member) -> Option<Process> {
        match (self, member) {
            (Self::Cluster(cluster), Member::Of(service, index)) => {
                Some(cluster.take(service, index))
            }
            (Self::Whole(whole), _) => whole.process.take(),
            (Self::Cluster(_), Member::Whole) => None,
        }
    }

    /// Sends a signal to a running process.
    pub(crate) fn signal(&mut self, member: Member, signal: Signal) {
        match (self, member) {
            (Self::Cluster(cluster), Member::Of(service, index)) => match signal {
                Signal::SIGSTOP => cluster.pause(service, index),
                Signal::SIGCONT => cluster.resume(service, index),
                other => cluster.signal(service, index, other),
            },
            (Self::Whole(whole), _) => whole.running().signal(signal),
            (Self::Cluster(_), Member::Whole) => {}
        }
    }

    /// Process id of a running process.
    pub(crate) fn pid(&self, member: Member) -> i32 {
        match (self, member) {
            (Self::Cluster(cluster), Member::Of(service, index)) => cluster.pid(service, index),
            (Self::Whole(whole), _) => whole.running().pid(),
            (Self::Cluster(_), Member::Whole) => 0,
        }
    }

    /// Channel on which it reports whether it serves.
    pub(crate) fn health(&self, member: Member) -> Health {
        match (self, member) {
            (Self::Cluster(cluster), Member::Of(service, index)) => cluster.channel(service, index),
            (Self::Whole(whole), _) => {
                cts_rpc::connect(&format!("http://127.0.0.1:{}", whole.grpc)).unwrap()
            }
            (Self::Cluster(_), Member::Whole) => unreachable!("a cluster has several processes"),
        }
    }

    /// Starts these processes and waits until they are healthy. A process that ends instead, on a busy machine,
    /// is started again.
    pub(crate) async fn start(&mut self, members: &[Member]) {
        for &member in members {
            self.launch(member);
        }
        let end = Instant::now() + STARTING;
        for &member in members {
            let health = self.health(member);
            while let Err(complaint) = serving(&health).await {
                assert!(
                    Instant::now() < end,
                    "{member} does not start: {complaint}\n{}",
                    self.output(member)
                );
                if !self.is_running(member) {
                    if let Some(process) = self.take(member) {
                        process.wait().await;
                    }
                    self.launch(member);
                }
                sleep(BETWEEN_LOOKS).await;
            }
        }
    }

    /// The REST API, once for each process that serves it.
    pub(crate) fn apis(&self) -> Vec<Api> {
        match self {
            Self::Cluster(cluster) => (0..cluster.count(Service::Gateway))
                .map(|index| cluster.api(index))
                .collect(),
            Self::Whole(whole) => vec![whole.api.clone()],
        }
    }

    /// Output of a process, including earlier processes in its place.
    pub(crate) fn output(&self, member: Member) -> String {
        match (self, member) {
            (Self::Cluster(cluster), Member::Of(service, index)) => cluster.output(service, index),
            (Self::Whole(whole), _) => {
                let bytes = std::fs::read(whole.launcher.path().join(LOG)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            (Self::Cluster(_), Member::Whole) => String::new(),
        }
    }

    /// The directory of the site.
    pub(crate) fn site(&self) -> PathBuf {
        match self {
            Self::Cluster(cluster) => {
                let work = cluster.work(0);
                work.parent().map(Path::to_owned).unwrap_or_default()
            }
            Self::Whole(whole) => whole.launcher.path().to_owned(),
        }
    }
}
