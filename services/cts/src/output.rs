//! Output of the program for the user who started it.

use std::io::Write;

use cts_config::ConfigError;
use cts_core::Chain;

use crate::failure::Failure;

/// Says why the process ends and gives its exit code.
pub(crate) fn fail(failure: &Failure) -> u8 {
    match failure {
        Failure::Configuration(ConfigError::Problems(report)) => say(&report.render()),
        Failure::Configuration(ConfigError::Unsupported(report)) => {
            say(&report.render());
            say(&format!("error: {}", Chain(failure)));
        }
        Failure::Configuration(ConfigError::NothingFound(warnings)) => {
            if !warnings.is_empty() {
                say(&warnings.render());
            }
            say(&format!("error: {}", Chain(failure)));
        }
        Failure::NoConfiguration => say("error: no configuration was given\n\
             Name a file or directory: -config-file cts.hcl"),
        other => say(&format!("error: {}", Chain(other))),
    }
    failure.exit_code()
}

/// Writes for the user who started the program.
pub(crate) fn say(text: &str) {
    drop(writeln!(std::io::stderr(), "{}", text.trim_end()));
}
