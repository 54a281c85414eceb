//! The one definition of commands and options. Parser, help, completion and manual pages come from it.
//!
//! Only clap and the standard library here: the build script reads this file too, for the manual pages.
//! How words become options is not clap's business, see `invocation`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use crate::cli::groups::{
    ApiAddress, Configuration, LogLines, LogOptions, Output, Schedulers, ShellFileOptions,
};
use crate::commands::config::ConfigCommand;
use crate::commands::task::{Import, RunsCommand, TaskCommand};

/// Watches a Consul catalog and runs Terraform modules when the services they depend on change.
#[derive(Debug, Parser)]
#[command(
    name = "cts",
    version = concat!("v", env!("CARGO_PKG_VERSION")),
    disable_version_flag = true,
    disable_help_subcommand = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print the version.
    #[arg(short = 'v', long, action = ArgAction::Version)]
    version: Option<bool>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run everything in one process; its state is in the working directory, or in Postgres.
    Start {
        #[command(flatten)]
        configuration: Configuration,
        /// Run every task once, then end.
        #[arg(long)]
        once: bool,
        /// Plan every task, show the plans, then end; nothing is applied.
        #[arg(long)]
        inspect: bool,
        /// The same for the task of this name only; may be given several times.
        #[arg(long, value_name = "TASK")]
        inspect_task: Vec<String>,
        /// When this instance becomes the leader for the first time, forget all stored tasks with their events
        /// and runs: only those of its configuration are left.
        #[arg(long)]
        reset_storage: bool,
        #[command(flatten)]
        log: LogOptions,
        #[command(flatten)]
        api: ApiAddress,
        /// Serve gRPC with health checking and reflection here too, for clients such as grpcurl.
        #[arg(long, value_name = "IP:PORT")]
        grpc_address: Option<SocketAddr>,
        /// For the development of the original; has no effect.
        #[arg(long, value_name = "TYPE", hide = true)]
        client_type: Option<String>,
        /// Set when no command was given, which is deprecated.
        #[arg(long, hide = true)]
        deprecated_start_up: bool,
        #[command(flatten)]
        shell_files: ShellFileOptions,
    },
    /// Run a watcher alone.
    Watcher {
        #[command(flatten)]
        configuration: Configuration,
        #[command(flatten)]
        log: LogOptions,
        /// Serve gRPC here.
        #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8561")]
        grpc_address: SocketAddr,
    },
    /// Run a scheduler alone.
    Scheduler {
        #[command(flatten)]
        configuration: Configuration,
        #[command(flatten)]
        log: LogOptions,
        /// Serve gRPC here.
        #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8560")]
        grpc_address: SocketAddr,
        /// Address of a watcher; may be given several times. Default: `services.watchers`, else
        /// 127.0.0.1:8561.
        #[arg(long = "watcher", value_name = "HOST:PORT", value_delimiter = ',')]
        watchers: Vec<String>,
    },
    /// Run a worker alone.
    Worker {
        #[command(flatten)]
        configuration: Configuration,
        #[command(flatten)]
        log: LogOptions,
        /// Serve gRPC health checks here.
        #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8562")]
        grpc_address: SocketAddr,
        #[command(flatten)]
        schedulers: Schedulers,
        /// Directory for task directories and caches, which this worker has for itself. Default:
        /// `worker.working_dir`, else `working_dir`.
        #[arg(long, value_name = "PATH")]
        working_dir: Option<PathBuf>,
    },
    /// Run a gateway alone.
    Gateway {
        #[command(flatten)]
        configuration: Configuration,
        #[command(flatten)]
        log: LogOptions,
        #[command(flatten)]
        api: ApiAddress,
        /// Serve gRPC health checks here.
        #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8563")]
        grpc_address: SocketAddr,
        #[command(flatten)]
        schedulers: Schedulers,
    },
    /// Look at, create, change and run the tasks of a running cts.
    #[command(subcommand)]
    Task(TaskCommand),
    /// Create the tasks of another running instance here too.
    #[command(after_help = "Example:\n\n    \
        $ cts import --from http://old.example:8558 --disabled\n    \
        TASK  RESULT   DETAILS\n    \
        web   created")]
    Import(Import),
    /// Look at the runs of a running cts, and cancel them.
    #[command(subcommand)]
    Runs(RunsCommand),
    /// Check or show a configuration without running it.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Look after the workers of a cluster.
    #[command(subcommand)]
    Workers(Workers),
    /// Look at the members of a cluster.
    #[command(subcommand)]
    Cluster(Cluster),
    /// Bring the schema of the Postgres database up to date, or move everything from one store to another.
    Migrate(Migrate),
    /// Read what `-reset-storage` has removed.
    #[command(subcommand)]
    Archive(Archives),
    /// Print a script that makes a shell complete commands, options and names of tasks.
    Completion {
        /// The shell.
        shell: Shell,
    },
    /// Print a manual page, or write all of them into a directory.
    Man {
        /// The command, as in `task create`; without one the page of cts itself.
        #[arg(value_name = "COMMAND")]
        page: Vec<String>,
        /// Write every page into this directory, which must exist.
        #[arg(long, value_name = "DIRECTORY")]
        directory: Option<PathBuf>,
    },
}

