//! Options that several commands have.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use clap_complete::engine::{ArgValueCompleter, PathCompleter};
use serde_json::Value;

use super::table_width::WideOption;

/// How a command prints its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Table,
    /// For programs.
    Json,
}

impl Output {
    /// The result as text: the table, or the document with a line end.
    pub fn text(self, table: impl FnOnce() -> String, document: impl FnOnce() -> Value) -> String {
        match self {
            Self::Table => table(),
            Self::Json => format!("{:#}\n", document()),
        }
    }
}

/// The option for [`Output`].
#[derive(Debug, Clone, Copy, Args)]
pub struct OutputOption {
    /// How to print.
    #[arg(long, short = 'o', value_name = "FORMAT", default_value = "table")]
    pub output: Output,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogLines {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The files of a configuration.
#[derive(Debug, Clone, Default, Args)]
pub struct Configuration {
    /// Configuration file or directory of such files; may be given several times, later values win.
    #[arg(
        long = "config-file",
        visible_alias = "config-dir",
        value_name = "PATH",
        value_parser = path(),
        add = ArgValueCompleter::new(configuration_files())
    )]
    pub paths: Vec<PathBuf>,
}

/// Addresses of schedulers.
#[derive(Debug, Clone, Args)]
pub struct Schedulers {
    /// Address of a scheduler; may be given several times. Default: `services.schedulers`, else
    /// 127.0.0.1:8560.
    #[arg(long = "scheduler", value_name = "HOST:PORT", value_delimiter = ',')]
    pub schedulers: Vec<String>,
}

/// Where the API listens.
#[derive(Debug, Clone, Args)]
pub struct ApiAddress {
    /// Address on which the API listens; by default every address of the host.
    #[arg(long, value_name = "IP")]
    pub bind_address: Option<IpAddr>,
}

/// How the running cts is reached (docs/cli.md#options-of-all-of-them).
#[derive(Debug, Clone, Args)]
pub(crate) struct ClientOptions {
    /// URL of the running cts; its scheme is http or https. Environment: `CTS_ADDRESS`; else
    /// `http://localhost:8558`.
    #[arg(long, value_name = "URL")]
    pub(crate) http_addr: Option<String>,
    /// Deprecated, use -http-addr: replaces the port of the URL.
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// PEM file of CA certificates. Environment: `CTS_CACERT`.
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub(crate) ca_cert: Option<PathBuf>,
    /// Directory of such files. Environment: `CTS_CAPATH`.
    #[arg(long, value_name = "DIRECTORY", value_parser = path(), value_hint = ValueHint::DirPath)]
    pub(crate) ca_path: Option<PathBuf>,
    /// PEM file of the client's certificate. Environment: `CTS_CLIENT_CERT`.
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub(crate) client_cert: Option<PathBuf>,
    /// PEM file of its key. Environment: `CTS_CLIENT_KEY`.
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub(crate) client_key: Option<PathBuf>,
    /// Whether the server's certificate is verified. Environment: `CTS_SSL_VERIFY`; else true.
    #[arg(long, value_name = "BOOL")]
    pub(crate) ssl_verify: Option<bool>,
    /// File whose first line is the token of requests; only its owner may read it. Environment: `CTS_TOKEN`, the token
    /// itself.
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub(crate) token_file: Option<PathBuf>,
}

impl From<&ClientOptions> for cts_api_client::ClientOptions {
    fn from(options: &ClientOptions) -> Self {
        Self {
            http_addr: options.http_addr.clone(),
            port: options.port,
            ca_cert: options.ca_cert.clone(),
            ca_path: options.ca_path.clone(),
            client_cert: options.client_cert.clone(),
            client_key: options.client_key.clone(),
            ssl_verify: options.ssl_verify,
            token_file: options.token_file.clone(),
        }
    }
}

/// How the running cts is reached, and how its answer is printed.
#[derive(Debug, Clone, Args)]
pub struct QueryOptions {
    #[command(flatten)]
    pub(crate) client: ClientOptions,
    /// How to print.
    #[arg(long, short = 'o', value_name = "FORMAT", default_value = "table")]
    pub output: Output,
    /// How wide a table is.
    #[command(flatten)]
    pub wide: WideOption,
}

/// How the instance is reached whose tasks are read. The environment does not count.
#[derive(Debug, Clone, Args)]
pub(crate) struct SourceOptions {
    /// URL of the instance whose tasks are read, a Consul-Terraform-Sync or a cts. Required.
    #[arg(long, value_name = "URL")]
    pub(crate) from: String,
    /// PEM file of CA certificates for it.
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub(crate) from_ca_cert: Option<PathBuf>,
    /// Directory of such files.
    #[arg(long, value_name = "DIRECTORY", value_parser = path(), value_hint = ValueHint::DirPath)]
    pub(crate) from_ca_path: Option<PathBuf>,
    /// PEM file of the certificate that it is shown.
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub(crate) from_client_cert: Option<PathBuf>,
    /// PEM file of its key.
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub(crate) from_client_key: Option<PathBuf>,
    /// Whether its certificate is verified; true if not given.
    #[arg(long, value_name = "BOOL")]
    pub(crate) from_ssl_verify: Option<bool>,
    /// File whose first line is the token for it.
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub(crate) from_token_file: Option<PathBuf>,
}

impl From<&SourceOptions> for cts_api_client::ClientOptions {
    fn from(options: &SourceOptions) -> Self {
        Self {
            http_addr: Some(options.from.clone()),
            port: None,
            ca_cert: options.from_ca_cert.clone(),
            ca_path: options.from_ca_path.clone(),
            client_cert: options.from_client_cert.clone(),
            client_key: options.from_client_key.clone(),
            ssl_verify: options.from_ssl_verify,
            token_file: options.from_token_file.clone(),
        }
    }
}

/// Completes directories and files of configuration.
pub(super) fn configuration_files() -> PathCompleter {
    PathCompleter::any().filter(is_configuration_file)
}

/// Whether the name of a file is that of a file of configuration.
pub(crate) fn is_configuration_file(path: &Path) -> bool {
    let extension = path.extension();
    extension.is_some_and(|extension| extension == "hcl" || extension == "json")
}

/// Accepts the empty path too: it does not exist, which is another mistake than a forgotten value.
pub(super) fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}
