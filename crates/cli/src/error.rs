//! Why a command ends without its result.

use std::io;
use std::path::PathBuf;

use cts_api_client::TokenError;
use cts_config::ConfigError;
use cts_core::ErrorCode;

use crate::certs_error::CertsError;
use crate::exit_code::{EXIT_GENERAL, EXIT_MISSING, EXIT_UNUSABLE};

/// A command ends without its result.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Neither `-config-file` nor `-config-dir` was given.
    #[error(
        "no config file provided: name a file with -config-file, or a directory with -config-dir"
    )]
    NoConfiguration,
    /// The configuration has problems, which are listed.
    #[error("the configuration cannot be used")]
    Configuration(#[source] ConfigError),
    /// A scheduler did not do what was asked.
    #[error("{0}")]
    Call(String),
    /// The token cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A file or directory cannot be used.
    #[error("cannot use {}", path.display())]
    Path {
        /// The file or directory.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Certificates cannot be made.
    #[error(transparent)]
    Certificates(#[from] CertsError),
    /// The process cannot find out about itself, or cannot write its result.
    #[error("cannot read the process's surroundings")]
    ProcessEnv(#[source] io::Error),
}

impl CommandError {
    /// The exit code (docs/cli.md#exit-codes).
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::NoConfiguration => EXIT_MISSING,
            Self::Configuration(_) => EXIT_UNUSABLE,
            Self::Call(_)
            | Self::Token(_)
            | Self::Path { .. }
            | Self::Certificates(_)
            | Self::ProcessEnv(_) => EXIT_GENERAL,
        }
    }

    /// The code (docs/runbook.md#error-codes).
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::NoConfiguration | Self::Configuration(_) => ErrorCode::ConfigurationInvalid,
            Self::Call(_) => ErrorCode::CommandFailed,
            Self::Token(_) | Self::Certificates(_) => ErrorCode::CredentialsUnusable,
            Self::Path { .. } => ErrorCode::PathUnusable,
            Self::ProcessEnv(_) => ErrorCode::ProcessUnusable,
        }
    }
}