/// `cts workers`.
#[derive(Debug, Subcommand)]
pub(crate) enum Workers {
    /// List the workers and how much work waits.
    List {
        #[command(flatten)]
        configuration: Configuration,
        #[command(flatten)]
        schedulers: Schedulers,
        /// How to print.
        #[arg(long, short = 'o', value_name = "FORMAT", default_value = "table")]
        output: Output,
    },
    /// Tell workers to finish what they have, to take nothing new and to leave.
    Drain {
        #[command(flatten)]
        configuration: Configuration,
        #[command(flatten)]
        schedulers: Schedulers,
        /// Ids of the workers, as `cts workers list` shows them; the beginning is enough if only one
        /// worker has it.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// Wait until they have left.
        #[arg(long)]
        wait: bool,
    },
}

/// `cts archive`.
#[derive(Debug, Subcommand)]
pub(crate) enum Archives {
    /// List the archives, the newest first.
    List {
        #[command(flatten)]
        place: StorePlace,
        /// How to print.
        #[arg(long, short = 'o', value_name = "FORMAT", default_value = "table")]
        output: Output,
    },
    /// Print the rows of an archive, one a line, as they were stored.
    Show {
        #[command(flatten)]
        place: StorePlace,
        /// Id of the archive; the beginning is enough if only one archive has it.
        #[arg(value_name = "ID")]
        id: String,
        /// How to print.
        #[arg(long, short = 'o', value_name = "FORMAT", default_value = "table")]
        output: Output,
    },
}

/// Which store is read.
#[derive(Debug, Args)]
pub(crate) struct StorePlace {
    #[command(flatten)]
    pub(crate) configuration: Configuration,
    /// Store to read: sqlite:PATH of a cts.db, or postgres://… Default: that of the configuration, or
    /// `CTS_DATABASE_URL`.
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,
}

/// `cts cluster`.
#[derive(Debug, Subcommand)]
pub(crate) enum Cluster {
    /// Show the members, who leads, which configuration is in force and which members have another.
    Status {
        #[command(flatten)]
        configuration: Configuration,
        #[command(flatten)]
        schedulers: Schedulers,
        /// How to print.
        #[arg(long, short = 'o', value_name = "FORMAT", default_value = "table")]
        output: Output,
    },
}

/// `cts migrate`.
#[derive(Debug, Args)]
pub(crate) struct Migrate {
    #[command(flatten)]
    pub(crate) configuration: Configuration,
    /// Store to read: sqlite:PATH of a cts.db. Without it only the schema is brought up to date.
    #[arg(long, value_name = "STORE")]
    pub(crate) from: Option<String>,
    /// Store to write: postgres://… Default: the database of the configuration, or `CTS_DATABASE_URL`.
    #[arg(long, value_name = "STORE")]
    pub(crate) to: Option<String>,
    /// Say what would be done, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How to print.
    #[arg(long, short = 'o', value_name = "FORMAT", default_value = "table")]
    pub(crate) output: Output,
}

/// A shell that can complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// GNU Bash.
    Bash,
    /// Z shell.
    Zsh,
    /// Fish.
    Fish,
}

impl Command {
    /// Whether the command runs a service.
    pub(crate) const fn is_service(&self) -> bool {
        matches!(
            self,
            Self::Start { .. }
                | Self::Watcher { .. }
                | Self::Scheduler { .. }
                | Self::Worker { .. }
                | Self::Gateway { .. }
        )
    }

    /// Where its configuration is; `None` if it has no use for one, or looks after that itself.
    pub(crate) const fn configuration(&self) -> Option<&Configuration> {
        match self {
            Self::Start { configuration, .. }
            | Self::Watcher { configuration, .. }
            | Self::Scheduler { configuration, .. }
            | Self::Worker { configuration, .. }
            | Self::Gateway { configuration, .. } => Some(configuration),
            Self::Task(_)
            | Self::Import(_)
            | Self::Runs(_)
            | Self::Config(_)
            | Self::Workers(_)
            | Self::Cluster(_)
            | Self::Migrate(_)
            | Self::Archive(_)
            | Self::Completion { .. }
            | Self::Man { .. } => None,
        }
    }

    /// How the lines of its log look, if it has one.
    pub(crate) const fn log_lines(&self) -> LogLines {
        match self {
            Self::Start { log, .. }
            | Self::Watcher { log, .. }
            | Self::Scheduler { log, .. }
            | Self::Worker { log, .. }
            | Self::Gateway { log, .. } => log.log_format,
            _ => LogLines::Text,
        }
    }
}
