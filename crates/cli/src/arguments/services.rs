//! The commands that run a service.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::options::{ApiAddress, Configuration, LogLines, Schedulers};

/// A command that runs a service until it is stopped, or one pass over the tasks.
#[derive(Debug, Subcommand)]
pub enum ServiceCommand {
    /// Run everything in one process; its state is in the working directory, or in Postgres.
    Start(Start),
    /// Run a watcher alone.
    Watcher(Watcher),
    /// Run a scheduler alone.
    Scheduler(Scheduler),
    /// Run a worker alone.
    Worker(Worker),
    /// Run a gateway alone.
    Gateway(Gateway),
}

impl ServiceCommand {
    /// The options that every service has.
    pub const fn options(&self) -> &ServiceOptions {
        match self {
            Self::Start(Start { service, .. })
            | Self::Watcher(Watcher { service, .. })
            | Self::Scheduler(Scheduler { service, .. })
            | Self::Worker(Worker { service, .. })
            | Self::Gateway(Gateway { service, .. }) => service,
        }
    }
}

/// Options of every service.
#[derive(Debug, Args)]
pub struct ServiceOptions {
    /// The files of the configuration.
    #[command(flatten)]
    pub configuration: Configuration,
    /// How the lines of the log look.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogLines,
}

/// `cts start`.
#[derive(Debug, Args)]
pub struct Start {
    /// Options of every service.
    #[command(flatten)]
    pub service: ServiceOptions,
    /// Run every task once, then end.
    #[arg(long)]
    pub once: bool,
    /// Plan every task, show the plans, then end; nothing is applied.
    #[arg(long)]
    pub inspect: bool,
    /// The same for the task of this name only; may be given several times.
    #[arg(long, value_name = "TASK")]
    pub inspect_task: Vec<String>,
    /// When this instance becomes the leader for the first time, forget all stored tasks with their events
    /// and runs: only those of its configuration are left.
    #[arg(long)]
    pub reset_storage: bool,
    /// The file cts.db was restored from a backup: before the start, no input counts as applied, so every task runs once. For
    /// one start. With Postgres use `cts migrate -restored`.
    #[arg(long, conflicts_with_all = ["inspect", "inspect_task"])]
    pub restored: bool,
    /// Where the API listens.
    #[command(flatten)]
    pub api: ApiAddress,
    /// Serve gRPC with health checking and reflection here too, for clients such as grpcurl.
    #[arg(long, value_name = "IP:PORT")]
    pub grpc_address: Option<SocketAddr>,
    /// For the development of the original; has no effect.
    #[arg(long, value_name = "TYPE", hide = true)]
    pub client_type: Option<String>,
    /// Whether the start waits for a Consul or a database that does not answer. The original does not.
    #[arg(skip)]
    pub waits: bool,
    /// Set when no command was given, which is deprecated.
    #[arg(long, hide = true)]
    pub(crate) deprecated_start_up: bool,
}

/// `cts watcher`.
#[derive(Debug, Args)]
pub struct Watcher {
    /// Options of every service.
    #[command(flatten)]
    pub service: ServiceOptions,
    /// Serve gRPC here. Default: `services.listen.watcher`, else 127.0.0.1:8561.
    #[arg(long, value_name = "IP:PORT")]
    pub grpc_address: Option<SocketAddr>,
}

/// `cts scheduler`.
#[derive(Debug, Args)]
pub struct Scheduler {
    /// Options of every service.
    #[command(flatten)]
    pub service: ServiceOptions,
    /// Serve gRPC here. Default: `services.listen.scheduler`, else 127.0.0.1:8560.
    #[arg(long, value_name = "IP:PORT")]
    pub grpc_address: Option<SocketAddr>,
    /// Address of a watcher; may be given several times. Default: `services.watchers`, else
    /// 127.0.0.1:8561.
    #[arg(long = "watcher", value_name = "HOST:PORT", value_delimiter = ',')]
    pub watchers: Vec<String>,
}

/// `cts worker`.
#[derive(Debug, Args)]
pub struct Worker {
    /// Options of every service.
    #[command(flatten)]
    pub service: ServiceOptions,
    /// Serve gRPC health checks here. Default: `services.listen.worker`, else 127.0.0.1:8562.
    #[arg(long, value_name = "IP:PORT")]
    pub grpc_address: Option<SocketAddr>,
    /// Where runs come from.
    #[command(flatten)]
    pub schedulers: Schedulers,
    /// Directory for task directories and caches, which this worker has for itself. Default:
    /// `worker.working_dir`, else `working_dir`.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub working_dir: Option<PathBuf>,
}

/// `cts gateway`.
#[derive(Debug, Args)]
pub struct Gateway {
    /// Options of every service.
    #[command(flatten)]
    pub service: ServiceOptions,
    /// Where the API listens.
    #[command(flatten)]
    pub api: ApiAddress,
    /// Serve gRPC health checks here. Default: `services.listen.gateway`, else 127.0.0.1:8563.
    #[arg(long, value_name = "IP:PORT")]
    pub grpc_address: Option<SocketAddr>,
    /// Where requests go.
    #[command(flatten)]
    pub schedulers: Schedulers,
}
