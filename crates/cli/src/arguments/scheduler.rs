//! The commands that call the API, or a scheduler by gRPC.

use clap::{Args, Subcommand};

use super::options::{ClientOptions, Configuration, OutputOption, Schedulers};
use super::table_width::WideOption;

/// A command that calls a scheduler.
#[derive(Debug, Subcommand)]
pub enum SchedulerCommand {
    /// Look after the workers of a cluster.
    #[command(subcommand)]
    Workers(WorkersCommand),
    /// Look at the members of a cluster.
    #[command(subcommand)]
    Cluster(ClusterCommand),
}

impl SchedulerCommand {
    /// Where a scheduler is.
    pub const fn place(&self) -> &SchedulerPlace {
        match self {
            Self::Workers(
                WorkersCommand::List { place, .. } | WorkersCommand::Drain { place, .. },
            )
            | Self::Cluster(ClusterCommand::Status { place, .. }) => place,
        }
    }
}

/// Where a running cts is: its API, unless a scheduler or a configuration is named.
#[derive(Debug, Args)]
pub struct SchedulerPlace {
    /// Names the schedulers and the TLS files.
    #[command(flatten)]
    pub configuration: Configuration,
    /// Schedulers that count before those of the configuration.
    #[command(flatten)]
    pub schedulers: Schedulers,
    /// The way to the API. Its token is also that of calls of a scheduler.
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

impl SchedulerPlace {
    /// Whether the API is called and not a scheduler.
    pub(crate) fn is_api(&self) -> bool {
        self.configuration.paths.is_empty() && self.schedulers.schedulers.is_empty()
    }
}

/// `cts workers`.
#[derive(Debug, Subcommand)]
pub enum WorkersCommand {
    /// List the workers and how much work waits.
    List {
        /// Where a scheduler is.
        #[command(flatten)]
        place: SchedulerPlace,
        /// How the result is printed.
        #[command(flatten)]
        output: OutputOption,
        /// How wide a table is.
        #[command(flatten)]
        wide: WideOption,
    },
    /// Tell workers to finish what they have, to take nothing new and to leave.
    Drain {
        /// Where a scheduler is.
        #[command(flatten)]
        place: SchedulerPlace,
        /// Ids of the workers, as `cts workers list` shows them; the beginning is enough if only one
        /// worker has it.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// Wait until they have left.
        #[arg(long)]
        wait: bool,
    },
}

/// `cts cluster`.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Show the members, who leads, which configuration is in force and which members have another.
    Status {
        /// Where a scheduler is.
        #[command(flatten)]
        place: SchedulerPlace,
        /// How the result is printed.
        #[command(flatten)]
        output: OutputOption,
        /// How wide a table is.
        #[command(flatten)]
        wide: WideOption,
    },
}
