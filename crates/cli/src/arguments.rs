//! The one definition of commands and options. Parser, help, completion and manual pages come from it.
//!
//! How words become options is not clap's business, see `invocation`.

mod approvals;
mod certs;
mod config;
mod doctor;
mod health;
mod options;
mod runs;
mod scheduler;
mod services;
mod store_place;
mod stores;
mod table_width;
mod task;
mod token;

use std::path::PathBuf;

use clap::{ArgAction, Parser, Subcommand, ValueEnum, ValueHint};

pub use self::approvals::{ApprovalsCommand, Approve, ConsentPlace, TestPlan};
pub(crate) use self::certs::Certs;
pub use self::config::{Apply, Diff, StoredConfigCommand};
pub(crate) use self::config::{ConfigCommand, DumpFormat};
pub use self::doctor::{Doctor, ServiceRole};
pub(crate) use self::health::Health;
pub use self::options::{
    ApiAddress, Configuration, LogLines, Output, OutputOption, QueryOptions, Schedulers,
};
pub(crate) use self::options::{ClientOptions, SourceOptions, is_configuration_file};
pub(crate) use self::runs::{Cancel, Causes, ListRuns, LogPart, RunsCommand};
pub use self::scheduler::{ClusterCommand, SchedulerCommand, SchedulerPlace, WorkersCommand};
pub use self::services::{
    Gateway, Scheduler, ServiceCommand, ServiceOptions, Start, Watcher, Worker,
};
pub use self::store_place::StorePlace;
pub use self::stores::{ArchiveCommand, Migrate, StoreCommand};
pub use self::table_width::{TableWidth, WideOption};
pub(crate) use self::task::{
    Audit, Create, Delete, Disable, Enable, Import, KeptState, ListTasks, OneTask, Release,
    Replace, Run, State, Status, TaskColumn, TaskCommand, TaskLogs,
};
pub use self::token::{CreateToken, TokenCommand};

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
    #[command(flatten)]
    Service(ServiceCommand),
    /// Show on one screen how a running cts is: problems, cluster, workers, queue, data of Consul and tasks.
    #[command(after_help = "Example:\n\n    \
        $ cts status\n    \
        No problems.\n    \
        \n    \
        Cluster:  cts-1 leads; 2 of 2 schedulers are healthy\n    \
        Workers:  3 active; 1 of 12 slots is taken\n    \
        Queue:    0 queued, 0 ready; 1 running\n    \
        Consul:   41 views\n    \
        Tasks:    2: 1 running, 1 successful")]
    Status(Status),
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
    /// List what changed in Consul and what came of it, newest first.
    Causes(Causes),
    /// Look at what waits for consent, and approve or reject it.
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// List the records of calls that changed something or were refused, newest first.
    Audit(Audit),
    /// Let an assistant look at a running cts: a server of the Model Context Protocol.
    Mcp(ClientOptions),
    /// Check or show a configuration without running it.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check configuration, Consul, database, Terraform, certificates and machine, and say what to do.
    #[command(after_help = "Example:\n\n    \
        $ cts doctor -config-file cts.hcl\n    \
        RESULT   CHECK                FOUND\n    \
        ok       configuration        valid, tasks: 2\n    \
        error    consul rights        service:read web is missing\n             \
        -> add to the policy of the token: service \"web\" { policy = \"read\" }")]
    Doctor(Doctor),
    /// Make an authority and the certificates of the services, with the names of their roles.
    #[command(after_help = "Example:\n\n    \
        $ cts certs -dir certs -domain cts.example -host scheduler=s1.example")]
    Certs(Certs),
    /// Ask a service, or the API, whether it serves: exit code 0 if it does, else 1.
    #[command(after_help = "Example:\n\n    \
        $ cts health -config-dir /etc/cts.d 127.0.0.1:8560\n    \
        127.0.0.1:8560 serves")]
    Health(Health),
    #[command(flatten)]
    Scheduler(SchedulerCommand),
    #[command(flatten)]
    Store(StoreCommand),
    /// Print the help of cts, or of a command.
    Help {
        /// The command, as in `task create`.
        #[arg(value_name = "COMMAND")]
        page: Vec<String>,
    },
    /// Print the version.
    Version,
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
        #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
        directory: Option<PathBuf>,
    },
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
