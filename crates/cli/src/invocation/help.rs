//! Help, and complaints about a command line: by clap, or for the original's name by its usage pages
//! (docs/cli.md#options-and-arguments).

use std::ffi::OsString;

use clap::error::ErrorKind;

use super::definitions::{Definitions, Leaf};
use super::invoked_as::InvokedAs;
use super::nearest::nearest;
use super::usage;
use super::words::OptionError;
use crate::answer::Answer;
use crate::exit_code::{EXIT_MISSING, EXIT_USAGE};

/// Help for the program, a group of commands or a command.
pub(super) fn page(definitions: &Definitions, path: &[&str]) -> String {
    let leaf = definitions.leaf(path);
    if definitions.invoked_as() == InvokedAs::Original {
        return usage::page(definitions, &leaf);
    }
    leaf.command().clone().render_help().to_string()
}

/// For standard error, because no command is called `word`.
pub(super) fn unknown_command(definitions: &Definitions, word: Option<&str>) -> String {
    match word.filter(|_| definitions.invoked_as() == InvokedAs::Ours) {
        Some(word) => unknown(definitions, &[], word),
        None => page(definitions, &[]),
    }
}

/// For standard error, because the group at `path` has no command called `word`.
pub(super) fn unknown_subcommand(definitions: &Definitions, path: &[&str], word: &str) -> String {
    match definitions.invoked_as() {
        InvokedAs::Original => page(definitions, path),
        InvokedAs::Ours | InvokedAs::Service { .. } => unknown(definitions, path, word),
    }
}

/// The complaint and where the commands are listed, in two lines.
fn unknown(definitions: &Definitions, path: &[&str], word: &str) -> String {
    let leaf = definitions.leaf(path);
    let commands = leaf.command().get_subcommands();
    let meant = nearest(word, commands.map(clap::Command::get_name));
    let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant:?}?"));
    let call = leaf.call();
    format!("error: `{call}` has no command {word:?}{meant}\n`{call} -help` lists its commands\n")
}

/// Because the options after a command cannot be read.
pub(super) fn bad_options(
    definitions: &Definitions,
    leaf: &Leaf<'_>,
    words: &[OsString],
    error: &OptionError,
) -> Answer {
    let headline = unsupported(leaf, words);
    if definitions.invoked_as() == InvokedAs::Original {
        return usage::complaint(definitions, leaf, headline, &error.to_string());
    }
    let tip = match error {
        OptionError::Unknown(name) => {
            let spellings = leaf.spellings();
            let shown = spellings
                .iter()
                .filter(|spelling| !spelling.option.is_hide_set());
            let names: Vec<&str> = shown.map(|spelling| spelling.name).collect();
            meant(name, &names)
                .map_or_else(String::new, |meant| format!("\n\n  did you mean {meant}?"))
        }
        _ => String::new(),
    };
    let usage = leaf.command().clone().render_usage();
    let complaint = format!(
        "{headline}error: {error}{tip}\n\n{usage}\n\nFor more information, try '{} --help'.\n",
        leaf.call()
    );
    Answer::complaint(complaint, EXIT_USAGE)
}

/// The options that were probably meant: the most similar option, or the options that begin with the word.
fn meant(word: &str, names: &[&str]) -> Option<String> {
    if let Some(name) = nearest(word, names.iter().copied()) {
        return Some(format!("-{name}"));
    }
    let beginning = format!("{word}-");
    let longer = names.iter().filter(|name| name.starts_with(&beginning));
    let longer: Vec<String> = longer.map(|name| format!("-{name}")).collect();
    (!longer.is_empty()).then(|| longer.join(" or "))
}

/// Because clap does not accept what the options and arguments say.
pub(super) fn refused(
    definitions: &Definitions,
    leaf: &Leaf<'_>,
    words: &[OsString],
    error: &clap::Error,
) -> Answer {
    let code = match error.kind() {
        // Unknown options have been reported already, so this is an argument too many.
        ErrorKind::MissingRequiredArgument | ErrorKind::UnknownArgument => EXIT_MISSING,
        _ => EXIT_USAGE,
    };
    let headline = unsupported(leaf, words);
    let text = error.render().to_string();
    if definitions.invoked_as() != InvokedAs::Original {
        return Answer::complaint(headline + &text, code);
    }
    let first = text.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    Answer {
        code,
        ..usage::complaint(definitions, leaf, headline, first)
    }
}

/// Headline of the original's commands about one task, for options that cannot be read; empty for other commands.
fn unsupported(leaf: &Leaf<'_>, words: &[OsString]) -> String {
    let about_one_task = matches!(leaf.path(), ["task", "delete" | "enable" | "disable"]);
    if !about_one_task {
        return String::new();
    }
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    format!(
        "==> Error: unsupported arguments in flags '{}'\n",
        words.join(", ")
    )
}
