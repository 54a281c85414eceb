//! The command line: commands and options, and the commands that need neither a store nor a service of this
//! process.
//!
//! One executable has several names ([`InvokedAs`]). [`run`] reads the words of a process and answers them: help,
//! completion, manual pages, checks of a configuration, and the commands that are clients of a running cts. Work
//! for the composition root is returned as an [`Outcome`].
//!
//! Read `arguments` (every command and option), then `invocation` (how words become a command), then `commands`.
//! `original` is for the name `consul-terraform-sync` alone.

mod answer;
mod arguments;
mod certs_error;
mod commands;
mod completion;
mod configuration;
#[cfg(test)]
mod documents;
mod error;
mod exit_code;
mod invocation;
mod manual;
mod original;
mod output;
mod task_names;

use std::ffi::{OsStr, OsString};

use cts_runtime::ProcessEnv;
use tokio::runtime::Runtime;
use tonic::transport::Channel;

pub use self::arguments::{
    ApiAddress, Apply, ApprovalsCommand, Approve, ArchiveCommand, ClusterCommand, Configuration,
    ConsentPlace, CreateToken, Diff, Doctor, Gateway, LogLines, Migrate, Output, OutputOption,
    QueryOptions, Scheduler, SchedulerCommand, SchedulerPlace, Schedulers, ServiceCommand,
    ServiceOptions, ServiceRole, Start, StoreCommand, StorePlace, StoredConfigCommand, TableWidth,
    TestPlan, TokenCommand, Watcher, WideOption, Worker, WorkersCommand,
};
pub use self::commands::table::{short_id, table};
pub use self::commands::task::{confirm, consent_text, plan_numbers, rule_in_force};
pub use self::commands::terminal_text::on_one_line;
pub use self::commands::time_text::local as local_time;
pub use self::configuration::{load, read, server_rule};
pub use self::error::CommandError;
pub use self::exit_code::*;
pub use self::invocation::invoked_as::InvokedAs;
pub use self::output::{print, say, say_error};

use self::answer::Answer;
use self::arguments::{Command, ConfigCommand, DumpFormat};
use self::commands::scheduler_call::SchedulerCalls;
use self::commands::{certs, cluster, config, health, task, workers};
use self::invocation::{Request, version};

/// Result of [`run`]: the work of a command line that is left to the composition root.
#[derive(Debug)]
pub enum Outcome {
    /// None: the process ends with this exit code.
    Ended(u8),
    /// A service, or a pass over the tasks.
    Service {
        command: Box<ServiceCommand>,
        /// Text for standard error before the command begins; may be empty.
        notice: String,
    },
    /// A command for [`call_scheduler`], which needs a connection.
    Scheduler(SchedulerCommand),
    /// A command that uses a store.
    Store(StoreCommand),
    /// A command about consent that uses a store or reads a plan.
    Approvals(ApprovalsCommand),
    /// A command that compares a configuration with a store.
    StoredConfig(StoredConfigCommand),
    /// `cts doctor`, which uses everything that services use.
    Doctor(Doctor),
}

/// Reads and answers the words after the name that the program was invoked by. `terraform` is the range of supported
/// versions, for the text of the version.
pub fn run(
    called: &OsStr,
    words: &[OsString],
    terraform: &str,
    process_env: &ProcessEnv,
) -> Outcome {
    let (invoked_as, words) = InvokedAs::resolve(called, words);
    let words = words.as_slice();
    let completed = match invoked_as {
        InvokedAs::Original => completion::original::answer(process_env),
        InvokedAs::Ours | InvokedAs::Service { .. } => completion::answer(words, process_env),
    };
    if let Some(answer) = completed {
        return Outcome::Ended(answer.give());
    }
    match invocation::read(invoked_as, words.to_vec()) {
        Request::Answer(answer) => Outcome::Ended(answer.give()),
        Request::Version => {
            Outcome::Ended(Answer::printed(version::text(invoked_as.name(), terraform)).give())
        }
        Request::ShellFiles(edit) => {
            Outcome::Ended(original::install::answer(edit, called, words, process_env).give())
        }
        Request::Run {
            mut command,
            notice,
        } => {
            if let Command::Service(ServiceCommand::Start(start)) = command.as_mut() {
                start.waits = invoked_as != InvokedAs::Original;
            }
            run_command(*command, notice, process_env)
        }
    }
}

