//! Messages of `start` before it begins (docs/cli.md#start).

use super::definitions::Definitions;
use super::help;
use crate::answer::Answer;
use crate::arguments::{Command, ServiceCommand};
use crate::error::CommandError;
use crate::exit_code::EXIT_MISSING;
use crate::output::help_hint;

/// The warning of the old form, or the answer to a `start` without a configuration; other commands pass.
pub(super) fn check(definitions: &Definitions, command: &Command) -> Result<String, Answer> {
    let Command::Service(ServiceCommand::Start(start)) = command else {
        return Ok(String::new());
    };
    let lacks_configuration = start.service.configuration.paths.is_empty();
    match (lacks_configuration, start.deprecated_start_up) {
        (true, true) => Err(Answer {
            stdout: help::page(definitions, &[]),
            stderr: String::new(),
            code: EXIT_MISSING,
        }),
        (true, false) => Err(without_configuration(definitions.name())),
        (false, true) => Ok(deprecated(definitions.name())),
        (false, false) => Ok(String::new()),
    }
}

fn without_configuration(name: &str) -> Answer {
    Answer {
        stdout: format!(
            "    {}\n\n    {}\n",
            CommandError::NoConfiguration,
            help_hint(&format!("{name} start"))
        ),
        stderr: format!("==> Error: unable to start {name}\n"),
        code: EXIT_MISSING,
    }
}

fn deprecated(name: &str) -> String {
    let frame = "=".repeat(78);
    format!(
        "{frame}\n\
         Warning: starting without a command is deprecated.\n\n\
         Say instead:\n\n    {name} start [options]\n\n\
         The options are the same; {name} start -help lists them.\n\
         {frame}\n"
    )
}
