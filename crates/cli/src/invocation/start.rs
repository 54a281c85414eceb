//! Messages of `start` before it begins (docs/cli.md#start).

use super::answer::Answer;
use super::definitions::Definitions;
use super::{Request, help};
use crate::arguments::{Command, ServiceCommand, Start};
use crate::exit_code::EXIT_MISSING;

/// Answers a `start` without a configuration, and warns of the old form.
pub(super) fn check(definitions: &Definitions, command: Command, mut notice: String) -> Request {
    if let Command::Service(ServiceCommand::Start(Start {
        service,
        deprecated_start_up,
        ..
    })) = &command
    {
        match (service.configuration.paths.is_empty(), *deprecated_start_up) {
            (true, true) => {
                return Request::Answer(Answer {
                    stdout: help::page(definitions, &[]),
                    stderr: String::new(),
                    code: EXIT_MISSING,
                });
            }
            (true, false) => return Request::Answer(without_configuration(definitions.name())),
            (false, true) => notice.push_str(&deprecated(definitions.name())),
            (false, false) => {}
        }
    }
    Request::Run {
        command: Box::new(command),
        notice,
    }
}

fn without_configuration(name: &str) -> Answer {
    Answer {
        stdout: format!(
            "    no configuration was given: name a file with -config-file, or a directory with \
             -config-dir\n\n    For help: {name} start --help\n"
        ),
        stderr: format!("==> Error: {name} cannot start\n"),
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
