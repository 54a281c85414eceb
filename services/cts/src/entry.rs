//! The beginning of a process: everything that needs no service.

use std::ffi::{OsStr, OsString};
use std::io;
use std::iter;
use std::sync::Arc;

use cts_cli::{InvokedAs, LogLines, Outcome, ServiceCommand, StoreCommand, say};
use cts_runtime::{LogFormat, ProcessEnv};
use cts_terraform::SUPPORTED_RANGE;
use tokio::runtime::Runtime;

use crate::commands::{approvals, archive, configuration, doctor, migrate, scheduler, token};
use crate::failure::Failure;
use crate::private_environment::{Inspection, withdraw_credentials};

/// A service that is to be run.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) command: ServiceCommand,
    pub(crate) process_env: ProcessEnv,
    /// Parts of this process that other processes can read nevertheless, for the log.
    pub(crate) readable: Vec<String>,
    /// Whether the command line has a deprecated form, which the log mentions.
    pub(crate) is_deprecated: bool,
    pub(crate) runtime: Runtime,
}

/// Answers the command line, or runs its command, and gives the exit code; a service is left to the caller.
pub(crate) fn enter(
    called: &OsStr,
    words: &[OsString],
    inspection: Inspection,
) -> Result<Service, u8> {
    let mut process_env = ProcessEnv::of_this_process().map_err(surroundings_failed)?;
    process_env.program = InvokedAs::resolve(called, words).0.name();
    let arguments: Vec<OsString> = iter::once(called.to_owned())
        .chain(words.iter().cloned())
        .collect();
    match cts_cli::run(called, words, SUPPORTED_RANGE, &process_env) {
        Outcome::Ended(code) => Err(code),
        Outcome::Service { command, notice } => {
            process_env.log_format = log_format(&command);
            let end = |failure: Failure, process_env: &ProcessEnv| {
                failure.end(process_env.log_format, Arc::clone(&process_env.clock))
            };
            // Executes this process again, which would repeat every earlier effect.
            let environment = &mut process_env.environment;
            let readable = withdraw_credentials(inspection, &arguments, environment);
            let readable = readable.map_err(|error| end(Failure::Handover(error), &process_env))?;
            let is_json = process_env.log_format == LogFormat::Json;
            if !notice.is_empty() && !is_json {
                say(&notice);
            }
            let runtime = Runtime::new();
            Ok(Service {
                command: *command,
                readable,
                is_deprecated: is_json && !notice.is_empty(),
                runtime: runtime.map_err(|error| end(Failure::ProcessEnv(error), &process_env))?,
                process_env,
            })
        }
        Outcome::Scheduler(command) => Err(end(scheduler::run(command, &process_env))),
        Outcome::Store(StoreCommand::Migrate(command)) => {
            Err(end(migrate::run(command, &process_env)))
        }
        Outcome::Store(StoreCommand::Archive(command)) => {
            Err(end(archive::run(command, &process_env)))
        }
        Outcome::Store(StoreCommand::Token(command)) => Err(end(token::run(command, &process_env))),
        Outcome::Approvals(command) => Err(end(approvals::run(command, &process_env))),
        Outcome::Doctor(command) => Err(end(doctor::run(command, &process_env))),
        Outcome::StoredConfig(command) => Err(end(configuration::run(command, &process_env))),
    }
}

/// Runs a command that ends by itself and returns the exit code.
fn end(running: impl Future<Output = Result<u8, Failure>>) -> u8 {
    let result = Runtime::new()
        .map_err(Failure::ProcessEnv)
        .and_then(|runtime| runtime.block_on(running));
    result.unwrap_or_else(|failure| failure.report())
}

fn log_format(command: &ServiceCommand) -> LogFormat {
    match command.options().log_format {
        LogLines::Text => LogFormat::Text,
        LogLines::Json => LogFormat::Json,
    }
}

fn surroundings_failed(error: io::Error) -> u8 {
    Failure::ProcessEnv(error).report()
}
