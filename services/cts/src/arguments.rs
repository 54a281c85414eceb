//! The command line.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use cts_rpc::Address;

/// Watches a Consul catalog and runs Terraform modules when the services they depend on change.
#[derive(Debug, Parser)]
#[command(name = "cts", version = VERSION, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

pub(crate) const VERSION: &str = concat!(
    "v",
    env!("CARGO_PKG_VERSION"),
    "\nCompatible with Terraform >= 0.13.0, <= 1.14.3"
);

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run everything in one process; its state is in the working directory, or in Postgres.
    Start {
        #[command(flatten)]
        configuration: Configuration,
        #[command(flatten)]
        api: ApiAddress,
        /// Serve gRPC with health checking and reflection here too, for clients such as grpcurl.
        #[arg(long, value_name = "IP:PORT")]
        grpc_address: Option<SocketAddr>,
    },
    /// Run a watcher alone.
    Watcher {
        #[command(flatten)]
        configuration: Configuration,
        /// Serve gRPC here.
        #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8561")]
        grpc_address: SocketAddr,
    },
    /// Run a scheduler alone.
    Scheduler {
        #[command(flatten)]
        configuration: Configuration,
        /// Serve gRPC here.
        #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8560")]
        grpc_address: SocketAddr,
        /// Address of a watcher; may be given several times. Default: `services.watchers`, else
        /// 127.0.0.1:8561.
        #[arg(long = "watcher", value_name = "HOST:PORT", value_delimiter = ',')]
        watchers: Vec<Address>,
    },
    /// Run a worker alone.
    Worker {
        #[command(flatten)]
        configuration: Configuration,
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
        api: ApiAddress,
        /// Serve gRPC health checks here.
        #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8563")]
        grpc_address: SocketAddr,
        #[command(flatten)]
        schedulers: Schedulers,
    },
    /// Look after the workers of a cluster.
    #[command(subcommand)]
    Workers(Workers),
    /// Bring the schema of the Postgres database up to date, or move everything from one store to another.
    Migrate(Migrate),
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

/// How a command prints what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Table,
    /// For programs.
    Json,
}

impl Command {
    pub(crate) fn configuration(&self) -> &Configuration {
        match self {
            Self::Start { configuration, .. }
            | Self::Watcher { configuration, .. }
            | Self::Scheduler { configuration, .. }
            | Self::Worker { configuration, .. }
            | Self::Gateway { configuration, .. }
            | Self::Workers(
                Workers::List { configuration, .. } | Workers::Drain { configuration, .. },
            )
            | Self::Migrate(Migrate { configuration, .. }) => configuration,
        }
    }

    /// Whether it stays until it is told to end, and logs.
    pub(crate) const fn is_service(&self) -> bool {
        !matches!(self, Self::Workers(_) | Self::Migrate(_))
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Configuration {
    /// Configuration file or directory of such files; may be given several times, later values win.
    #[arg(
        long = "config-file",
        visible_alias = "config-dir",
        value_name = "PATH"
    )]
    pub(crate) paths: Vec<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Schedulers {
    /// Address of a scheduler; may be given several times. Default: `services.schedulers`, else
    /// 127.0.0.1:8560.
    #[arg(long = "scheduler", value_name = "HOST:PORT", value_delimiter = ',')]
    pub(crate) schedulers: Vec<Address>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ApiAddress {
    /// Address on which the API listens; by default every address of the host.
    #[arg(long, value_name = "IP")]
    pub(crate) bind_address: Option<IpAddr>,
}

/// Options may have one dash or two (spec/cli.md 1); the parser knows two, and one for single letters.
pub(crate) fn with_two_dashes(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut options_over = false;
    let two_dashes = |argument: OsString| {
        options_over |= argument == "--";
        let text = argument.to_str().unwrap_or_default();
        let long = text.len() > 2 && text.starts_with('-') && !text.starts_with("--");
        if long && !options_over {
            OsString::from(format!("-{text}"))
        } else {
            argument
        }
    };
    arguments.into_iter().map(two_dashes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Arguments {
        let words = line.split(' ').map(OsString::from);
        Arguments::try_parse_from(with_two_dashes(words)).unwrap()
    }

    #[test]
    fn one_dash_and_two_are_the_same_and_order_is_kept() {
        let parsed = parse("cts start -config-file a --config-dir=b -config-file=c");
        let expected: Vec<PathBuf> = ["a", "b", "c"].map(PathBuf::from).into();
        assert_eq!(parsed.command.configuration().paths, expected);
    }

    #[test]
    fn unknown_options_are_refused() {
        let words = ["cts", "start", "-conf"].map(OsString::from);
        assert!(Arguments::try_parse_from(with_two_dashes(words)).is_err());
    }

    #[test]
    fn addresses_come_one_by_one_or_as_a_list() {
        let parsed = parse("cts worker -scheduler a:1,b:2 -scheduler http://127.0.0.1:3");
        let Command::Worker { schedulers, .. } = parsed.command else {
            panic!("another command");
        };
        let texts: Vec<String> = schedulers
            .schedulers
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(texts, ["a:1", "b:2", "127.0.0.1:3"]);
    }
}
