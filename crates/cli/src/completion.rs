//! Completion of `cts`, by clap (docs/cli.md#completion).
//!
//! The script of a shell calls the program with [`VARIABLE`] in its environment and the line as arguments.

pub(crate) mod original;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::sync::Arc;

use clap::{CommandFactory as _, ValueEnum as _};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{EnvCompleter, Shells};
use cts_runtime::ProcessEnv;

use crate::answer::Answer;
use crate::arguments::{Arguments, Shell};
use crate::error::CommandError;
use crate::exit_code::EXIT_GENERAL;
use crate::output::print;
use crate::task_names::{TaskState, run_ids, task_names};

/// Names the shell that completes a line.
const VARIABLE: &str = "CTS_COMPLETE";

const PROGRAM: &str = "cts";

/// Commands below `task` with an argument that names tasks: command, argument, and the tasks that fit.
const TASK_ARGUMENTS: [(&str, &str, TaskState); 11] = [
    ("list", "search", TaskState::Any),
    ("delete", "names", TaskState::Any),
    ("enable", "names", TaskState::Disabled),
    ("disable", "names", TaskState::Enabled),
    ("show", "name", TaskState::Any),
    ("explain", "name", TaskState::Any),
    ("events", "name", TaskState::Any),
    ("logs", "name", TaskState::Any),
    ("release", "name", TaskState::Any),
    ("state", "name", TaskState::Any),
    ("run", "name", TaskState::Any),
];

/// Commands below `runs` with an argument that names a run.
const RUN_ARGUMENTS: [&str; 5] = ["show", "plan", "input", "logs", "cancel"];

/// Commands below `approvals` with such an argument.
const APPROVAL_ARGUMENTS: [&str; 3] = ["show", "approve", "reject"];

/// Prints the script that makes a shell complete.
pub(crate) fn print_script(shell: Shell) -> Result<u8, CommandError> {
    let value = shell.to_possible_value();
    let shell = value.and_then(|value| completer(value.get_name()));
    let mut script = Vec::new();
    if let Some(shell) = shell {
        shell
            .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
            .map_err(CommandError::ProcessEnv)?;
    }
    print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

/// The answer to a shell that completes a line: `--`, and the words of the line.
pub(crate) fn answer(words: &[OsString], process_env: &ProcessEnv) -> Option<Answer> {
    let shell = process_env.environment.get(OsStr::new(VARIABLE))?;
    let shell = completer(shell.to_str()?)?;
    let line = words.iter().skip(1).map(|word| with_two_dashes(word));
    let mut candidates = Vec::new();
    let written = shell.write_complete(
        &mut definitions(process_env),
        line.collect(),
        Some(&process_env.current_dir),
        &mut candidates,
    );
    Some(match written {
        Ok(()) => Answer::printed(String::from_utf8_lossy(&candidates)),
        Err(_nothing_fits) => Answer::complaint("", EXIT_GENERAL),
    })
}

fn completer(name: &str) -> Option<&'static dyn EnvCompleter> {
    let shells = Shells::builtins().0.iter();
    shells.copied().find(|shell| shell.is(name))
}

/// Commands and options, with the names of tasks where they fit.
fn definitions(process_env: &ProcessEnv) -> clap::Command {
    let process_env = Arc::new(process_env.clone());
    let names = |state| {
        let process_env = Arc::clone(&process_env);
        ArgValueCandidates::new(move || {
            let names = task_names(state, &process_env).into_iter();
            names.map(CompletionCandidate::new).collect()
        })
    };
    let ids = || {
        let process_env = Arc::clone(&process_env);
        ArgValueCandidates::new(move || {
            let ids = run_ids(&process_env).into_iter();
            ids.map(|(id, task)| CompletionCandidate::new(id).help(Some(task.into())))
                .collect()
        })
    };
    let with_names = |command: clap::Command, name: &'static str, argument: &'static str, state| {
        command.mut_subcommand(name, |command| {
            command.mut_arg(argument, |argument| argument.add(names(state)))
        })
    };
    let with_run_ids = |command: clap::Command, name: &&'static str| {
        command.mut_subcommand(name, |command| {
            command.mut_arg("id", |argument| argument.add(ids()))
        })
    };
    Arguments::command()
        .mut_subcommand("task", |task| {
            let arguments = TASK_ARGUMENTS.iter();
            arguments.fold(task, |task, (name, argument, state)| {
                with_names(task, name, argument, *state)
            })
        })
        .mut_subcommand("approvals", |approvals| {
            let approvals = with_names(approvals, "reopen", "name", TaskState::Any);
            APPROVAL_ARGUMENTS.iter().fold(approvals, &with_run_ids)
        })
        .mut_subcommand("runs", |runs| {
            let runs = with_names(runs, "list", "task", TaskState::Any);
            RUN_ARGUMENTS.iter().fold(runs, &with_run_ids)
        })
}

/// `--once` for `-once`, which clap would read as several letters.
fn with_two_dashes(word: &OsStr) -> OsString {
    let bytes = word.as_bytes();
    let name = bytes.split(|byte| *byte == b'=').next().unwrap_or(bytes);
    if name.len() > 2 && name.starts_with(b"-") && !name.starts_with(b"--") {
        return OsString::from_vec([b"-", bytes].concat());
    }
    word.to_owned()
}
