//! The arguments of `cts config`.
//!
//! Only clap and the standard library here: the build script reads this file too, for the manual pages.

use clap::{Subcommand, ValueEnum};

use crate::cli::groups::Configuration;

/// `cts config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the configuration and list every problem in it, without asking Consul or Terraform.
    Validate {
        #[command(flatten)]
        configuration: Configuration,
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
}

/// A language of configuration files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DumpFormat {
    /// HCL.
    Hcl,
    /// JSON.
    Json,
}
