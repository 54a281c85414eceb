//! The beginning of a process: what it was asked for, and everything that needs no service.

use std::ffi::{OsStr, OsString};
use std::io;
use std::iter;
use std::path::{Path, PathBuf};

use nix::unistd::{User, getuid};
use tokio::runtime::Runtime;

use crate::cli::arguments::Command;
use crate::cli::invocation::install::{Completed, Edit, Home};
use crate::cli::invocation::{Answer, InvokedAs, Request, completion, man, read};
use crate::commands::{archive, cluster, config, migrate, task, workers};
use crate::failure::{EXIT_GENERAL, EXIT_GROUP, Failure};
use crate::output::{fail, say};
use crate::private_environment::{Inspection, withdraw_credentials};
use crate::process_env::ProcessEnv;

/// A service that is to be run.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) command: Command,
    pub(crate) process_env: ProcessEnv,
    /// Parts of this process that other processes can read nevertheless, for the log.
    pub(crate) readable: Vec<String>,
    pub(crate) runtime: Runtime,
}

/// Answers, or does the one thing that was asked for, and gives the exit code; a service is left to the
/// caller.
pub(crate) fn enter(
    called: &OsStr,
    words: Vec<OsString>,
    inspection: Inspection,
) -> Result<Service, u8> {
    let personality = InvokedAs::of(called);
    let mut process_env = ProcessEnv::of_this_process().map_err(surroundings_failed)?;
    process_env.program = personality.name();
    if completion::is_asked_for(&process_env) {
        let runtime = Runtime::new().map_err(surroundings_failed)?;
        let candidates = runtime.block_on(completion::candidates(personality, &process_env));
        return Err(Answer::printed(candidates).give());
    }
    let words_said: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let line = format!("{} {}", personality.name(), words_said.join(" "));
    let arguments: Vec<OsString> = iter::once(called.to_owned())
        .chain(words.iter().cloned())
        .collect();
    let mut readable = Vec::new();
    let command = match read(personality, words) {
        Request::Answer(answer) => return Err(answer.give()),
        Request::ShellFiles(edit) => {
            let done = edit_shell_files(edit, personality, called, &process_env);
            return Err(done.map_or_else(
                |error| Answer::complaint(format!("error: {line}: {error}\n"), EXIT_GROUP).give(),
                |()| 0,
            ));
        }
        Request::Run { command, notice } => {
            // Executes this process again, which would repeat every effect before it.
            if command.is_service() {
                let environment = &mut process_env.environment;
                readable = withdraw_credentials(inspection, &arguments, environment)
                    .map_err(|error| fail(&Failure::Handover(error)))?;
            }
            Answer::complaint(notice, 0).give();
            *command
        }
    };
    match command {
        Command::Task(command) => Err(ask(task::run(command, &process_env))),
        Command::Runs(command) => Err(ask(task::runs(command, &process_env))),
        Command::Import(command) => Err(ask(task::import(command, &process_env))),
        Command::Workers(command) => Err(end(workers::run(command, &process_env))),
        Command::Cluster(command) => Err(end(cluster::run(command, &process_env))),
        Command::Migrate(command) => Err(end(migrate::run(command, &process_env))),
        Command::Archive(command) => Err(end(archive::run(command, &process_env))),
        Command::Config(command) => Err(end_with_code(config::run(command, &process_env))),
        Command::Completion { shell } => Err(Answer::printed(completion::script(shell)).give()),
        Command::Man { page, directory } => {
            let shown = manual(&page.join("-"), directory, &process_env);
            Err(shown.unwrap_or_else(|failure| fail(&failure)))
        }
        command @ (Command::Start { .. }
        | Command::Watcher { .. }
        | Command::Scheduler { .. }
        | Command::Worker { .. }
        | Command::Gateway { .. }) => Ok(Service {
            command,
            process_env,
            readable,
            runtime: Runtime::new().map_err(surroundings_failed)?,
        }),
    }
}

/// Runs a command that calls a running cts.
fn ask(running: impl Future<Output = u8>) -> u8 {
    Runtime::new().map_or_else(surroundings_failed, |runtime| runtime.block_on(running))
}

/// Runs a command that ends by itself.
fn end(running: impl Future<Output = Result<(), Failure>>) -> u8 {
    end_with_code(async { running.await.map(|()| 0) })
}

/// Runs a command that ends by itself and returns the exit code.
fn end_with_code(running: impl Future<Output = Result<u8, Failure>>) -> u8 {
    let result = Runtime::new()
        .map_err(Failure::ProcessEnv)
        .and_then(|runtime| runtime.block_on(running));
    result.unwrap_or_else(|failure| fail(&failure))
}

fn manual(page: &str, directory: Option<PathBuf>, process_env: &ProcessEnv) -> Result<u8, Failure> {
    if let Some(directory) = directory {
        let directory = process_env.current_dir.join(directory);
        man::write_all(&directory).map_err(|(path, source)| Failure::Path { path, source })?;
        return Ok(0);
    }
    if let Some(text) = man::page(page) {
        return Ok(Answer::printed(text).give());
    }
    let names: Vec<&str> = man::names().collect();
    say(&format!(
        "error: there is no page {page:?}; there are {}",
        names.join(", ")
    ));
    Ok(EXIT_GENERAL)
}

fn edit_shell_files(
    edit: Edit,
    personality: InvokedAs,
    called: &OsStr,
    process_env: &ProcessEnv,
) -> Result<(), Box<dyn std::error::Error>> {
    // `HOME` may name the directory of a different user, as under sudo.
    let user = User::from_uid(getuid())?
        .ok_or_else(|| io::Error::other("this user is not in the database of users"))?;
    let config = process_env.environment.get(OsStr::new("XDG_CONFIG_HOME"));
    let home = Home {
        config: config
            .filter(|config| Path::new(config).is_absolute())
            .map_or_else(|| user.dir.join(".config"), PathBuf::from),
        directory: user.dir,
    };
    let path = program_path(called, process_env);
    let program = Completed {
        name: personality.name(),
        path: &path,
    };
    Ok(home.edit(edit, program)?)
}

/// The path that the program was called by. Links are not followed, for the name of a link is what makes
/// the program the original.
fn program_path(called: &OsStr, process_env: &ProcessEnv) -> PathBuf {
    if called.as_encoded_bytes().contains(&b'/') {
        let path = process_env.current_dir.join(called);
        // Without `.` between the directories.
        return path.components().collect();
    }
    let search = process_env.environment.get(OsStr::new("PATH"));
    let directories = search.into_iter().flat_map(std::env::split_paths);
    let mut paths =
        directories.map(|directory| process_env.current_dir.join(directory).join(called));
    paths
        .find(|path| path.is_file())
        .unwrap_or_else(|| called.into())
}

fn surroundings_failed(error: io::Error) -> u8 {
    fail(&Failure::ProcessEnv(error))
}
