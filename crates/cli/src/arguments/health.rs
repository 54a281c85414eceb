//! The arguments of `cts health`.

use clap::Args;

use super::options::{ClientOptions, Configuration, OutputOption};

/// `cts health`.
#[derive(Debug, Args)]
pub(crate) struct Health {
    /// HOST:PORT of the gRPC of a service, or a URL of the API, as in <http://localhost:8558>. Default: `-http-addr`, else
    /// `CTS_ADDRESS`, else the API on this machine.
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: Option<String>,
    /// Names the TLS files for gRPC: `services.tls`.
    #[command(flatten)]
    pub(crate) configuration: Configuration,
    /// How the API is reached.
    #[command(flatten)]
    pub(crate) client: ClientOptions,
    /// How the result is printed.
    #[command(flatten)]
    pub(crate) output: OutputOption,
}
