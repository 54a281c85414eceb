//! Completion for a shell that calls the program with the line in `COMP_LINE` (docs/cli.md#completion).

mod files;
mod line;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};

use cts_runtime::ProcessEnv;

use self::line::Line;
use crate::answer::Answer;
use crate::invocation::definitions::{Definitions, Leaf, is_boolean};
use crate::invocation::invoked_as::InvokedAs;
use crate::original::{SHELL_FILES, TOKEN_FILE};
use crate::task_names::{TaskState, task_names};

/// Options that have no command, besides those for the files of shells.
const GENERAL: [&str; 2] = ["help", "version"];

/// The candidates for the line in `COMP_LINE`, one per line; `None` without that variable.
pub(crate) fn answer(process_env: &ProcessEnv) -> Option<Answer> {
    let variable = |name| {
        let value = process_env.environment.get(OsStr::new(name));
        value.map(OsString::as_os_str)
    };
    let line = variable("COMP_LINE").filter(|line| !line.is_empty())?;
    let line = line.to_string_lossy();
    let point = variable("COMP_POINT").and_then(OsStr::to_str);
    let line = Line::new(&line, point);
    let definitions = Definitions::new(InvokedAs::Original);
    let mut candidates = match wanted(&definitions, &line) {
        Wanted::Words(words) => words,
        Wanted::Files(kind) => files::candidates(kind, line.last, &process_env.current_dir),
        Wanted::Tasks(state) => task_names(state, process_env),
    };
    candidates.retain(|candidate| candidate.starts_with(line.last));
    candidates.sort_unstable();
    let candidates = candidates.into_iter().map(|candidate| candidate + "\n");
    Some(Answer::printed(candidates.collect::<String>()))
}

/// Words that fit at the cursor.
enum Wanted {
    /// One of these words.
    Words(Vec<String>),
    /// A path.
    Files(files::Kind),
    /// The name of a task.
    Tasks(TaskState),
}

fn wanted(definitions: &Definitions, line: &Line<'_>) -> Wanted {
    let path = path(definitions, &line.words);
    let leaf = definitions.leaf(&path);
    let option = line.words.last().and_then(|word| word.strip_prefix('-'));
    let option = option.map(|name| name.strip_prefix('-').unwrap_or(name));
    if let Some(name) = option
        && leaf.option(name).is_some_and(|option| !is_boolean(option))
    {
        return value(name);
    }
    if line.last.starts_with('-') {
        // As many dashes as the completed word has.
        let dashes = if line.last.starts_with("--") {
            "--"
        } else {
            "-"
        };
        let names = options(&leaf).into_iter();
        return Wanted::Words(names.map(|name| format!("{dashes}{name}")).collect());
    }
    match leaf.path() {
        ["task", "delete"] => Wanted::Tasks(TaskState::Any),
        ["task", "enable"] => Wanted::Tasks(TaskState::Disabled),
        ["task", "disable"] => Wanted::Tasks(TaskState::Enabled),
        _ => {
            let commands = leaf.command().get_subcommands();
            Wanted::Words(commands.map(|it| it.get_name().to_owned()).collect())
        }
    }
}

/// The command that the words name, wherever they stand.
fn path<'a>(definitions: &'a Definitions, words: &[&str]) -> Vec<&'a str> {
    let mut path = Vec::new();
    for word in words {
        path.extend(definitions.subcommand(&path, word));
    }
    path
}

/// The options of a command, or of the program, except the option that only the program itself uses.
fn options<'a>(leaf: &Leaf<'a>) -> Vec<&'a str> {
    let shell_files = SHELL_FILES.iter().map(|(name, _help)| *name);
    match leaf.path() {
        [] => shell_files.chain(GENERAL).collect(),
        path => {
            let spellings = leaf.spellings().into_iter();
            let names = spellings.map(|spelling| spelling.name);
            let names = names.filter(|name| !["deprecated-start-up", TOKEN_FILE].contains(name));
            let is_start = matches!(path, ["start"]);
            names.chain(shell_files.filter(|_| is_start)).collect()
        }
    }
}

/// Words that can follow an option.
fn value(option: &str) -> Wanted {
    match option {
        "config-file" | "task-file" => Wanted::Files(files::Kind::Configuration),
        "config-dir" | "ca-path" => Wanted::Files(files::Kind::Directory),
        "ca-cert" | "client-cert" | "client-key" | TOKEN_FILE => Wanted::Files(files::Kind::Any),
        _ => Wanted::Words(Vec::new()),
    }
}
