//! The command line.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

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
    /// Run everything in one process, with its state in the working directory.
    Start {
        #[command(flatten)]
        configuration: Configuration,
        #[command(flatten)]
        api: ApiAddress,
        /// Serve gRPC with health checking and reflection here too, for clients such as grpcurl.
        #[arg(long, value_name = "IP:PORT")]
        grpc_address: Option<SocketAddr>,
    },
    /// Run the watcher alone.
    Watcher {
        #[command(flatten)]
        configuration: Configuration,
        /// Serve gRPC here.
        #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8561")]
        grpc_address: SocketAddr,
    },
    /// Run the scheduler alone.
    Scheduler {
        #[command(flatten)]
        configuration: Configuration,
        /// Serve gRPC here.
        #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8560")]
        grpc_address: SocketAddr,
        /// Address of the watcher.
        #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8561")]
        watcher: String,
    },
    /// Run a worker alone.
    Worker {
        #[command(flatten)]
        configuration: Configuration,
        /// Serve gRPC health checks here.
        #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8562")]
        grpc_address: SocketAddr,
        /// Address of the scheduler.
        #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8560")]
        scheduler: String,
    },
    /// Run the gateway alone.
    Gateway {
        #[command(flatten)]
        configuration: Configuration,
        #[command(flatten)]
        api: ApiAddress,
        /// Serve gRPC health checks here.
        #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8563")]
        grpc_address: SocketAddr,
        /// Address of the scheduler.
        #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8560")]
        scheduler: String,
    },
}

impl Command {
    pub(crate) fn configuration(&self) -> &Configuration {
        match self {
            Self::Start { configuration, .. }
            | Self::Watcher { configuration, .. }
            | Self::Scheduler { configuration, .. }
            | Self::Worker { configuration, .. }
            | Self::Gateway { configuration, .. } => configuration,
        }
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
pub(crate) struct ApiAddress {
    /// Address on which the API listens; by default every address of the host.
    #[arg(long, value_name = "IP")]
    pub(crate) bind_address: Option<IpAddr>,
}

/// Options may have one dash or two (spec/cli.md 1); the parser knows two.
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
}
