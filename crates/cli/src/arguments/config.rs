//! The arguments of `cts config`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCompleter;

use super::options::{Configuration, OutputOption, configuration_files, path};

/// `cts config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the configuration and list every problem in it, without asking Consul or Terraform.
    Validate {
        #[command(flatten)]
        configuration: Configuration,
        /// As `-config-file`; they come after those.
        #[arg(value_name = "PATH", value_parser = path(), add = ArgValueCompleter::new(configuration_files()))]
        more: Vec<PathBuf>,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the configuration with defaults filled in and secrets masked.
    Dump {
        #[command(flatten)]
        configuration: Configuration,
        /// Language of the output.
        #[arg(long, short = 'o', value_name = "FORMAT", default_value = "hcl")]
        output: DumpFormat,
        /// The same as `-o json`.
        #[arg(long)]
        json: bool,
    },
    #[command(flatten)]
    Stored(StoredConfigCommand),
}

/// A command that compares the configuration with a store.
#[derive(Debug, Subcommand)]
pub enum StoredConfigCommand {
    /// Show how the tasks of the configuration differ from those that are stored; exit code 2 if they do.
    #[command(after_help = "Example:\n\n    \
        $ cts config diff -config-file cts.hcl\n    \
        + dns: only in the configuration\n    \
        ~ web: changed in the configuration\n        \
        version: \"1.0.0\" -> \"1.1.0\"\n    \
        The stored tasks are not as configured.")]
    Diff(Diff),
    /// Make the stored tasks what the configuration says: show the differences, ask, and put it in force.
    #[command(after_help = "Example:\n\n    \
        $ cts config apply -config-file cts.hcl\n    \
        ~ web: changed over the API, which lasts until the configuration says something else\n        \
        enabled: false -> true\n    \
        ...\n    \
        Enter a value: yes\n    \
        Configuration 4 is in force.")]
    Apply(Apply),
}

/// `cts config diff`.
#[derive(Debug, Args)]
pub struct Diff {
    /// The configuration.
    #[command(flatten)]
    pub configuration: Configuration,
    /// Store to compare with: sqlite:PATH of a cts.db, or postgres://… Default: that of the configuration.
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
    /// How the result is printed.
    #[command(flatten)]
    pub output: OutputOption,
}

/// `cts config apply`.
#[derive(Debug, Args)]
pub struct Apply {
    /// The configuration.
    #[command(flatten)]
    pub configuration: Configuration,
    /// Store to write to: sqlite:PATH of a cts.db, or postgres://… Default: that of the configuration.
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
    /// Remove tasks of the API that the configuration does not name.
    #[arg(long)]
    pub prune: bool,
    /// Do not ask.
    #[arg(long)]
    pub auto_approve: bool,
}

/// A language of configuration files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DumpFormat {
    /// HCL.
    Hcl,
    /// JSON.
    Json,
}
