//! Help and complaints (docs/cli.md#options-and-arguments): under our name as clap makes them, under the original's as
//! that shows them, with one dash.

mod listing;

use clap::Command;
use clap::error::ErrorKind;

use super::answer::Answer;
use super::args::OptionError;
use super::definitions::{Definitions, Leaf};
use super::nearest::nearest;
use super::original;
use super::personality::InvokedAs;
use crate::failure::{EXIT_MISSING, EXIT_USAGE};

/// Usage of the program.
pub(super) fn general(definitions: &Definitions) -> String {
    if definitions.personality() != InvokedAs::Original {
        return clap_help(definitions.root());
    }
    let name = definitions.name();
    let commands = listing::commands(&definitions.subcommands(&[]));
    let start = definitions.leaf(&["start"]);
    let options = listing::options(&start, |option| original::shows_option(option, true));
    format!(
        "Usage: {name} [--version] [--help] <command> [options]\n\n\
         Commands:\n\n{commands}\nOptions of start:\n\n{options}"
    )
}

/// Usage of a group of commands.
pub(super) fn group(definitions: &Definitions, path: &[&str]) -> String {
    let leaf = definitions.leaf(path);
    if definitions.personality() != InvokedAs::Original {
        return clap_help(leaf.command());
    }
    format!(
        "This is a group of commands: one of them has to follow.\n\n\
         Usage: {} <command> [options] [arguments]\n\nCommands:\n\n{}",
        leaf.call(),
        listing::commands(&definitions.subcommands(path))
    )
}

/// Usage of a command.
pub(super) fn command(definitions: &Definitions, path: &[&str]) -> String {
    let leaf = definitions.leaf(path);
    if definitions.personality() != InvokedAs::Original {
        return clap_help(leaf.command());
    }
    let about = leaf.command().get_about().map(ToString::to_string);
    let after = leaf.command().get_after_help().map(ToString::to_string);
    let after = after.map_or_else(String::new, |text| {
        let ours = InvokedAs::Ours.name();
        let text = text.replace(
            &format!("{ours} task"),
            &format!("{} task", definitions.name()),
        );
        format!("\n{}\n", text.trim_end())
    });
    format!(
        "Usage: {} [options]{}\n\n{}.\n\nOptions:\n\n{}{after}",
        leaf.call(),
        listing::arguments(leaf.command()),
        about.unwrap_or_default(),
        listing::options(&leaf, |option| original::shows_option(option, false)),
    )
}

/// For standard error, because no command is called `word`.
pub(super) fn unknown_command(definitions: &Definitions, word: Option<&str>) -> String {
    let general = general(definitions);
    let Some(word) = word.filter(|_| definitions.personality() == InvokedAs::Ours) else {
        return general;
    };
    let commands = definitions.subcommands(&[]);
    let meant = nearest(word, commands.iter().map(|command| command.get_name()));
    let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant:?}?"));
    format!("error: there is no command {word:?}{meant}\n\n{general}")
}

/// Because the options behind a command cannot be read.
pub(super) fn bad_options(
    definitions: &Definitions,
    leaf: &Leaf<'_>,
    words: &[std::ffi::OsString],
    error: &OptionError,
) -> Answer {
    if definitions.personality() == InvokedAs::Original {
        return original_complaint(definitions, leaf, words, &error.to_string());
    }
    let tip = match error {
        OptionError::Unknown(name) => {
            let spellings = leaf.spellings();
            let shown = spellings
                .iter()
                .filter(|spelling| !spelling.option.is_hide_set());
            nearest(name, shown.map(|spelling| spelling.name))
                .map_or_else(String::new, |meant| format!("\n\n  did you mean -{meant}?"))
        }
        _ => String::new(),
    };
    let usage = leaf.command().clone().render_usage();
    let complaint = format!(
        "error: {error}{tip}\n\n{usage}\n\nFor more information, try '{} --help'.\n",
        leaf.call()
    );
    Answer::complaint(complaint, EXIT_USAGE)
}

/// Because clap does not accept what the options and arguments say.
pub(super) fn refused(definitions: &Definitions, leaf: &Leaf<'_>, error: &clap::Error) -> Answer {
    let code = match error.kind() {
        // Unknown options have been reported already, so this is an argument too many.
        ErrorKind::MissingRequiredArgument | ErrorKind::UnknownArgument => EXIT_MISSING,
        _ => EXIT_USAGE,
    };
    let text = error.render().to_string();
    if definitions.personality() != InvokedAs::Original {
        return Answer::complaint(text, code);
    }
    let first = text.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    Answer {
        code,
        ..original_complaint(definitions, leaf, &[], first)
    }
}

/// The parser's line and the help on standard output, and for commands about one task a line on standard
/// error.
fn original_complaint(
    definitions: &Definitions,
    leaf: &Leaf<'_>,
    words: &[std::ffi::OsString],
    line: &str,
) -> Answer {
    let about_one_task = matches!(leaf.path(), ["task", "delete" | "enable" | "disable"]);
    let stderr = if about_one_task {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        format!(
            "==> Error: unsupported arguments in flags '{}'\n",
            words.join(", ")
        )
    } else {
        String::new()
    };
    Answer {
        stdout: format!("{line}\n{}", command(definitions, leaf.path())),
        stderr,
        code: EXIT_USAGE,
    }
}

fn clap_help(command: &Command) -> String {
    command.clone().render_help().to_string()
}