fn run_command(command: Command, notice: String, process_env: &ProcessEnv) -> Outcome {
    if !matches!(command, Command::Service(_)) {
        Answer::complaint(notice.as_str(), 0).give();
    }
    let ended = match command {
        Command::Service(command) => {
            return Outcome::Service {
                command: Box::new(command),
                notice,
            };
        }
        Command::Scheduler(command) if command.place().is_api() => {
            wait_for(task::scheduler(command, process_env))
        }
        Command::Scheduler(command) => return Outcome::Scheduler(command),
        Command::Store(command) => return Outcome::Store(command),
        Command::Doctor(command) => return Outcome::Doctor(command),
        Command::Config(ConfigCommand::Stored(command)) => return Outcome::StoredConfig(command),
        Command::Config(ConfigCommand::Validate {
            configuration,
            more,
            json,
        }) => config::validate(&[configuration.paths, more].concat(), json, process_env),
        Command::Config(ConfigCommand::Dump {
            configuration,
            output,
            json,
        }) => {
            let format = if json { DumpFormat::Json } else { output };
            config::dump(&configuration.paths, format, process_env)
        }
        Command::Task(command) => wait_for(task::run(command, process_env)),
        Command::Runs(command) => wait_for(task::runs(command, process_env)),
        Command::Causes(command) => wait_for(task::causes(command, process_env)),
        Command::Approvals(command) if command.is_local() => return Outcome::Approvals(command),
        Command::Approvals(command) => wait_for(task::approvals(command, process_env)),
        Command::Status(command) => wait_for(task::status(command, process_env)),
        // `invocation` answers these.
        Command::Help { .. } | Command::Version => Ok(0),
        Command::Audit(command) => wait_for(task::audit(command, process_env)),
        Command::Mcp(options) => wait_for(task::mcp(options, process_env)),
        Command::Import(command) => wait_for(task::import(command, process_env)),
        Command::Certs(arguments) => certs::run(&arguments, process_env),
        Command::Health(arguments) => {
            wait_for(health::run(&arguments, process_env)).and_then(|ended| ended)
        }
        Command::Completion { shell } => completion::print_script(shell),
        Command::Man { page, directory } => manual::run(&page, directory.as_deref(), process_env),
    };
    Outcome::Ended(ended.unwrap_or_else(|error| error.report()))
}

fn wait_for<T>(running: impl Future<Output = T>) -> Result<T, CommandError> {
    let runtime = Runtime::new().map_err(CommandError::ProcessEnv)?;
    let ended = runtime.block_on(running);
    // Does not wait for a thread that reads standard input.
    runtime.shutdown_background();
    Ok(ended)
}

/// Runs a command of [`Outcome::Scheduler`]. Its calls carry the token that its options or the environment name.
pub async fn call_scheduler(
    command: &SchedulerCommand,
    scheduler: &Channel,
    process_env: &ProcessEnv,
) -> Result<(), CommandError> {
    let scheduler = SchedulerCalls::new(scheduler, command.place(), process_env)?;
    let scheduler = &scheduler;
    match command {
        SchedulerCommand::Workers(WorkersCommand::List { output, wide, .. }) => {
            workers::list(scheduler, output.output, wide.width()).await
        }
        SchedulerCommand::Workers(WorkersCommand::Drain { ids, wait, .. }) => {
            workers::drain(scheduler, ids, *wait).await
        }
        SchedulerCommand::Cluster(ClusterCommand::Status { output, wide, .. }) => {
            cluster::status(scheduler, output.output, wide.width()).await
        }
    }
}
