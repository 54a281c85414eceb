//! The usage pages, with one dash, and complaints about options.

mod listing;

use super::definitions::{Definitions, Leaf};
use super::invoked_as::InvokedAs;
use crate::answer::Answer;
use crate::exit_code::EXIT_USAGE;
use crate::original::{NAME, SHELL_FILES};

/// Usage of the program, of a group of commands, or of a command.
pub(super) fn page(definitions: &Definitions, leaf: &Leaf<'_>) -> String {
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
        "Usage CLI: {} <command> [-help] [options]\n\n\
         Commands:\n\n{commands}\nOptions of start:\n\n{}",
        NAME,
        listing::options(&start, &SHELL_FILES)
    )
}

fn command(leaf: &Leaf<'_>) -> String {
    let about = leaf.command().get_about().map(ToString::to_string);
    let example = leaf.command().get_after_help().map(ToString::to_string);
    let example = example.map_or_else(String::new, |text| {
        let ours = format!("{} task", InvokedAs::Ours.name());
        let text = text.replace(&ours, &format!("{NAME} task"));
        format!("\n{}\n", text.trim_end())
    });
    let (usage, arguments) = match leaf.path() {
        ["start"] => ("Usage CLI", String::new()),
        ["task", "create"] => ("Usage", " -task-file=<task config>".to_owned()),
        _ => ("Usage", listing::arguments(leaf.command())),
    };
    format!(
        "{usage}: {} [-help] [options]{arguments}\n\n{}.\n\nOptions:\n\n{}{example}",
        leaf.call(),
        about.unwrap_or_default(),
        listing::options(leaf, &[]),
    )
}

/// The parser's line and the usage on standard output, and `headline` on standard error.
pub(super) fn complaint(
    definitions: &Definitions,
    leaf: &Leaf<'_>,
    headline: String,
    line: &str,
) -> Answer {
    Answer {
        stdout: format!("{line}\n{}", page(definitions, leaf)),
        stderr: headline,
        code: EXIT_USAGE,
    }
}
