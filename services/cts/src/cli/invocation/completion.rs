//! Answers to a shell that completes a command line (docs/cli.md#completion).
//!
//! The shell passes the line in `COMP_LINE` and wants one candidate per line. This works for both names
//! and in every shell, for the scripts of `cts completion` ask in the same way.

mod files;
mod line;
mod script;
mod tasks;

use std::ffi::{OsStr, OsString};

use clap::Arg;

pub(crate) use self::script::script;

use self::line::Line;
use super::definitions::{Definitions, Leaf, is_boolean};
use super::personality::InvokedAs;
use crate::process_env::ProcessEnv;

/// Options that have no command.
const GENERAL: [&str; 4] = [
    "autocomplete-install",
    "autocomplete-uninstall",
    "help",
    "version",
];

/// Whether this is a question of a shell, whatever else the words say.
pub(crate) fn is_asked_for(process_env: &ProcessEnv) -> bool {
    variable(process_env, "COMP_LINE").is_some_and(|line| !line.is_empty())
}

/// The candidates for the line in `COMP_LINE`, one per line.
pub(crate) async fn candidates(personality: InvokedAs, process_env: &ProcessEnv) -> String {
    let line = variable(process_env, "COMP_LINE").unwrap_or_default();
    let line = line.to_string_lossy();
    let point = variable(process_env, "COMP_POINT").and_then(OsStr::to_str);
    let line = Line::new(&line, point);
    let definitions = Definitions::new(personality);
    let mut candidates = match wanted(&definitions, &line) {
        Wanted::Words(words) => words,
        Wanted::Files(kind) => files::candidates(kind, line.last, &process_env.current_dir),
        Wanted::Tasks(state) => tasks::names(state, process_env).await,
    };
    candidates.retain(|candidate| candidate.starts_with(line.last));
    candidates.sort_unstable();
    candidates.dedup();
    candidates
        .into_iter()
        .map(|candidate| candidate + "\n")
        .collect()
}

fn variable<'a>(process_env: &'a ProcessEnv, name: &str) -> Option<&'a OsStr> {
    let value = process_env.environment.get(OsStr::new(name));
    value.map(OsString::as_os_str)
}

/// Words that fit at the cursor.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    /// One of these.
    Words(Vec<String>),
    /// A path.
    Files(files::Kind),
    /// The name of a task.
    Tasks(tasks::State),
}

fn wanted(definitions: &Definitions, line: &Line<'_>) -> Wanted {
    let path = path(definitions, &line.words);
    let leaf = definitions.leaf(&path);
    let option = line.words.last().and_then(|word| word.strip_prefix('-'));
    let option = option.map(|name| name.strip_prefix('-').unwrap_or(name));
    if let Some((name, option)) = option.and_then(|name| Some((name, leaf.option(name)?)))
        && !is_boolean(option)
    {
        return match leaf.path() {
            ["runs", "list"] if name == "task" => Wanted::Tasks(tasks::State::Any),
            _ => value(name, option),
        };
    }
    let subcommands = definitions.subcommands(&path);
    if line.last.starts_with('-') {
        let general = path.is_empty().then_some(GENERAL).into_iter().flatten();
        return Wanted::Words(dashed(
            line.last,
            general.map(str::to_owned).chain(options(&leaf)),
        ));
    }
    if !subcommands.is_empty() {
        let names = subcommands
            .iter()
            .map(|command| command.get_name().to_owned());
        return Wanted::Words(names.collect());
    }
    match leaf.path() {
        ["task", "enable"] => Wanted::Tasks(tasks::State::Disabled),
        ["task", "disable"] => Wanted::Tasks(tasks::State::Enabled),
        ["task", _] if leaf.command().get_positionals().next().is_some() => {
            Wanted::Tasks(tasks::State::Any)
        }
        _ => match leaf.command().get_positionals().next() {
            Some(argument) => value("", argument),
            None => Wanted::Words(Vec::new()),
        },
    }
}

/// The command that the words name, wherever they stand.
fn path<'a>(definitions: &'a Definitions, words: &[&str]) -> Vec<&'a str> {
    let mut path = Vec::new();
    if let InvokedAs::Service { command, .. } = definitions.personality() {
        path.push(command);
    }
    for word in words {
        path.extend(definitions.subcommand(&path, word));
    }
    path
}

/// The names of a command's options, without those that only the program itself uses.
fn options(leaf: &Leaf<'_>) -> Vec<String> {
    let spellings = leaf.spellings().into_iter();
    spellings
        .map(|spelling| spelling.name.to_owned())
        .filter(|name| name != "deprecated-start-up")
        .collect()
}

/// With as many dashes as the word has that is completed.
fn dashed(last: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let dashes = if last.starts_with("--") { "--" } else { "-" };
    names.map(|name| format!("{dashes}{name}")).collect()
}

/// Words that can follow an option.
fn value(name: &str, option: &Arg) -> Wanted {
    match name {
        "config-file" | "task-file" => Wanted::Files(files::Kind::Configuration),
        "config-dir" | "ca-path" | "directory" | "working-dir" => {
            Wanted::Files(files::Kind::Directory)
        }
        "ca-cert" | "client-cert" | "client-key" => Wanted::Files(files::Kind::Any),
        _ => {
            let values = option.get_possible_values();
            let names = values.iter().map(|value| value.get_name().to_owned());
            Wanted::Words(names.collect())
        }
    }
}
