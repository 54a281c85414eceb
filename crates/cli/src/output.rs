//! Output of commands for the user who started them.

use std::error::Error;
use std::io::{self, Write as _};

use cts_config::ConfigError;
use cts_core::{Chain, ErrorCode};

use crate::error::CommandError;

/// Writes a message to standard error.
pub fn say(text: &str) {
    drop(writeln!(io::stderr(), "{}", text.trim_end()));
}

/// Writes an error with its causes and its code to standard error (docs/runbook.md#error-codes).
pub fn say_error(code: ErrorCode, error: &(dyn Error + 'static)) {
    say(&format!("error: {} [{code}]", Chain(error)));
}

impl CommandError {
    /// Prints the error on standard error and gives the exit code.
    pub fn report(&self) -> u8 {
        match self {
            Self::Configuration(ConfigError::Problems(report)) => say(&report.render()),
            Self::Configuration(ConfigError::NothingFound(warnings)) => {
                if !warnings.is_empty() {
                    say(&warnings.render());
                }
                say_error(self.code(), self);
            }
            Self::NoConfiguration
            | Self::Call(_)
            | Self::Token(_)
            | Self::Path { .. }
            | Self::Certificates(_)
            | Self::ProcessEnv(_) => {
                say_error(self.code(), self);
            }
        }
        self.exit_code()
    }
}

/// The hint to the help of the command `call`, such as `cts task create`.
pub(crate) fn help_hint(call: &str) -> String {
    format!("For additional help try '{call} --help'")
}

/// Writes a result to standard output. A missing reader is not a failure.
pub fn print(text: &str) -> Result<(), CommandError> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandError::ProcessEnv(error))
        }
        _ => Ok(()),
    }
}
