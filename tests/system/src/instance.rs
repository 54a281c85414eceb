//! A running system, in either shape.

use std::net::{Ipv4Addr, SocketAddr};

use cts_testkit::{eventually, free_port};
use tonic::transport::Channel;

use crate::DEADLINE;
use crate::api::Api;
use crate::cluster::{Cluster, Plan, Service};
use crate::process::{Exit, Process, until_written};
use crate::shape::Shape;
use crate::site::Site;

/// Another process may take a port between choice and use.
const PORT_TRIES: usize = 5;

/// The order in which the processes of a cluster are ended, so that each can still say goodbye.
const ENDING: [Service; 4] = [
    Service::Worker,
    Service::Gateway,
    Service::Scheduler,
    Service::Watcher,
];

/// A system that answers: `cts start`, or one of each service over Postgres. Ended when dropped.
#[derive(Debug)]
pub struct Instance {
    /// Its REST API.
    pub api: Api,
    grpc: Channel,
    processes: Processes,
}

#[derive(Debug)]
enum Processes {
    Embedded(Process),
    Cluster(Cluster),
}

impl Instance {
    /// Starts the system with the site's configuration in the shape of this test run and waits until it
    /// is healthy.
    pub async fn start(site: &Site) -> Self {
        Self::start_with(site, Plan::default()).await
    }

    /// Starts the system like [`Self::start`]; a cluster gets this plan.
    pub async fn start_with(site: &Site, plan: Plan) -> Self {
        match Shape::of_this_run() {
            Shape::Embedded => Self::start_embedded(site).await,
            Shape::Cluster => {
                let cluster = Cluster::start(site, plan).await;
                let api = cluster.api(0);
                eventually(DEADLINE, async || healthy(&api).await).await;
                Self {
                    api,
                    grpc: cluster.channel(Service::Scheduler, 0),
                    processes: Processes::Cluster(cluster),
                }
            }
        }
    }

    /// Starts `cts start`, whatever the shape of this test run.
    pub async fn start_embedded(site: &Site) -> Self {
        Self::start_embedded_with(site, &[]).await
    }

    /// Starts `cts start` with further arguments, whatever the shape of this test run.
    pub async fn start_embedded_with(site: &Site, more: &[&str]) -> Self {
        for _ in 0..PORT_TRIES {
            let (port, grpc) = (free_port(), free_port());
            let grpc_address = format!("127.0.0.1:{grpc}");
            let arguments = [&["-grpc-address", &grpc_address], more].concat();
            let mut process = site.run_cts(port, &arguments);
            let api = Api::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
            let began = eventually(DEADLINE, async || {
                if !process.is_running() {
                    return Ok(false);
                }
                healthy(&api).await.map(|()| true)
            });
            if began.await {
                return Self {
                    api,
                    grpc: cts_rpc::connect(&format!("http://{grpc_address}")).unwrap(),
                    processes: Processes::Embedded(process),
                };
            }
            let output = process.output();
            assert!(
                output.contains("cannot listen on"),
                "cts ended instead of starting:\n{output}"
            );
        }
        panic!("{PORT_TRIES} ports were taken one after the other");
    }

    /// A channel to its scheduler.
    pub fn grpc(&self) -> Channel {
        self.grpc.clone()
    }

    /// Id of the process that serves the REST API.
    pub fn api_pid(&self) -> i32 {
        match &self.processes {
            Processes::Embedded(process) => process.pid(),
            Processes::Cluster(cluster) => cluster.pid(Service::Gateway, 0),
        }
    }

    /// Id of the process that starts Terraform.
    pub fn worker_pid(&self) -> i32 {
        match &self.processes {
            Processes::Embedded(process) => process.pid(),
            Processes::Cluster(cluster) => cluster.pid(Service::Worker, 0),
        }
    }

    /// Its output so far, including earlier instances at the same site.
    pub fn output(&self) -> String {
        match &self.processes {
            Processes::Embedded(process) => process.output(),
            Processes::Cluster(cluster) => cluster.all_output(),
        }
    }

    /// Waits until its output has `text`.
    pub async fn until_logged(&self, text: &str) {
        until_written(|| self.output(), text).await;
    }

    /// Ends it by SIGTERM; runs at work are interrupted gently.
    pub async fn terminate(self) -> Exit {
        let mut cluster = match self.processes {
            Processes::Embedded(process) => return process.terminate().await,
            Processes::Cluster(cluster) => cluster,
        };
        let mut all = Exit {
            code: Some(0),
            took: std::time::Duration::ZERO,
            output: String::new(),
            command: "the cluster".to_owned(),
        };
        for service in ENDING {
            let exit = match service {
                // The first order is to finish its runs.
                Service::Worker => cluster.stop_at_once(service, 0).await,
                _ => cluster.stop(service, 0).await,
            };
            if exit.code != Some(0) {
                all.code = exit.code;
            }
            all.took += exit.took;
        }
        all.output = cluster.all_output();
        all
    }

    /// Ends it by SIGTERM and expects an orderly end.
    pub async fn stop(self) {
        self.terminate().await.assert_code(0);
    }

    /// Ends all its processes by SIGKILL, first the ones that would notice. Its Terraform runs on; in a cluster
    /// the guard stops it.
    pub async fn kill(self) {
        match self.processes {
            Processes::Embedded(process) => process.kill().await,
            Processes::Cluster(mut cluster) => {
                for service in ENDING {
                    cluster.kill(service, 0).await;
                }
            }
        }
    }
}

async fn healthy(api: &Api) -> Result<(), String> {
    match api.ask("/v1/health").await {
        Ok((200, _)) => Ok(()),
        Ok((status, body)) => Err(format!("health: {status} {body}")),
        Err(error) => Err(error.to_string()),
    }
}
