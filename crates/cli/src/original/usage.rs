//! The usage pages, with one dash, and complaints about options.

mod listing;

use std::ffi::OsString;

use super::SHELL_FILES;
use crate::exit_code::EXIT_USAGE;
use crate::invocation::answer::Answer;
use crate::invocation::definitions::{Definitions, Leaf};
use crate::invocation::invoked_as::InvokedAs;

/// Usage of the program, of a group of commands, or of a command.
pub(crate) fn page(definitions: &Definitions, leaf: &Leaf<'_>) -> String {
    match leaf.path() {
        [] => program(definitions, leaf),
        _ if !leaf.is_group() => command(leaf),
        _ => format!(
            "This is a group of commands: one of them has to follow.\n\n\
             Usage: {} <command> [options] [arguments]\n\nCommands:\n\n{}",
            leaf.call(),
            listing::commands(leaf.command())
        ),
    }
}

fn program(definitions: &Definitions, root: &Leaf<'_>) -> String {
    let commands = listing::commands(root.command());
    let start = definitions.leaf(&["start"]);
    format!(
        "Usage: {} [--version] [--help] <command> [options]\n\n\
         Commands:\n\n{commands}\nOptions of start:\n\n{}",
        super::NAME,
        listing::options(&start, &SHELL_FILES)
    )
}

fn command(leaf: &Leaf<'_>) -> String {
    let about = leaf.command().get_about().map(ToString::to_string);
    let example = leaf.command().get_after_help().map(ToString::to_string);
    let example = example.map_or_else(String::new, |text| {
        let ours = format!("{} task", InvokedAs::Ours.name());
        let text = text.replace(&ours, &format!("{} task", super::NAME));
        format!("\n{}\n", text.trim_end())
    });
    format!(
        "Usage: {} [options]{}\n\n{}.\n\nOptions:\n\n{}{example}",
        leaf.call(),
        listing::arguments(leaf.command()),
        about.unwrap_or_default(),
        listing::options(leaf, &[]),
    )
}

/// The parser's line and the usage on standard output, and for commands about one task a line on standard
/// error.
pub(crate) fn complaint(
    definitions: &Definitions,
    leaf: &Leaf<'_>,
    words: &[OsString],
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
        stdout: format!("{line}\n{}", page(definitions, leaf)),
        stderr,
        code: EXIT_USAGE,
    }
}
