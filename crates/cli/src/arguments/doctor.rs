//! The arguments of `cts doctor`.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};

use super::options::{ApiAddress, Configuration, OutputOption};
use super::table_width::WideOption;

/// `cts doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    /// The configuration.
    #[command(flatten)]
    pub configuration: Configuration,
    /// Check only what this service needs. Default: everything that the configuration concerns.
    #[arg(long, value_name = "SERVICE")]
    pub role: Option<ServiceRole>,
    /// Where the API will listen, as in the options of the service.
    #[command(flatten)]
    pub api: ApiAddress,
    /// Where gRPC will be served, as in the options of the service.
    #[arg(long, value_name = "IP:PORT")]
    pub grpc_address: Option<SocketAddr>,
    /// How the result is printed.
    #[command(flatten)]
    pub output: OutputOption,
    /// How wide the table is.
    #[command(flatten)]
    pub wide: WideOption,
}

/// A service that runs alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ServiceRole {
    /// Follows Consul.
    Watcher,
    /// Keeps the state and decides which task runs.
    Scheduler,
    /// Runs Terraform.
    Worker,
    /// Serves the REST API.
    Gateway,
}
