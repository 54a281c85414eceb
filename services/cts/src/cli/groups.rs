//! Options that several commands have.
//!
//! Only clap and the standard library here: the build script reads this file too.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};

/// How a command prints what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLines {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Configuration {
    /// Configuration file or directory of such files; may be given several times, later values win.
    #[arg(
        long = "config-file",
        visible_alias = "config-dir",
        value_name = "PATH",
        // An empty path is one that does not exist, not one that was forgotten.
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    pub(crate) paths: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct LogOptions {
    /// How the lines of the log look.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogLines,
}

/// Options that are dealt with before a command is begun.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ShellFileOptions {
    /// Make the shells of this user complete commands, options and names of tasks.
    #[arg(long, hide = true)]
    autocomplete_install: bool,
    /// Undo that.
    #[arg(long, hide = true)]
    autocomplete_uninstall: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Schedulers {
    /// Address of a scheduler; may be given several times. Default: `services.schedulers`, else
    /// 127.0.0.1:8560.
    #[arg(long = "scheduler", value_name = "HOST:PORT", value_delimiter = ',')]
    pub(crate) schedulers: Vec<String>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ApiAddress {
    /// Address on which the API listens; by default every address of the host.
    #[arg(long, value_name = "IP")]
    pub(crate) bind_address: Option<IpAddr>,
}
